"""Table 2: shared operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from experiments.sharaf.testbed import FULL, QUICK, loaded
from headgate.reproduction import Comparison, Experiment, Key, Measurements, Order, Picture, Ratio, Run, Simulation
from headgate.workload import Workload

LOAD = 0.95  # the document prints none
PUBLISHED = {
    ("HNR", "slowdown.mean"): {"max": 261.6, "sum": 244.2, "pdt": 201.1},
    ("BSD", "slowdown.l2"): {"max": 66359.0, "sum": 64066.0, "pdt": 60184.0},
}


def unloaded(workload: Workload) -> Workload:
    """The file's queries; the load is met otherwise."""
    return replace(workload, load=None)


def compare(found: Measurements) -> Iterator[Comparison]:
    for (policy, measure), figures in PUBLISHED.items():
        at = {sharing: found.sample(measure, sharing, policy) for sharing in figures}
        yield Order(f"{policy}, {measure}", ("pdt", "sum", "max"), at)
        for other in ("max", "sum"):
            ratio = figures["pdt"] / figures[other]
            yield Ratio(f"{policy}, {measure}: pdt over {other}", ratio, at["pdt"] / at[other])


def picture(found: Measurements) -> Picture:
    curves = {
        policy: [(name, found.sample("slowdown.mean", name, policy).band) for name in ("max", "sum", "pdt")]
        for policy in ("HNR", "BSD")
    }
    return Picture(curves, "priority of a shared operator", "slowdown.mean")


def _runs() -> dict[Key, Run]:
    return {
        (sharing, policy): Simulation(
            workload="sharaf-sharing",
            policy=f"{policy.lower()}, sharing={sharing}",
            change=unloaded,
            per_seed=partial(loaded, load=LOAD),
        )
        for policy, _ in PUBLISHED
        for sharing in ("max", "sum", "pdt")
    }


EXPERIMENT = Experiment(
    document="sharaf",
    id="T2",
    source="table 2, section 9.3",
    claim="""
        queries that share their select in sets of ten: HNR's mean slowdown is 261.6 with max, 244.2 with sum, 201.1
        with PDT; BSD's ℓ2 norm 66359, 64066, 60184
    """,
    runs=_runs(),
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="""
        The document prints neither the load nor how costs and selectivities are drawn where the select is shared:
        here the shared select has a cost and a selectivity of its set, and each query draws those of its other
        operators itself.
    """,
    sensitive="the load, and how the shared select is drawn.",
)
