"""How much of a log must be kept: what queries have not read, and what their open windows still need."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Aggregate, Except, Join, Operator, Source
from headgate.plan.sharing import Place
from headgate.spark.jobs.compile import survey_of
from headgate.spark.jobs.inner import Inner
from headgate.spark.jobs.pieces import Piece
from headgate.spark.jobs.reading import node_at
from headgate.spark.jobs.rows import Range
from headgate.spark.jobs.waiting import time_column
from headgate.spark.running import Logs, RunningQuery, stream_leaves
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


def keep_from(stream: str, queries: Iterable[RunningQuery], logs: Logs) -> int:
    """The first offset of a stream's log that any query may still read; its start where no query reads it."""
    wanted = [
        offset
        for running in queries
        for place, offset in needed_from(running, logs).items()
        if stream_leaves(running.query)[place] == stream
    ]
    return min(wanted, default=logs[stream].start)


def needed_from(running: RunningQuery, logs: Logs) -> dict[Place, int]:
    """For each stream of a query the first offset that it may still read, were it in one piece."""
    streams, reached = stream_leaves(running.query), running.reached(logs)
    frontiers = [logs[streams[place]].frontier_at(offset) for place, offset in reached.items()]
    needed = dict(reached)
    for place, offset in reached.items():
        seconds = reach(running.query.plan, place)
        if seconds and any(frontier is None for frontier in frontiers):
            needed[place] = min(offset, running.starts[place])
        elif seconds:
            bound = min(frontier for frontier in frontiers if frontier is not None) - seconds * 1e6
            log = logs[streams[place]]
            kept = (segment.first for segment in log.segments(log.start, offset) if segment.overlaps(bound, math.inf))
            needed[place] = min(kept, default=offset)
    return needed


def forget_inside(running: RunningQuery, logs: Logs) -> None:
    """Drop the rows waiting inside a query that none of its pieces will read again."""
    for piece in running.pieces:
        for place, source in piece.leaves.items():
            log = running.shape.logs.get(source.stream)
            if log is not None and any(segment.sealed for segment in log.segments(log.start, log.end)):
                log.drop_before(_needed_inside(running, piece, place, log, logs))


def _needed_inside(running: RunningQuery, piece: Piece, place: Place, log: StreamLog, logs: Logs) -> int:
    """The row before the position tells how far it reaches; a window reads further back."""
    position, local = running.positions[place], piece.local(place)
    before = max(log.start, position - 1)
    seconds = reach(piece.plan, local)
    inner = piece.evaluation.catalog.streams[running.leaves[place].stream]
    if not seconds or not isinstance(inner, Inner):
        return before
    here = {each: Range(running.positions[each], running.positions[each]) for each in piece.leaves}
    leaves, whole = running.read(piece, here, logs)
    survey = survey_of(piece.evaluation.catalog, piece.plan, leaves, whole=whole)
    rows = log.read(log.start, position)
    needed = pa.array([False] * rows.num_rows)
    for ref in inner.times:
        bound = survey.frontier(node_at(piece.plan, local), local, ref, True) - seconds * 1e6
        if bound == -math.inf:
            return log.start
        needed = pc.or_kleene(needed, pc.greater_equal(rows[time_column(inner, ref)], pa.scalar(bound)))
    found = pc.index(needed, True).as_py()
    return before if found < 0 else min(before, log.start + found)
