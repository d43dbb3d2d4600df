"""Figure 3.8: memory during one run of a superbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

from headgate.policies.aurora.traversal import TRAVERSALS
from headgate.reproduction import Calculation, Comparison, Experiment, Measurements, Order, Size, Values
from headgate.stats.boxes import Box

FANOUT, DEPTH, TUPLES, OVERHEAD = 3, 5, 10.0, 15e-6
NAMES = ("min-memory", "min-cost", "min-latency")


def tree(seed: int) -> list[Box]:
    """A tree of fan-out 3 and depth 5 in post-order, with costs and selectivities of their own for each box."""
    chance, boxes = Random(seed), list[Box]()

    def grow(below: tuple[int, ...], share: float, level: int) -> int:
        number = len(numbers)
        numbers.append(number)
        selectivity, cost = chance.uniform(0.0, 1.0), chance.uniform(1e-4, 1e-3)
        for _ in range(FANOUT if level < DEPTH else 0):
            grow((number, *below), share * selectivity, level + 1)
        result = share * selectivity
        boxes.append(Box(number, (number, *below), cost, selectivity, cost / result if result else 1e9, 1.0, OVERHEAD))
        return number

    numbers: list[int] = []
    grow((), 1.0, 1)
    return boxes


def steps(boxes: Sequence[Box], calls: Sequence[int]) -> list[tuple[float, float]]:
    """(time, tuples in memory) at the beginning and after each call that has something to do."""
    of, before = {box.operator: box for box in boxes}, {box.operator: TUPLES for box in boxes}
    now, held = 0.0, TUPLES * len(boxes)
    course = [(now, held)]
    for call in calls:
        tuples, box = before.pop(call, 0.0), of[call]
        if tuples <= 0.0:
            continue
        results = tuples * box.selectivity if len(box.downstream) > 1 else 0.0
        if results:
            before[box.downstream[1]] = before.get(box.downstream[1], 0.0) + results
        now, held = now + box.overhead + box.cost * tuples, held - tuples + results
        course.append((now, held))
    return course


def memory(size: Size, seed: int) -> Values:
    boxes = tree(seed)
    courses = {name: steps(boxes, TRAVERSALS[name](boxes)) for name in NAMES}
    until = 0.8 * courses["min-memory"][-1][0]  # towards the end they cross, since all push the same tuples through
    values: dict[str, float | None] = {f"{name} ends": course[-1][0] for name, course in courses.items()}
    return values | {f"{name} holds": _mean(course, until) for name, course in courses.items()}


def _mean(course: Sequence[tuple[float, float]], until: float) -> float:
    """Tuples in memory on average up to a moment; during a call they change evenly."""
    area = 0.0
    for (began, first), (ended, last) in pairwise(course):
        if began >= until:
            break
        share = min(1.0, (until - began) / (ended - began)) if ended > began else 1.0
        area += share * (ended - began) * (first + first + share * (last - first)) / 2
    return area / until


def compare(found: Measurements) -> Iterator[Comparison]:
    holds = {name: found.sample(f"{name} holds", "superbox") for name in NAMES}
    yield Order("tuples in memory on average", NAMES, holds)
    ends = {name: found.sample(f"{name} ends", "superbox") for name in NAMES}
    yield Order("time until the superbox is empty", ("min-cost", ("min-memory", "min-latency")), ends)


EXPERIMENT = Experiment(
    document="carney",
    id="3.8",
    source="figure 3.8, section 3.4.3",
    claim="memory during a run: min-memory holds least, min-latency most; min-cost is finished first",
    runs={"superbox": Calculation(function=memory)},
    compare=compare,
    quick=Size(seeds=5),
    full=Size(seeds=20),
    sensitive="The selectivities, which are 1 unless the document says otherwise, and then no box frees memory: "
    "drawn from 0 to 1 here; and that ten tuples wait before each box.",
)
