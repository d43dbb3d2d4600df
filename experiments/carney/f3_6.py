"""Figure 3.6: box at a time or application at a time, over the load."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.carney.curves import stays_below
from headgate.reproduction import Bound, Comparison, Experiment, Measurements, Order, Picture, Sample, Size, grid

POLICIES = {"BAAT": "baat, order=sorted, schedule=1000", "AAAT": "aaat, order=sorted, schedule=1000"}
LOADS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MANY = 10.0  # times the latency at the lowest load: saturated


def compare(found: Measurements) -> Iterator[Comparison]:
    full = {}
    for name in POLICIES:
        curve = found.curve("response_time.mean", name)
        full[name] = Sample.of(stays_below(curve, MANY * curve[min(curve)].mean))
    yield Order("capacity at which latency is ten times as long", ("BAAT", "AAAT"), full)
    yield Bound("AAAT holds beyond 0.9", full["AAAT"], least=0.9)


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("response_time.mean"), "capacity", "response_time.mean")


EXPERIMENT = Experiment(
    document="carney",
    id="3.6",
    source="figure 3.6, section 3.4.2",
    claim="five applications of fan-out 3 and depth 5: box at a time saturates much earlier than application at "
    "a time, which hangs on beyond 0.9 of the capacity",
    runs=grid("carney-3.4", POLICIES, "load", LOADS, quick=(0.2, 0.5, 0.7, 0.9, 0.95)),
    compare=compare,
    picture=picture,
    quick=Size(seconds=2.0, seeds=1),
    full=Size(seconds=10.0, seeds=3),
    sensitive="The cost of a decision and of a run, and the costs of boxes, which are drawn from the range that the "
    "document prints.",
)
