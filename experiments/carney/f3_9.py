"""Figure 3.9: trains and bursts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from headgate.metrics import Measure, Records
from headgate.reproduction import (
    Comparison,
    Experiment,
    Form,
    Holds,
    Measurements,
    Order,
    Picture,
    Ratio,
    Sample,
    Shape,
    Simulation,
    Size,
    Values,
)
from headgate.sim.load import with_given
from headgate.workload import Workload

BURSTS, TRAINS, COST = (1, 2, 4), {0.2: "0.2", 0.4: "0.4", 0.6: "0.6", 0.8: "0.8", 1.0: "all"}, 0.55e-3


def bursty(burst: int, workload: Workload) -> Workload:
    """Tuples in groups, as many as there would be one by one; boxes of the mean cost of the document's range."""
    arrivals = f"poisson, rate=1, batch={burst}"
    streams = tuple(replace(stream, arrivals=arrivals) for stream in workload.streams)
    return replace(with_given(workload, lambda given: replace(given, cost=COST)), streams=streams)


def overhead(records: Records) -> Values:
    """Time less processing, for each tuple."""
    total = records.call_overhead + records.run_overhead + records.scheduling
    return {"overhead per tuple": total / sum(records.tuples_in.values())}


def of_groups(found: Measurements, burst: int) -> dict[float, Sample]:
    """The overhead for each group that is delivered at once."""
    each = found.curve("overhead per tuple", f"bursts of {burst}")
    return {train: burst * sample for train, sample in each.items()}


def compare(found: Measurements) -> Iterator[Comparison]:
    curves = {burst: of_groups(found, burst) for burst in BURSTS}
    small, whole = min(TRAINS), max(TRAINS)
    yield Shape("bursts of 1: overhead over train size", Form.FLAT, curves[1])
    for burst in BURSTS[1:]:
        yield Shape(f"bursts of {burst}: overhead over train size", Form.FALLING, curves[burst])
    at = {f"bursts of {burst}": curve[small] for burst, curve in curves.items()}
    yield Order("overhead with trains of a fifth", ("bursts of 1", "bursts of 2", "bursts of 4"), at)
    yield Ratio("bursts of 4 over 1, trains of a fifth", 4.0, curves[4][small] / curves[1][small])
    near = {train: curves[4][train] / curves[1][train] for train in (small, whole)}
    text = f"{near[whole]} times the overhead without bursts, with trains of a fifth {near[small]}"
    nearer = near[small].mean > near[whole].mean > 1.0
    yield Holds("whole queues come near to the case without bursts, but not all the way", nearer, text)


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("overhead per tuple"), "train (share of the queue)", Measure("overhead per tuple", "s"))


EXPERIMENT = Experiment(
    document="carney",
    id="3.9",
    source="figure 3.9, section 3.4.4",
    claim="bursts of four quadruple overhead with trains of a fifth of the queue; whole-queue trains bring it "
    "back near the case without bursts, where trains do not matter",
    runs={
        (f"bursts of {burst}", share): Simulation(
            workload="carney-3.9",
            policy=f"baat, order=sorted, schedule=1000, train={train}",
            change=partial(bursty, burst),
            measure=overhead,
        )
        for burst in BURSTS
        for share, train in TRAINS.items()
    },
    compare=compare,
    picture=picture,
    quick=Size(seconds=5.0, seeds=1),
    full=Size(seconds=60.0, seeds=3),
    sensitive="How overhead is averaged: for each group that is delivered, since only then bursts of one and of "
    "four can come near to each other; and the capacity, 0.5 as in section 3.4.3.",
)
