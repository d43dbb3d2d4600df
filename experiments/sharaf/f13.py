"""Figure 13: BSD with clusters, deciding charged."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.sharaf.deciding import HYPOTHETICAL, LOAD, charged, clustered, free
from experiments.sharaf.testbed import FULL, QUICK
from headgate.reproduction import (
    Comparison,
    Crossing,
    Experiment,
    Form,
    Key,
    Measurements,
    Order,
    Picture,
    Ratio,
    Run,
    Shape,
    best_place,
)

CLUSTERS = (2, 4, 6, 8, 10, 12, 14, 16, 20, 30)
IN_QUICK = (2, 6, 12, 20)


def compare(found: Measurements) -> Iterator[Comparison]:
    ideal = found.sample("slowdown.l2", HYPOTHETICAL)
    log, uniform = (found.curve("slowdown.l2", name) for name in ("log", "uniform"))
    yield Shape("ℓ2 of BSD-log over clusters", Form.VALLEY, log)
    yield Crossing("clusters of the lowest ℓ2 of BSD-log", 12.0, best_place(log))
    yield Ratio("BSD-log with 12 clusters over the ideal", 1.05, log[12] / ideal)
    yield Shape("ℓ2 of BSD-uniform over clusters", Form.FALLING, uniform)
    yield Order(
        "ℓ2 with 12 clusters", ("ideal", "log", "uniform"), {"ideal": ideal, "log": log[12], "uniform": uniform[12]}
    )


def picture(found: Measurements) -> Picture:
    places = found.curve("slowdown.l2", "log")
    curves = {
        name: [(place, sample.band) for place, sample in found.curve("slowdown.l2", name).items()]
        for name in ("log", "uniform")
    }
    for name in (HYPOTHETICAL, "HNR"):
        curves[name] = [(place, found.sample("slowdown.l2", name).band) for place in places]
    return Picture(curves, "clusters", "slowdown.l2")


def _runs() -> dict[Key, Run]:
    found: dict[Key, Run] = {HYPOTHETICAL: free("bsd"), "HNR": free("hnr")}
    for clustering in ("log", "uniform"):
        for clusters in CLUSTERS:
            found[clustering, clusters] = charged(clustered(clusters, clustering), in_quick=clusters in IN_QUICK)
    return found


EXPERIMENT = Experiment(
    document="sharaf",
    id="F13",
    source="figure 13, section 9.2",
    claim=f"""
        at load {LOAD}, deciding charged: BSD with logarithmic clusters is best near 12 of them, 5 % above the ideal
        whose decisions are free; uniform clusters start very high and fall slowly
    """,
    runs=_runs(),
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="""
        What a decision computes and compares depends on the implementation, which the document describes in words.
        Here it is counted by one rule for all policies.
    """,
    sensitive="how the work of a decision is counted.",
)
