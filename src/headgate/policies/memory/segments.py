"""Segments of operators that free memory at a like pace (Pajjuri 2004, sections 4.1.3, 4.1.4 and 5.1.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headgate.model import Level, OperatorId, Unit
from headgate.plan.network import Network
from headgate.plan.units import unit_of, units

Segment = tuple[OperatorId, ...]
Capacities = Mapping[OperatorId, float]  # bytes that each operator frees per second


def rising(path: Sequence[OperatorId], capacity: Capacities) -> list[Segment]:
    """Cut a path, leaf first, wherever the next operator does not free more per second than the one before.

    >>> rising([1, 2, 3, 4], {1: 2.0, 2: 5.0, 3: 5.0, 4: 1.0})
    [(1, 2), (3,), (4,)]
    """
    segments: list[Segment] = []
    for place, operator in enumerate(path):
        if place and capacity[operator] > capacity[path[place - 1]]:
            segments[-1] += (operator,)
        else:
            segments.append((operator,))
    return segments


def in_two(path: Sequence[OperatorId], capacity: Capacities, gamma: float) -> list[Segment]:
    """Cut a path once at most: where an operator first frees no more than gamma times as much as the one before.

    >>> falling = {1: 8.0, 2: 5.0, 3: 1.0, 4: 6.0}
    >>> in_two([1, 2, 3, 4], falling, gamma=0.5), in_two([1, 2, 3, 4], falling, gamma=0.1)
    ([(1, 2), (3, 4)], [(1, 2, 3, 4)])
    """
    end = 1
    while end < len(path) and capacity[path[end]] > gamma * capacity[path[end - 1]]:
        end += 1
    return [tuple(part) for part in (path[:end], path[end:]) if part]


def pruned(segments: Iterable[Segment]) -> list[Segment]:
    """Without those that others contain: of equal ones the first stays.

    >>> pruned([(1, 2), (3,), (2,), (1, 2), (3, 4)])
    [(1, 2), (3, 4)]
    """
    kept: list[Segment] = []
    for segment in segments:
        if not any(set(segment) <= set(other) for other in kept):
            kept = [other for other in kept if not set(other) < set(segment)]
            kept.append(segment)
    return kept


def segment_units(
    network: Network,
    capacity: Callable[[Unit], float],
    cut: Callable[[Sequence[OperatorId], Capacities], list[Segment]],
) -> list[Unit]:
    """Cut every path of a network and make units of what is left after pruning.

    A unit has all queues of its operators, both inputs of a join among them: the segment of the other path that
    would have had the second may have been pruned.
    """
    capacities = {unit.calls[0]: capacity(unit) for unit in units(network, Level.OPERATOR)}
    paths = [path.calls for path in units(network, Level.PATH)]
    segments = pruned(segment for path in paths for segment in cut(path, capacities))
    return [unit_of(network, number, Level.SEGMENT, segment) for number, segment in enumerate(segments)]
