"""How much of a log must be kept: what queries have not read, and what runs to come may read again.

Both are found by the survey that says what a run reads (`jobs.reading`), so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headgate.model import Stream
from headgate.plan.sharing import Place
from headgate.spark.compile.fragment_rows import time_column
from headgate.spark.compile.fragment_stream import FragmentStream
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.frames import survey_of
from headgate.spark.compile.leaf_rows import Range
from headgate.spark.compile.read_sets import Lows
from headgate.spark.queries.running_query import Logs, RunningQuery, stream_leaves
from headgate.spark.store.log.stream_log import StreamLog


def droppable(queries: Iterable[RunningQuery], logs: Logs) -> dict[str, int]:
    """Where each stream may begin, if these queries are all that read; nothing, if no log has anything to drop."""
    return streams_needed_from(queries, logs) if any(log.droppable for log in logs.values()) else {}


def drop_fragment_rows(queries: Iterable[RunningQuery], logs: Logs) -> None:
    """Drop rows inside queries that none of their pieces will read again."""
    for running in queries:
        for name, log in running.layout.logs.items():
            if log.droppable:
                log.drop_before(rows_needed_from(running, name, logs))


def streams_needed_from(queries: Iterable[RunningQuery], logs: Logs) -> dict[str, int]:
    """The first offset of each stream that any query may still read; a stream that no query reads is not there."""
    found: dict[str, int] = {}
    for running in queries:
        streams = stream_leaves(running.query)
        for place, offset in needed_from(running, logs).items():
            found[streams[place]] = min(offset, found.get(streams[place], offset))
    return found


def needed_from(running: RunningQuery, logs: Logs) -> dict[Place, int]:
    """For each leaf of a query the first offset that it may still read: in its pieces, and once it is whole again."""
    found = whole_needed_from(running, logs)
    for fragment in () if running.layout.whole else running.fragments:
        for place, lows in _kept(running, fragment, logs).items():
            if place in found:
                log = logs[fragment.leaves[place].stream]
                here = _first(log, log.stream, running.starts[place], running.positions[place], lows)
                found[place] = min(found[place], here)
    return found


def whole_needed_from(running: RunningQuery, logs: Logs) -> dict[Place, int]:
    """For each leaf the first offset that the query in one piece may still read, given what its results reach."""
    reached, streams = running.reached(logs), stream_leaves(running.query)
    leaves = {place: running.leaf(place, Range(at, at), logs) for place, at in reached.items()}
    kept = survey_of(running.unfragmented.prepared.catalog, running.query.plan, leaves).kept()
    found = {}
    for place, lows in kept.items():
        log = logs[streams[place]]
        found[place] = _first(log, log.stream, running.starts[place], reached[place], lows)
    return found


def rows_needed_from(running: RunningQuery, name: str, logs: Logs) -> int:
    """The first of the rows waiting under a name that a piece of the query may still read.

    The one before its position tells how far those before it reach.
    """
    log = running.layout.logs[name]
    found = log.end
    for fragment in running.fragments:
        inner = fragment.prepared.catalog.streams.get(name)
        if isinstance(inner, FragmentStream):
            kept = _kept(running, fragment, logs)
            for place in (place for place, source in fragment.leaves.items() if source.stream == name):
                before = max(log.start, running.positions[place] - 1)
                found = min(found, _first(log, inner, log.start, before, kept[place]))
    return found


def _kept(running: RunningQuery, fragment: Fragment, logs: Logs) -> Mapping[Place, Sequence[Lows]]:
    """What runs of a piece to come may read again, by the places of its leaves in the query."""
    here = {place: Range(running.positions[place], running.positions[place]) for place in fragment.leaves}
    leaves, whole = running.read(fragment, here, logs)
    kept = survey_of(fragment.prepared.catalog, fragment.plan, leaves, whole=whole).kept()
    return {place: kept[fragment.local(place)] for place in fragment.leaves}


def _first(log: StreamLog, stream: Stream, start: int, position: int, lows: Sequence[Lows]) -> int:
    """The first offset from a start to a position that may be read again; the position where none is.

    Whole segments are judged, as the log does for what it has dropped: a run can tell that it misses nothing.
    """
    columns = [{time_column(stream, ref): low for ref, low in one.items()} for one in lows]
    return log.first_that_may(min(max(start, log.start), position), position, columns)
