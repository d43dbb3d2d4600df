"""Log segments, of which a stream log consists: one append in the tail, or many appends sealed as one Parquet file.

An append is stored as a frame (see `frame_file`) whose payload is

    length of the description (4 bytes) | description (JSON) | rows (Arrow stream) | rejected rows (Arrow streams)

The description has the fields of `LogSegment`: the third append of a stream, with the offsets 20 to 24, begins with
`{"number":3,"last_number":3,"first":20,"end":25,"rows":5,…`. Rejected rows are stored too, so that a crash before they
are dead letters does not lose them. If some of the rows are late, a column `_late` says which.

A sealed Parquet file has the rows with the columns `_offset`, `_arrival` and `_late`, and its description in the footer
under the key `headgate`. Its name consists of the numbers of its first and last append and the crc32 of all its bytes:
`00000000000000000001-00000000000000000250-1c291ca3.parquet`. It is never changed.

Version 1 of the format had no late rows: no such column, and no field `late` in the description.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import EventTime, HeadgateError
from headgate.spark.store.atomic_files import damaged, write_atomic
from headgate.spark.store.frame_file import FrameFile, FrameLocation
from headgate.spark.store.log.late_rows import Rejected, highest

OFFSET, ARRIVAL, LATE = HIDDEN = ("_offset", "_arrival", "_late")
_LENGTH = struct.Struct("<I")
_SEALED = re.compile(r"(\d{20})-(\d{20})-([0-9a-f]{8})\.parquet")
_KEY = b"headgate"


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The offsets [first, end) of a log, and what is known of them without reading their rows."""

    number: int  # of its first append
    last_number: int  # of its last append
    first: int
    end: int
    rows: int  # as many as offsets, or one fewer if the marker of the stream's end is among them
    late: int = 0  # number of late rows
    low: int | None = None  # the smallest event time of the rows that are not late, in microseconds
    high: int | None = None  # the largest one
    before: int | None = None  # the largest event time of all rows before this log segment
    finish: int | None = None  # the offset of the stream's end
    arrival: float | None = None  # when its rows arrived; None if they arrived at several times
    ends: tuple[int, ...] = ()  # the ends of its appends, without the last
    batches: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # the offsets of the batches in it
    path: Path | None = None  # the Parquet file, if it is sealed
    file: FrameFile | None = field(default=None, repr=False)  # the tail and the frame in it, if it is not sealed
    location: FrameLocation | None = field(default=None, repr=False)

    @property
    def sealed(self) -> bool:
        return self.path is not None

    def settled(self, offset: int) -> int:
        """The end of the last append that ends at or before an offset; the first offset if there is no such append.

        >>> segment = LogSegment(1, 3, first=10, end=40, rows=30, ends=(20, 25))
        >>> [segment.settled(offset) for offset in (10, 19, 20, 24, 39, 40)]
        [10, 10, 20, 20, 25, 40]
        """
        if offset >= self.end:
            return self.end
        ended = bisect_right(self.ends, offset)
        return self.ends[ended - 1] if ended else self.first

    def overlaps(self, low: EventTime, high: EventTime) -> bool:
        """Whether a row that is not late may have its event time in [low, high]."""
        return self.low is not None and self.high is not None and self.low <= high and self.high >= low

    def inside(self, low: EventTime, high: EventTime) -> bool:
        """Whether every row that is not late has its event time in [low, high]."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


_PLAIN = ("number", "last_number", "first", "end", "rows", "low", "high", "before", "finish", "arrival")
_STORED = (*_PLAIN, "late", "ends", "batches")


def describe(segment: LogSegment) -> dict[str, Any]:
    """The description of a log segment that is stored on disk."""
    return {name: getattr(segment, name) for name in _STORED}


def from_description(description: Mapping[str, Any], **more: Any) -> LogSegment:
    """A log segment from its description on disk; `more` says where its rows are."""
    batches = {batch: (first, last) for batch, (first, last) in description["batches"].items()}
    plain = {name: description[name] for name in _PLAIN}
    late, ends = description.get("late", 0), tuple(description["ends"])
    return LogSegment(**plain, late=late, ends=ends, batches=batches, **more)


def to_arrow(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(target.getvalue())


def from_arrow(data: Any) -> pa.Table:
    """The table of an Arrow stream, without a copy."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def encode(segment: LogSegment, rows: pa.Table, rejected: Rejected) -> bytes:
    """An append as the payload of a frame."""
    tables = [to_arrow(rows)]
    reasons = []
    for table, reason in rejected:
        tables.append(to_arrow(table))
        reasons.append(reason)
    description = {**describe(segment), "lengths": [len(table) for table in tables], "reasons": reasons}
    head = json.dumps(description, separators=(",", ":"), ensure_ascii=False).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *tables))


def decode(payload: bytes, file: FrameFile, location: FrameLocation) -> tuple[LogSegment, pa.Table, Rejected]:
    """The append in a frame's payload: its log segment, rows and rejected rows."""
    (length,) = _LENGTH.unpack_from(payload)
    description = json.loads(payload[_LENGTH.size : _LENGTH.size + length])
    tables, position = [], _LENGTH.size + length
    for size in description["lengths"]:
        # The slice is a copy, so that a table does not keep the whole payload in memory.
        tables.append(from_arrow(payload[position : position + size]))
        position += size
    segment = from_description(description, file=file, location=location)
    return segment, tables[0], tuple(zip(tables[1:], description["reasons"], strict=True))


def stamped(rows: pa.Table, first: int, arrival: float) -> pa.Table:
    """The rows of one append with the columns `_offset`, `_arrival` and `_late`."""
    columns = rows.drop_columns([LATE]) if LATE in rows.column_names else rows
    offsets = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
    arrivals = pa.array(np.full(rows.num_rows, arrival))
    with_arrival = columns.append_column(OFFSET, offsets).append_column(ARRIVAL, arrivals)
    return _marked(with_arrival) if columns is rows else with_arrival.append_column(LATE, rows[LATE])


def _marked(rows: pa.Table) -> pa.Table:
    """Rows with the column `_late`; if they lack it, none of them is late."""
    if LATE in rows.column_names:
        return rows
    return rows.append_column(LATE, pa.array(np.zeros(rows.num_rows, dtype=np.bool_)))


def load(segment: LogSegment) -> pa.Table:
    """The rows of a log segment from disk, with `_offset`, `_arrival` and `_late`."""
    if segment.file is not None and segment.location is not None:
        _, rows, _ = decode(segment.file.read(segment.location), segment.file, segment.location)
        return stamped(rows, segment.first, segment.arrival or 0.0)
    assert segment.path is not None
    try:
        data = segment.path.read_bytes()
    except FileNotFoundError as error:
        raise _gone(segment) from error
    if zlib.crc32(data) != _named_checksum(segment.path):
        raise damaged(segment.path)
    return _marked(pq.read_table(pa.BufferReader(data), use_threads=False).replace_schema_metadata(None))


def load_column(segment: LogSegment, name: str) -> pa.Table:
    """One column of a sealed log segment, with the checksums of its pages compared, without reading the others."""
    assert segment.path is not None
    try:
        return pq.read_table(
            segment.path, columns=[name], use_threads=False, partitioning=None, page_checksum_verification=True
        ).replace_schema_metadata(None)
    except FileNotFoundError as error:
        raise _gone(segment) from error
    except (OSError, pa.ArrowException) as error:
        raise damaged(segment.path) from error


def _gone(segment: LogSegment) -> HeadgateError:
    return HeadgateError(
        f"offsets {segment.first} to {segment.end} are gone: they were dropped or the file was removed",
        where=str(segment.path),
        hint="read from the log's start on",
    )


def seal(folder: Path, appends: Sequence[LogSegment], table: pa.Table) -> LogSegment:
    """Write consecutive log segments of one append each, whose rows are `table`, as one Parquet file."""
    high = None
    for append in appends:
        high = highest(high, append.high)
    lows = [append.low for append in appends if append.low is not None]
    joined = LogSegment(
        number=appends[0].number,
        last_number=appends[-1].last_number,
        first=appends[0].first,
        end=appends[-1].end,
        rows=table.num_rows,
        late=sum(append.late for append in appends),
        low=min(lows, default=None),
        high=high,
        before=appends[0].before,
        finish=next((append.finish for append in appends if append.finish is not None), None),
        ends=tuple(append.end for append in appends[:-1]),
        batches={batch: offsets for append in appends for batch, offsets in append.batches.items()},
    )
    data = _parquet(table, joined)
    path = folder / f"{joined.number:020}-{joined.last_number:020}-{zlib.crc32(data):08x}.parquet"
    write_atomic(path, data, point="log.seal")
    return from_description(describe(joined), path=path)


def begun_at(folder: Path, number: int) -> bool:
    """Whether there is a sealed file whose first append has that number."""
    return any(folder.glob(f"{number:020}-*.parquet"))


def sealed(folder: Path) -> list[LogSegment]:
    """The sealed log segments of a folder in order; the checksum of each file is compared."""
    in_order = []
    for path in sorted(folder.glob("*.parquet")):
        if _checksum(path) != _named_checksum(path):
            raise damaged(path)
        description = json.loads(pq.read_schema(path).metadata[_KEY])
        in_order.append(from_description(description, path=path))
    return in_order


def _named_checksum(path: Path) -> int:
    match = _SEALED.fullmatch(path.name)
    if match is None:
        raise HeadgateError("a file that does not belong to a stream log", where=str(path), hint="move it away")
    return int(match[3], 16)


def _parquet(table: pa.Table, segment: LogSegment) -> Any:
    target = pa.BufferOutputStream()
    description = json.dumps(describe(segment), separators=(",", ":"), ensure_ascii=False)
    with_description = table.replace_schema_metadata({_KEY: description.encode()})
    # Texts repeat. A dictionary of numbers doubles the time, during which no row is appended, and saves no space.
    texts: Any = [column.name for column in table.schema if _is_text(column.type)] or False
    pq.write_table(with_description, target, write_page_checksum=True, compression="snappy", use_dictionary=texts)
    return target.getvalue()


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def _checksum(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            value = zlib.crc32(chunk, value)
    return value
