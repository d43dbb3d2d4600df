"""Figure 11: slowdown of the cheapest queries by their selectivity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.sharaf.testbed import FULL, QUICK, runs
from headgate.metrics import Measure, Records
from headgate.reproduction import Comparison, Experiment, Form, Measurements, Order, Picture, Sample, Shape, Values

LOAD = 0.95
POLICIES = ("HR", "HNR", "BSD")
TENTHS = ((1, 2, 3), (4, 5, 6), (7, 8, 9))  # of selectivity, taken together so that each has queries in every draw


def by_selectivity(records: Records) -> Values:
    """The mean slowdown of the cheapest queries' results, from the lowest selectivities to the highest."""
    found: dict[str, float] = {}
    for number, tenths in enumerate(TENTHS):
        prefixes = tuple(f"c1-s{tenth}-" for tenth in tenths)
        own = [query.columns().slowdown for query in records.queries if query.query.startswith(prefixes)]
        found[f"cheap.{number}"] = float(np.mean(np.concatenate(own)))
    return found


def compare(found: Measurements) -> Iterator[Comparison]:
    for policy in POLICIES:
        yield Shape(f"{policy}: slowdown over selectivity", Form.FALLING, _curve(found, policy))
    bias = {
        policy: found.sample("cheap.0", policy, LOAD) / found.sample("cheap.2", policy, LOAD) for policy in POLICIES
    }
    yield Order("slowdown at selectivities of 0.1 to 0.4 over that at 0.7 to 1", ("BSD", "HNR", "HR"), bias)


def _curve(found: Measurements, policy: str) -> dict[float, Sample]:
    return {
        (tenths[0] + tenths[-1] + 1) / 20: found.sample(f"cheap.{number}", policy, LOAD)
        for number, tenths in enumerate(TENTHS)
    }


def picture(found: Measurements) -> Picture:
    curves = {policy: [(place, sample.band) for place, sample in _curve(found, policy).items()] for policy in POLICIES}
    return Picture(curves, "selectivity", Measure("mean slowdown of queries with the cheapest operators"))


EXPERIMENT = Experiment(
    document="sharaf",
    id="F11",
    source="figure 11, section 9.1.6",
    claim="cheap queries: HR's slowdown rises most as selectivity falls, HNR's less, BSD's least",
    runs=runs(POLICIES, [LOAD], measure=by_selectivity),
    compare=compare,
    picture=picture,
    quick=QUICK,
    full=FULL,
    paragraph="The load of the figure is not printed; it is read at 0.95.",
)
