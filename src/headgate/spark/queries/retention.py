"""Retention: how much of a log must be kept, for tuples not read yet and for those that future runs read again.

Both come from the same survey that says what a run reads (`compile.read_sets`), so that the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headgate.model import Stream
from headgate.plan.places import Place
from headgate.spark.compile.fragment_rows import time_column
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import survey_of
from headgate.spark.compile.leaf_rows import Range
from headgate.spark.compile.read_sets import Lows
from headgate.spark.queries.running_query import Logs, RunningQuery, stream_leaves
from headgate.spark.store.log.stream_log import StreamLog


def droppable(queries: Iterable[RunningQuery], logs: Logs) -> dict[str, int]:
    """The first offset of each stream that these queries need; empty if no log has anything to drop."""
    return streams_needed_from(queries, logs) if any(log.droppable for log in list(logs.values())) else {}


def drop_fragment_rows(queries: Iterable[RunningQuery], logs: Logs) -> None:
    """Drop rows of fragment logs that no fragment will read again."""
    for running in queries:
        for name, log in running.layout.logs.items():
            if log.droppable:
                log.drop_before(rows_needed_from(running, name, logs))


def streams_needed_from(queries: Iterable[RunningQuery], logs: Logs) -> dict[str, int]:
    """The first offset of each stream that any query may still read; streams without a query are left out."""
    offsets: dict[str, int] = {}
    for running in queries:
        streams = stream_leaves(running.query)
        for place, offset in needed_from(running, logs).items():
            offsets[streams[place]] = min(offset, offsets.get(streams[place], offset))
    return offsets


def needed_from(running: RunningQuery, logs: Logs) -> dict[Place, int]:
    """For each leaf of a query the first offset that it may still read, fragmented or after it is joined again."""
    offsets = whole_needed_from(running, logs)
    for fragment in () if running.layout.whole else running.fragments:
        for place, lows in _kept(running, fragment, logs).items():
            if place in offsets:
                log = logs[fragment.leaves[place].stream]
                first = _first(log, log.stream, running.starts[place], running.positions[place], lows)
                offsets[place] = min(offsets[place], first)
    return offsets


def whole_needed_from(running: RunningQuery, logs: Logs) -> dict[Place, int]:
    """For each leaf the first offset that the query as one fragment may still read, after the results it has given."""
    reached, streams = running.reached(logs), stream_leaves(running.query)
    leaves = {place: running.leaf(place, Range(at, at), logs) for place, at in reached.items()}
    kept = survey_of(running.unfragmented.prepared.catalog, running.query.plan, leaves).kept()
    offsets = {}
    for place, lows in kept.items():
        log = logs[streams[place]]
        offsets[place] = _first(log, log.stream, running.starts[place], reached[place], lows)
    return offsets


def rows_needed_from(running: RunningQuery, name: str, logs: Logs) -> int:
    """The first row of a fragment log that a fragment may still read.

    The row before a fragment's position is kept too: it says how far the rows up to it reach into the streams.
    """
    log = running.layout.logs[name]
    first = log.end
    for fragment in running.fragments:
        inner = fragment.prepared.catalog.streams.get(name)
        if isinstance(inner, FragmentStream):
            kept = _kept(running, fragment, logs)
            for place in (place for place, source in fragment.leaves.items() if source.stream == name):
                before = max(log.start, running.positions[place] - 1)
                first = min(first, _first(log, inner, log.start, before, kept[place]))
    return first


def _kept(running: RunningQuery, fragment: Fragment, logs: Logs) -> Mapping[Place, Sequence[Lows]]:
    """What future runs of a fragment may read again, by the places of its leaves in the query."""
    nothing = {place: Range(running.positions[place], running.positions[place]) for place in fragment.leaves}
    leaves, whole = running.read(fragment, nothing, logs)
    kept = survey_of(fragment.prepared.catalog, fragment.plan, leaves, whole=whole).kept()
    return {place: kept[fragment.local(place)] for place in fragment.leaves}


def _first(log: StreamLog, stream: Stream, start: int, position: int, lows: Sequence[Lows]) -> int:
    """The first offset between a start and a position that may be read again; the position if there is none.

    Decided for whole log segments, as the log does for dropped ones: so a run can tell that nothing is missing.
    """
    columns = [{time_column(stream, ref): low for ref, low in bounds.items()} for bounds in lows]
    return log.first_that_may(min(max(start, log.start), position), position, columns)
