"""Orders in which a superbox calls its boxes (Carney 2005, section 3.3.1.2).

A call takes all that waits before the box; one with nothing to take costs nothing. Each order empties the superbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headgate.model import OperatorId
from headgate.stats.boxes import Box
from headgate.stats.ratio import ratio

Boxes = Sequence[Box]  # every box after those that feed it
Calls = tuple[OperatorId, ...]


def min_cost(boxes: Boxes) -> Calls:
    """Every box once, after those that feed it: the fewest calls."""
    return tuple(box.operator for box in boxes)


def min_latency(boxes: Boxes) -> Calls:
    """The box whose tuples take the least work per result first, and all the way to the output; then the next.

    The cost of a result is output_cost(b) = Σ cost(k)/o_sel(k) over D(b), the box and all downstream of it.

    >>> chain = [Box(0, (0, 1), 1.0, 1.0, 1.0, 1.0), Box(1, (1,), 1.0, 1.0, 1.0, 1.0)]
    >>> min_latency(chain)
    (1, 0, 1)
    """
    result_costs = {box.operator: box.result_cost for box in boxes}
    ordered = sorted(boxes, key=lambda box: sum(result_costs[number] for number in box.downstream))
    return tuple(number for box in ordered for number in box.downstream)


def min_memory(boxes: Boxes) -> Calls:
    """The box that frees memory fastest first, and after it those downstream that free it ever faster.

    The rate is mem_rr(b) = size · (1 − selectivity)/cost. What is left in the end goes to the output as in `min_cost`.

    >>> slow, quick = Box(0, (0, 1), 2.0, 0.5, 8.0, 1.0), Box(1, (1,), 1.0, 0.5, 2.0, 1.0)
    >>> min_memory([slow, quick])
    (1, 0, 1)
    """
    rates = {box.operator: memory_rate(box) for box in boxes}
    calls: list[OperatorId] = []
    for box in sorted(boxes, key=lambda box: -rates[box.operator]):
        last = box.operator
        calls.append(last)
        for number in box.downstream[1:]:
            if rates[number] > rates[last]:
                last = number
                calls.append(last)
    return (*calls, *_left(boxes, calls))


def memory_rate(box: Box) -> float:
    """mem_rr: bytes that a box frees per second."""
    return ratio(box.size * (1.0 - box.selectivity), box.cost)


def _left(boxes: Boxes, calls: Sequence[OperatorId]) -> list[OperatorId]:
    """The boxes that may hold tuples after some calls, and those that get them then."""
    called = {number: place for place, number in enumerate(calls)}  # when last
    left: set[OperatorId] = set()
    for box in boxes:
        for number in box.downstream[1:]:
            if box.operator in left or called[number] < called[box.operator]:
                left.add(number)
    return [box.operator for box in boxes if box.operator in left]


def expected_latency(boxes: Boxes, calls: Calls, waiting: Mapping[OperatorId, float]) -> float:
    """How long results take on average, if a superbox makes these calls on what waits before its boxes.

    A call costs its overhead and then the cost of each tuple; results leave one by one as the last box works. This is
    what tables 3.1 and 3.2 do by hand.

    >>> chain = [Box(0, (0, 1), 1.0, 1.0, 1.0, 1.0, 10.0), Box(1, (1,), 1.0, 1.0, 1.0, 1.0, 10.0)]
    >>> expected_latency(chain, (0, 1), {0: 1, 1: 1}), expected_latency(chain, (1, 0, 1), {0: 1, 1: 1})
    (22.5, 22.0)
    """
    before, box_of = dict(waiting), {box.operator: box for box in boxes}
    now = left = total = 0.0
    for call in calls:
        if (tuples := before.pop(call, 0.0)) <= 0.0:
            continue
        box = box_of[call]
        results, now = tuples * box.selectivity, now + box.overhead
        if len(box.downstream) > 1:
            following = box.downstream[1]
            before[following] = before.get(following, 0.0) + results
        else:
            left += results
            total += results * (now + box.cost * (tuples + 1) / 2)
        now += box.cost * tuples
    return total / left if left else now


TRAVERSALS: dict[str, Callable[[Boxes], Calls]] = {
    "min-cost": min_cost,
    "min-latency": min_latency,
    "min-memory": min_memory,
}
