"""A stream's log: rows are appended durably and read by offset.

Every row has an offset, counted from 0, and all rows of one append have the same time of arrival. Whether a row is late
is decided here, when it is appended: a late row has an offset and `_late` is true, but it is in no window, because the
windows to which it belongs have closed.

New appends go to the tail. When that is long, it is *sealed* as a Parquet file, which Spark's executors can read. For
the format on disk see `files` (the folder), `segments` (appends and sealed files) and `frame_file` (the tail).

>>> import tempfile
>>> schema = pa.schema([("id", pa.int64())])
>>> with tempfile.TemporaryDirectory() as folder:
...     log = StreamLog.open(Path(folder) / "sensors", Stream(name="sensors"), schema)
...     appended = log.append(pa.table({"id": [7, 8, 9]}), arrival=100.0)
...     appended.first, appended.last, log.read(2, 3).to_pylist()
(0, 3, [{'id': 9, '_offset': 2, '_arrival': 100.0, '_late': False}])
"""

from __future__ import annotations

import itertools
import math
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import ConflictError, EventTime, HeadgateError, Stream
from headgate.model.times import has_times
from headgate.spark.store import disk
from headgate.spark.store.kill_points import at
from headgate.spark.store.log import files as log_files
from headgate.spark.store.log import segments
from headgate.spark.store.log.index import SegmentIndex
from headgate.spark.store.log.late_rows import (
    Divided,
    Rejected,
    bounds,
    check_column,
    check_watermark,
    divide,
    late_by,
    microseconds,
    unreadable,
)
from headgate.spark.store.log.segments import HIDDEN, LATE, OFFSET, LogSegment

MEMORY_BUDGET = 64 << 20  # bytes of the cache of one log
SEAL_ROWS = 100_000  # in the tail, before it is sealed
SEAL_BYTES = 64 << 20  # likewise, as rows may be large, or all of them rejected
SEAL_APPENDS = 1_000  # likewise, as each append takes some kilobytes of memory until it is sealed
RESTORE = "restore the file from a copy and open the directory again; or stop the queries of the stream and drop it"
LATELY = 10.0  # seconds over which the rate of arrivals is told

Late = tuple[tuple[int, str], ...]  # (offset, reason)
_OPENED = itertools.count(1)
_TIMES = re.compile(r"_t\d+")  # columns of a fragment log with event times, in microseconds


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of an append: its rows have the offsets [first, last), the rejected ones have none.

    `number` counts the appends of a log from 1; it is 0 if nothing was written.
    """

    number: int
    first: int
    last: int
    arrival: float
    batch: str | None = None
    rejected: Rejected = ()
    late: Late = ()


class StreamLog:
    """One stream's log; one thread appends, several may read."""

    def __init__(self, folder: Path, stream: Stream, schema: pa.Schema, memory_budget: int, seal_rows: int) -> None:
        self.folder, self.stream, self.schema = folder, stream, schema
        self.opened = next(_OPENED)  # differs for each log of this process, also for a later one of the same name
        self._seal_rows = seal_rows
        self._delay = round(stream.watermark * 1_000_000)
        self._changing = threading.RLock()  # held by append, seal and drop: one at a time
        files = log_files.scan(folder)
        self._tail = files.tail
        self._index = SegmentIndex(stream.name, schema, stream.event_time, memory_budget)
        self._index.begin(files.dropped, files.segments)
        self._tail_rows = sum(segment.rows for segment in files.segments if not segment.sealed)
        self._lately: deque[tuple[float, int]] = deque()  # (arrival, rows) of the appends of the last seconds
        self.newest = self._appended(*files.newest) if files.newest else None
        # Whether a batch may come again after a restart, by its id; a source that is open knows better.
        self.comes_again: Callable[[str], bool] = lambda batch: batch.startswith(log_files.AGAIN)

    @classmethod
    def open(
        cls,
        folder: Path,
        stream: Stream,
        schema: pa.Schema,
        memory_budget: int = MEMORY_BUDGET,
        seal_rows: int = SEAL_ROWS,
    ) -> StreamLog:
        """Open a stream's log, or create it; a damaged file is refused with its name."""
        check_column(stream, schema)
        check_watermark(stream)
        for name in HIDDEN:
            if name in schema.names:
                raise HeadgateError(
                    f"the column name '{name}' is taken", where=f"stream {stream.name}", hint="choose another name"
                )
        if (folder / "stream.json").exists():
            log_files.check_identity(folder, stream, schema)
        else:
            log_files.check_empty(folder)
            log_files.create(folder, stream, schema)
        return cls(folder, stream, schema, memory_budget, seal_rows)

    @classmethod
    def reopen(cls, folder: Path) -> StreamLog:
        """Open an existing log with the stream and the columns that are stored in it."""
        return cls.open(folder, *log_files.stored(folder))

    def close(self) -> None:
        self._tail.close()

    @property
    def start(self) -> int:
        """The smallest offset that can still be read."""
        return self._index.dropped.start

    @property
    def end(self) -> int:
        """The offset that the next row will get."""
        return self._index.end

    @property
    def finished_at(self) -> int | None:
        """The offset of the stream's end, if it has ended."""
        return self._index.finish

    @property
    def appends(self) -> int:
        """How many appends it has taken since it was made."""
        return self._index.number - 1

    @property
    def batches(self) -> Mapping[str, tuple[int, int]]:
        """The offsets of the batches whose ids the log remembers, oldest first."""
        return self._index.batches

    @property
    def cached_bytes(self) -> int:
        """The size of the tables kept in memory."""
        return self._index.cache.nbytes

    def append(
        self, rows: pa.Table, arrival: float, batch: str | None = None, bad: Sequence[tuple[str, str]] = ()
    ) -> Appended:
        """Append rows, durable on return; a batch that is in the log already is not appended again.

        `bad` are records that came with them and are no rows, as (text, reason): they are rejected with this append.
        """
        with self._changing:
            if batch is not None and batch in self._index.batches:
                return self._appended_before(batch, arrival)
            self._seal_if_due()
            divided = divide(self._conform(rows), self.stream, self.frontier_at(self.end), arrival)
            divided = divided._replace(rejected=(*divided.rejected, *unreadable(bad)))
            if not divided.kept.num_rows and not divided.rejected and batch is None:
                return Appended(0, self.end, self.end, arrival)
            return self._write(divided, arrival, batch)

    def finish(self, arrival: float = 0.0) -> int:
        """Mark the end of the stream: a marker without rows gets an offset, which is returned; all windows close."""
        with self._changing:
            if self._index.finish is None:
                self._seal_if_due()
                self._write(Divided(self.schema.empty_table()), arrival, None, finish=True)
            assert self._index.finish is not None
            return self._index.finish

    def read(self, first: int, last: int) -> pa.Table:
        """The rows with offsets [first, last), with `_offset`, `_arrival` and `_late`."""
        index = self._index
        return index.joined(index.cut(segment, first, last) for segment in index.between(first, last))

    def read_window(self, first: int, last: int, low: EventTime, high: EventTime) -> pa.Table:
        """The same, but only rows that are not late and have an event time in [low, high] (microseconds)."""
        index = self._index
        overlapping = (segment for segment in index.between(first, last) if segment.overlaps(low, high))
        return index.joined(index.within(segment, first, last, low, high) for segment in overlapping)

    def segments(self, first: int, last: int) -> list[LogSegment]:
        """The log segments that have rows of [first, last); executors can read the `path` of sealed ones."""
        return self._index.between(first, last)

    def arrivals(self, first: int, last: int) -> list[tuple[float, int]]:
        """How many rows of [first, last) arrived when, in the order of the log: (time, number)."""
        chunks: list[tuple[float, int]] = []
        for segment in self._index.between(first, last):
            for arrival, count in self._index.arrived(segment, first, last):
                at_same_time = chunks.pop()[1] if chunks and chunks[-1][0] == arrival else 0
                chunks.append((arrival, at_same_time + count))
        return chunks

    def rate(self, now: float) -> float:
        """Rows per second that have arrived lately, since the log was opened."""
        rows = sum(count for arrival, count in self._lately.copy() if arrival >= now - LATELY)
        return rows / LATELY

    def late(self, first: int, last: int) -> int:
        """How many rows of [first, last) are late."""
        return sum(self._index.late(segment, first, last) for segment in self._index.between(first, last))

    def frontier_at(self, offset: int) -> EventTime | None:
        """The frontier at an offset: the largest event time (microseconds) of the appends before it less the watermark.

        None before the end of the first append, infinity after the stream's end.
        """
        high = self._index.highest_before(offset)
        if self._index.finish is not None and offset > self._index.finish:
            return math.inf
        return None if high is None else high - self._delay

    def misses(self, first: int, lows: Mapping[str, EventTime]) -> bool:
        """Whether rows from an offset on have been removed that may have at least these event times, by column."""
        return self._index.dropped.misses(first, lows)

    def first_that_may(self, first: int, last: int, hold: Sequence[Mapping[str, EventTime]]) -> int:
        """The first offset of [first, last) whose log segment may have a row that somebody needs, or `last`.

        Needed are rows with at least the event times of one of the mappings `hold`, by column.
        """
        for segment in self.segments(first, last) if hold else ():
            latest = self._latest(segment)
            if any(log_files.may_hold(latest, lows) for lows in hold):
                return max(first, segment.first)
        return last

    @property
    def droppable(self) -> bool:
        """Whether the oldest log segment is sealed: only sealed ones can be removed."""
        return any(segment.sealed for segment in self._index.segments[:1])

    def require(self, offset: int) -> None:
        """Raise an error if the log ends before an offset that was committed: then acknowledged rows are missing."""
        if offset > self.end:
            raise ConflictError(
                f"the log of stream '{self.stream.name}' ends at offset {self.end}, but it was read up to {offset}: "
                f"{offset - self.end:,} acknowledged rows are missing",
                where=str(self._tail.path),
                hint=RESTORE,
            )

    def seal(self) -> None:
        """Write the appends of the tail as one Parquet file, and begin a new tail."""
        with self._changing:
            appends = [segment for segment in self._index.segments if not segment.sealed]
            if not appends:
                return
            at("log.seal.before")
            try:
                sealed = segments.seal(self.folder, appends, self._index.joined(map(self._index.load, appends)))
                at("log.seal.written")
                new = log_files.new_tail(self.folder, sealed.last_number + 1)
            except BaseException:
                # With the sealed file in place, whoever opens the log removes the tail: nothing may be added to it.
                if segments.begun_at(self.folder, appends[0].number):
                    self._tail.refuse()
                raise
            old, self._tail = self._tail, new
            at("log.seal.rotated")
            self._index.merge(appends, sealed)
            self._tail_rows = 0
            disk.unlink(old.path)
            at("log.seal.after")

    def drop_before(self, offset: int) -> None:
        """Remove the sealed log segments that end at or before an offset; they still count for the frontier."""
        with self._changing:
            gone: list[LogSegment] = []
            for segment in self._index.segments:
                if not segment.sealed or segment.end > offset:
                    break
                gone.append(segment)
            if gone:
                self._drop(gone)

    def _drop(self, gone: list[LogSegment]) -> None:
        at("log.drop.before")
        dropped = self._index.dropped.after(gone, list(map(self._latest, gone)), self.comes_again)
        log_files.save_dropped(self.folder, dropped)
        at("log.drop.recorded")
        self._index.drop(gone, dropped)
        for segment in gone:
            if segment.path is not None:
                disk.unlink(segment.path)
            at("log.drop.some")
        at("log.drop.after")

    def _latest(self, segment: LogSegment) -> dict[str, int]:
        """The latest event times in a log segment, by column; a fragment log has several such columns, or none."""
        if self.stream.event_time is not None:
            return {} if segment.high is None else {self.stream.event_time: segment.high}
        names = [name for name in self.schema.names if segment.rows and _TIMES.fullmatch(name)]
        latest = {name: pc.max(self._index.column(segment, name)[name]).as_py() for name in names}
        return {name: moment for name, moment in latest.items() if moment is not None}

    def _appended_before(self, batch: str, arrival: float) -> Appended:
        """The outcome of a batch that is in the log already."""
        if self.newest is not None and self.newest.batch == batch:
            return self.newest  # with its rejected rows, which may not be dead letters yet
        first, last = self._index.batches[batch]
        return Appended(0, first, last, arrival, batch)

    def _write(self, divided: Divided, arrival: float, batch: str | None, *, finish: bool = False) -> Appended:
        """Write one append to the tail."""
        rows, in_time = divided.kept, divided.in_time
        first, last = self.end, self.end + rows.num_rows + finish
        low, high = bounds(in_time, self.stream.event_time)
        segment = LogSegment(
            number=self._index.number,
            last_number=self._index.number,
            first=first,
            end=last,
            rows=rows.num_rows,
            late=rows.num_rows - in_time.num_rows,
            low=low,
            high=high,
            before=self._index.high,
            finish=first if finish else None,
            arrival=arrival,
            batches={} if batch is None else {batch: (first, last)},
        )
        if divided.late is not None:
            rows = rows.append_column(LATE, divided.late)
        payload = segments.encode(segment, rows, divided.rejected)
        location = self._tail.append(payload)
        # Cache the rows as they were written: those that were given may be a small slice of a large table.
        segment, rows, rejected = segments.decode(payload, self._tail, location)
        self._index.add(segment, segments.stamped(rows, first, arrival))
        self._tail_rows += segment.rows
        self._lately.append((arrival, segment.rows))
        while self._lately[0][0] < arrival - LATELY:
            self._lately.popleft()
        self.newest = self._appended(segment, rows, rejected)
        return self.newest

    def _appended(self, segment: LogSegment, rows: pa.Table, rejected: Rejected) -> Appended:
        batch = next(iter(segment.batches), None)
        late = self._late(segment, rows) if segment.late else ()
        return Appended(segment.number, segment.first, segment.end, segment.arrival or 0.0, batch, rejected, late)

    def _late(self, segment: LogSegment, rows: pa.Table) -> Late:
        """The offsets of the late rows of an append and why they are late, computed from rows and frontier."""
        frontier, column = self.frontier_at(segment.first), self.stream.event_time
        assert frontier is not None, "a row is late only after others"
        assert column is not None
        late = segments.stamped(rows, segment.first, 0.0).filter(rows[LATE])
        times = microseconds(late[column]).to_pylist()
        return tuple(
            (offset, late_by(time, frontier)) for offset, time in zip(late[OFFSET].to_pylist(), times, strict=True)
        )

    def _seal_if_due(self) -> None:
        """Seal the tail if it is long; before an append, so that the newest one keeps its rejected rows in the tail."""
        long = self._tail_rows >= self._seal_rows or len(self._tail.frames) >= SEAL_APPENDS
        if long or self._tail.size >= SEAL_BYTES:
            self.seal()

    def _conform(self, rows: pa.Table) -> pa.Table:
        try:
            chosen = rows.select(self.schema.names)
            for column, wanted in zip(chosen.schema, self.schema, strict=True):
                if pa.types.is_string(wanted.type) and has_times(column.type):  # Arrow would write "<out of range>"
                    raise ValueError(f"column '{column.name}' is {column.type}, not a text")
            return chosen.cast(self.schema)
        except (pa.ArrowException, KeyError, ValueError) as error:
            raise HeadgateError(
                f"rows do not fit the stream's columns: {str(error).splitlines()[0]}",
                where=f"stream {self.stream.name}",
                hint=f"bring {', '.join(f'{column.name} {column.type}' for column in self.schema)}",
            ) from error
