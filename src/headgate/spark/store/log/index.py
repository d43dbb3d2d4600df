"""The log segments of a stream in order: finds them by offset, and reads their rows from the cache or from disk."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import EventTime, HeadgateError
from headgate.spark.store.log import segments
from headgate.spark.store.log.cache import TableCache
from headgate.spark.store.log.files import Dropped
from headgate.spark.store.log.late_rows import between, bounds, highest
from headgate.spark.store.log.segments import ARRIVAL, LATE, LogSegment


class SegmentIndex:
    """The log segments of one stream. One thread changes it, several may read it."""

    def __init__(self, name: str, schema: pa.Schema, event_time: str | None, memory_budget: int) -> None:
        self.name, self.schema, self.event_time = name, schema, event_time
        self.cache = TableCache(memory_budget)
        self.segments: list[LogSegment] = []
        self._lock = threading.Lock()

    def begin(self, dropped: Dropped, in_order: Sequence[LogSegment]) -> None:
        """Start with the log segments that a scan of the folder has found."""
        self.dropped = dropped
        self.number, self.end = dropped.number, dropped.start
        self.high, self.finish = dropped.high, dropped.finish
        self.batches = dict(dropped.batches)
        for segment in in_order:
            self.add(segment)

    def add(self, segment: LogSegment, table: pa.Table | None = None) -> None:
        """Add the next log segment, with its rows if they are in memory."""
        if table is not None:
            self.cache.put(_key(segment), table)
        with self._lock:
            self.segments.append(segment)
            self.high = highest(self.high, segment.high)
            self.finish = segment.finish if self.finish is None else self.finish
            self.batches.update(segment.batches)
            self.number, self.end = segment.last_number + 1, segment.end

    def merge(self, appends: Sequence[LogSegment], sealed: LogSegment) -> None:
        """Replace the newest log segments, one for each append, by the sealed one that they have become."""
        with self._lock:
            self.segments[-len(appends) :] = [sealed]
        self._forget(appends)

    def drop(self, gone: Sequence[LogSegment], dropped: Dropped) -> None:
        """Remove the oldest log segments."""
        with self._lock:
            del self.segments[: len(gone)]
            forgotten = [*self.dropped.batches, *(batch for segment in gone for batch in segment.batches)]
            self.dropped = dropped
            for batch in forgotten:
                if batch not in dropped.batches:
                    self.batches.pop(batch, None)
        self._forget(gone)

    def between(self, first: int, last: int) -> list[LogSegment]:
        """The log segments that have rows with offsets [first, last)."""
        with self._lock:
            self._check_range(first, last)
            if first == last:
                return []
            begin = bisect_right(self.segments, first, key=_end)
            end = bisect_right(self.segments, last - 1, key=_first)
            return [segment for segment in self.segments[begin:end] if segment.rows]

    def highest_before(self, offset: int) -> int | None:
        """The largest event time of the appends that end at or before an offset.

        Lateness is decided for an append as a whole, so at an offset inside an append its own rows do not count yet.
        Late rows need not be left out, as they are below the largest event time before them. (After the stream's end
        this need not be so, but the frontier is infinite there.)
        """
        with self._lock:
            self._check_range(offset, offset)
            index = bisect_right(self.segments, offset, key=_end)
            if index == len(self.segments):
                return self.high
            segment = self.segments[index]
        settled = segment.settled(offset)
        if segment.first == settled or self.event_time is None:
            return segment.before
        times = _cut(self.column(segment, self.event_time), segment, segment.first, settled)
        return highest(segment.before, bounds(times, self.event_time)[1])

    def load(self, segment: LogSegment) -> pa.Table:
        """All rows of a log segment, with `_offset`, `_arrival` and `_late`."""
        table = self.cache.get(_key(segment))
        if table is None:
            table = self._described(segments.load(segment))
            self.cache.put(_key(segment), table)
        return table

    def column(self, segment: LogSegment, name: str) -> pa.Table:
        """One column of a log segment; if it is sealed and not in memory, the other columns are not read."""
        table = self.cache.get(_key(segment))
        if table is not None or not segment.sealed:
            return (self.load(segment) if table is None else table).select([name])
        key = (*_key(segment), name)
        column = self.cache.get(key)
        if column is None:
            column = segments.load_column(segment, name)
            self.cache.put(key, column)
        return column

    def cut(self, segment: LogSegment, first: int, last: int) -> pa.Table:
        """The rows of a log segment with offsets [first, last)."""
        return _cut(self.load(segment), segment, first, last)

    def within(self, segment: LogSegment, first: int, last: int, low: EventTime, high: EventTime) -> pa.Table:
        """The rows of a log segment with offsets [first, last) and event times [low, high], without late ones."""
        table = self.cut(segment, first, last)
        if segment.late:
            table = table.filter(pc.invert(table[LATE]))
        if self.event_time is None or segment.inside(low, high):
            return table
        return between(table, self.event_time, low, high)

    def arrived(self, segment: LogSegment, first: int, last: int) -> Iterator[tuple[float, int]]:
        """How many of a log segment's rows with offsets [first, last) arrived when: (time, number)."""
        if segment.arrival is not None:
            yield segment.arrival, min(last, segment.end) - max(first, segment.first)
            return
        arrivals = _cut(self.column(segment, ARRIVAL), segment, first, last)
        runs = pc.run_end_encode(arrivals[ARRIVAL].combine_chunks())
        start = 0
        for arrival, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield arrival, end - start
            start = end

    def late(self, segment: LogSegment, first: int, last: int) -> int:
        """How many of a log segment's rows with offsets [first, last) are late."""
        if not segment.late or (first <= segment.first and last >= segment.end):
            return segment.late
        marks = _cut(self.column(segment, LATE), segment, first, last)
        return pc.sum(marks[LATE], min_count=0).as_py() or 0

    def joined(self, tables: Iterable[pa.Table]) -> pa.Table:
        """Tables of this log one after another; also without any row they have the hidden columns."""
        with_rows = [table for table in tables if table.num_rows]
        return pa.concat_tables(with_rows) if with_rows else segments.stamped(self.schema.empty_table(), 0, 0.0)

    def _described(self, table: pa.Table) -> pa.Table:
        """Rows with what the schema says of columns beside their types: earlier versions did not write that."""
        if not any(column.metadata for column in self.schema):
            return table
        fields = {**{column.name: column for column in table.schema}, **{column.name: column for column in self.schema}}
        return table.cast(pa.schema([fields[name] for name in table.column_names]))

    def _forget(self, gone: Sequence[LogSegment]) -> None:
        for segment in gone:
            self.cache.forget(_key(segment))
            for name in (ARRIVAL, LATE, self.event_time):
                self.cache.forget((*_key(segment), name))

    def _check_range(self, first: int, last: int) -> None:
        if not self.dropped.start <= first <= last <= self.end:
            raise HeadgateError(
                f"offsets {first} to {last} of stream '{self.name}' were asked for, "
                f"its log holds {self.dropped.start} to {self.end}",
                hint="read within the log",
            )


def _cut(table: pa.Table, segment: LogSegment, first: int, last: int) -> pa.Table:
    """The rows with offsets [first, last) of a table that has all rows of a log segment."""
    if first <= segment.first and last >= segment.end:
        return table
    begin, end = _row(segment, max(first, segment.first)), _row(segment, min(last, segment.end))
    return table.slice(begin, end - begin)


def _row(segment: LogSegment, offset: int) -> int:
    """How many rows of a log segment come before an offset; the marker of the stream's end has an offset but no row."""
    return offset - segment.first - (segment.finish is not None and offset > segment.finish)


def _key(segment: LogSegment) -> tuple[int, int]:
    return segment.number, segment.last_number


def _first(segment: LogSegment) -> int:
    return segment.first


def _end(segment: LogSegment) -> int:
    return segment.end
