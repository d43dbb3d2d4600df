"""The pieces of a stream log: one append in the tail, or many appends sealed as one Parquet file.

An append is a frame whose payload is

    length of the description (4 bytes)   description (JSON)   rows (Arrow stream)   rejected rows (Arrow streams)

Rejected rows travel with the append so that a crash before they reach the dead letters does not lose them. Rows some of
which are late have a column `_late` that says which.

A sealed file holds the rows with `_offset`, `_arrival` and `_late`, and its description in the Parquet footer under the
key `headgate`. Its name is the numbers of its first and last append and the crc32 of all its bytes:
`00000000000000000001-00000000000000000250-1c291ca3.parquet`. It is never changed.

Version 1 of the format had no late rows, no such column, and no count of them in its descriptions.
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
from headgate.spark.store.frame_file import FrameFile, FramePosition
from headgate.spark.store.log.event_time import Rejected, highest

OFFSET, ARRIVAL, LATE = HIDDEN = ("_offset", "_arrival", "_late")
_LENGTH = struct.Struct("<I")
_SEALED = re.compile(r"(\d{20})-(\d{20})-([0-9a-f]{8})\.parquet")
_KEY = b"headgate"


@dataclass(frozen=True, slots=True)
class LogSegment:
    """Offsets [first, end) of a log and what is known of them without reading their rows."""

    number: int  # of its first append
    last_number: int
    first: int
    end: int
    rows: int  # one fewer than offsets where the stream's end is in it
    late: int = 0  # how many of them are; what is told of event times does not count them
    low: int | None = None  # event times, microseconds
    high: int | None = None
    before: int | None = None  # the largest event time of all that precedes the segment
    finish: int | None = None  # the offset of the stream's end
    arrival: float | None = None  # None where it holds several
    ends: tuple[int, ...] = ()  # of the appends in it but the last
    batches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    path: Path | None = None  # the Parquet file of a sealed one
    file: FrameFile | None = field(default=None, repr=False)
    place: FramePosition | None = field(default=None, repr=False)

    @property
    def sealed(self) -> bool:
        return self.path is not None

    def settled(self, offset: int) -> int:
        """The end of the last append that is whole before an offset inside the segment; its first offset if none is.

        >>> segment = LogSegment(1, 3, first=10, end=40, rows=30, ends=(20, 25))
        >>> [segment.settled(offset) for offset in (10, 19, 20, 24, 39, 40)]
        [10, 10, 20, 20, 25, 40]
        """
        if offset >= self.end:
            return self.end
        whole = bisect_right(self.ends, offset)
        return self.ends[whole - 1] if whole else self.first

    def overlaps(self, low: EventTime, high: EventTime) -> bool:
        """Whether a row in time may have its event time in [low, high]."""
        return self.low is not None and self.high is not None and self.low <= high and self.high >= low

    def inside(self, low: EventTime, high: EventTime) -> bool:
        """Whether every row in time has its event time in [low, high]."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


_PLAIN = ("number", "last_number", "first", "end", "rows", "low", "high", "before", "finish", "arrival")
_TOLD = (*_PLAIN, "late", "ends", "batches")


def describe(segment: LogSegment) -> dict[str, Any]:
    """What of a segment goes to disk."""
    return {name: getattr(segment, name) for name in _TOLD}


def described(told: Mapping[str, Any], **more: Any) -> LogSegment:
    """A segment from its description on disk."""
    batches = {batch: (first, last) for batch, (first, last) in told["batches"].items()}
    plain = {name: told[name] for name in _PLAIN}
    return LogSegment(**plain, late=told.get("late", 0), ends=tuple(told["ends"]), batches=batches, **more)


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
    pieces = [to_arrow(rows)]
    reasons = []
    for table, reason in rejected:
        pieces.append(to_arrow(table))
        reasons.append(reason)
    told = {**describe(segment), "lengths": [len(piece) for piece in pieces], "reasons": reasons}
    head = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *pieces))


def decode(payload: bytes, file: FrameFile, place: FramePosition) -> tuple[LogSegment, pa.Table, Rejected]:
    """The append in a frame's payload: its segment, rows and rejected rows."""
    (length,) = _LENGTH.unpack_from(payload)
    told = json.loads(payload[_LENGTH.size : _LENGTH.size + length])
    tables, position = [], _LENGTH.size + length
    for size in told["lengths"]:
        tables.append(from_arrow(payload[position : position + size]))  # a copy: each may outlive the others
        position += size
    segment = described(told, file=file, place=place)
    return segment, tables[0], tuple(zip(tables[1:], told["reasons"], strict=True))


def stamped(rows: pa.Table, first: int, arrival: float) -> pa.Table:
    """The rows of one append with their offsets, arrival and marks."""
    own = rows.drop_columns([LATE]) if LATE in rows.column_names else rows
    offsets = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
    arrivals = pa.array(np.full(rows.num_rows, arrival))
    made = own.append_column(OFFSET, offsets).append_column(ARRIVAL, arrivals)
    return _marked(made) if own is rows else made.append_column(LATE, rows[LATE])


def _marked(rows: pa.Table) -> pa.Table:
    """Rows with the mark that they are not late, unless they have marks."""
    if LATE in rows.column_names:
        return rows
    return rows.append_column(LATE, pa.array(np.zeros(rows.num_rows, dtype=np.bool_)))


def load(segment: LogSegment) -> pa.Table:
    """A segment's rows from disk, with offsets, arrivals and marks."""
    if segment.file is not None and segment.place is not None:
        _, rows, _ = decode(segment.file.read(segment.place), segment.file, segment.place)
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
    """One column of a sealed segment, its pages checked, without reading the others."""
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


def seal(folder: Path, parts: Sequence[LogSegment], table: pa.Table) -> LogSegment:
    """Write consecutive segments, whose rows are `table`, as one Parquet file."""
    high = None
    for part in parts:
        high = highest(high, part.high)
    lows = [part.low for part in parts if part.low is not None]
    whole = LogSegment(
        number=parts[0].number,
        last_number=parts[-1].last_number,
        first=parts[0].first,
        end=parts[-1].end,
        rows=table.num_rows,
        late=sum(part.late for part in parts),
        low=min(lows, default=None),
        high=high,
        before=parts[0].before,
        finish=next((part.finish for part in parts if part.finish is not None), None),
        ends=tuple(part.end for part in parts[:-1]),
        batches={batch: offsets for part in parts for batch, offsets in part.batches.items()},
    )
    data = _parquet(table, whole)
    path = folder / f"{whole.number:020}-{whole.last_number:020}-{zlib.crc32(data):08x}.parquet"
    write_atomic(path, data, point="log.seal")
    return described(describe(whole), path=path)


def begun_at(folder: Path, number: int) -> bool:
    """Whether there is a sealed file whose first append has that number."""
    return any(folder.glob(f"{number:020}-*.parquet"))


def sealed(folder: Path) -> list[LogSegment]:
    """The sealed segments of a folder in order, every byte of them checked."""
    found = []
    for path in sorted(folder.glob("*.parquet")):
        if _checksum(path) != _named_checksum(path):
            raise damaged(path)
        told = json.loads(pq.read_schema(path).metadata[_KEY])
        found.append(described(told, path=path))
    return found


def _named_checksum(path: Path) -> int:
    match = _SEALED.fullmatch(path.name)
    if match is None:
        raise HeadgateError("a file that does not belong to a stream log", where=str(path), hint="move it away")
    return int(match[3], 16)


def _parquet(table: pa.Table, segment: LogSegment) -> Any:
    target = pa.BufferOutputStream()
    told = json.dumps(describe(segment), separators=(",", ":"), ensure_ascii=False)
    noted = table.replace_schema_metadata({_KEY: told.encode()})
    pq.write_table(noted, target, write_page_checksum=True, compression="snappy")
    return target.getvalue()


def _checksum(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            value = zlib.crc32(piece, value)
    return value
