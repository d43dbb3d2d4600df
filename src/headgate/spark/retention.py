"""How much of a log must be kept: what queries have not read, and what their open windows still need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from headgate.model import Aggregate, Except, Join, Operator, Source
from headgate.plan.sharing import Place
from headgate.spark.running import RunningQuery
from headgate.spark.store.log import StreamLog


def reach(plan: Operator, place: Place) -> float:
    """Seconds of event time that tuples of a leaf are needed for after they have been read.

    >>> from headgate.model import Select, Window
    >>> plan = Aggregate(inputs=(Join(inputs=(Source("a"), Source("b")), lower=-2.0, upper=1.0),), window=Window(10.0))
    >>> reach(plan, (0, 0)), reach(Select(inputs=(Source("a"),)), (0,))
    (12.0, 0.0)
    """
    seconds, node = 0.0, plan
    for number in place:
        if isinstance(node, Aggregate | Except):
            seconds += node.window.size
        elif isinstance(node, Join):
            seconds += max(abs(node.lower), abs(node.upper))
        below = node.inputs[number]
        if isinstance(below, Source):
            break
        node = below
    return seconds


def needed_from(running: RunningQuery, place: Place, logs: Mapping[str, StreamLog]) -> int:
    """The first offset of a leaf's log that a query may still read."""
    log, position = logs[running.stream(place)], running.positions[place]
    seconds = reach(running.query.plan, place)
    if not seconds:
        return position
    frontiers = [logs[running.stream(each)].frontier_at(offset) for each, offset in running.positions.items()]
    if any(frontier is None for frontier in frontiers):
        return min(position, running.starts[place])
    bound = min(frontier for frontier in frontiers if frontier is not None) - seconds * 1e6
    needed = (segment.first for segment in log.segments(log.start, position) if segment.overlaps(bound, math.inf))
    return min(needed, default=position)


def keep_from(stream: str, queries: Iterable[RunningQuery], logs: Mapping[str, StreamLog]) -> int:
    """The first offset of a log that any query may still read; its start where no query reads it."""
    wanted = [
        needed_from(running, place, logs)
        for running in queries
        for place in running.positions
        if running.stream(place) == stream
    ]
    return min(wanted, default=logs[stream].start)
