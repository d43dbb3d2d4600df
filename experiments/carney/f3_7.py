"""Figure 3.7: traversals over the cost of a box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from headgate.policies.aurora.traversal import TRAVERSALS, expected_latency
from headgate.reproduction import (
    Calculation,
    Comparison,
    Crossing,
    Experiment,
    Measurements,
    Order,
    Picture,
    Simulation,
    Size,
    Values,
    crossing,
)
from headgate.sim.load import with_given
from headgate.stats.boxes import Box
from headgate.workload import Workload

DOWNSTREAM = {4: (4, 2, 1), 5: (5, 3, 2, 1), 3: (3, 2, 1), 2: (2, 1), 6: (6, 1), 1: (1,)}  # figure 3.5
COSTS = (0.002, 0.01, 0.03, 0.1, 0.3, 1.0)  # ms
RATIOS = (0.1, 0.15, 0.2, 0.25, 0.3)
MC, ML = "min-cost", "min-latency"


def example(size: Size, seed: int) -> Values:
    """Mean latencies of tables 3.1 and 3.2 for some ratios of cost to overhead."""
    values: dict[str, float | None] = {}
    for ratio in RATIOS:
        boxes = [Box(name, below, ratio, 1.0, ratio, 1.0, overhead=1.0) for name, below in DOWNSTREAM.items()]
        for name in (MC, ML):
            calls = TRAVERSALS[name](boxes)
            values[f"{name} {ratio}"] = expected_latency(boxes, calls, dict.fromkeys(DOWNSTREAM, 1.0))
    return values


def at_cost(cost: float, workload: Workload) -> Workload:
    """The same tree with boxes of another cost, at the same capacity."""
    return with_given(workload, lambda given: replace(given, cost=cost / 1000))


def compare(found: Measurements) -> Iterator[Comparison]:
    lines = {name: {ratio: found.sample(f"{name} {ratio}", "example") for ratio in RATIOS} for name in (MC, ML)}
    place = crossing(lines[ML], lines[MC])
    yield Crossing("six boxes: cost over overhead from which min-latency is quicker", 0.22, place)
    costs = sorted(found.curve("response_time.mean", MC))
    for cost, order in ((costs[0], (MC, ML)), (costs[-1], (ML, MC))):
        yield Order(f"latency with boxes of {cost:g} ms", order, found.samples("response_time.mean", cost))


def picture(found: Measurements) -> Picture:
    return Picture(found.curves("response_time.mean", MC, ML), "cost of a box (ms)", "response_time.mean")


EXPERIMENT = Experiment(
    document="carney",
    id="3.7",
    source="figure 3.7, sections 3.3.1.2 and 3.4.3",
    claim="min-cost beats min-latency where boxes are cheap beside calls and loses where they are dear; in the "
    "example of six boxes from a ratio of 0.22 on",
    runs={
        "example": Calculation(function=example),
        **{
            (name, cost): Simulation(
                workload="carney-3.7", policy=f"aaat, traversal={name}", change=partial(at_cost, cost)
            )
            for name in (MC, ML)
            for cost in COSTS
        },
    },
    compare=compare,
    picture=picture,
    quick=Size(seconds=2.0, seeds=1),
    full=Size(seconds=5.0, seeds=3),
)
