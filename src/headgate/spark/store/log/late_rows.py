"""Event times in microseconds: which rows of an append are late, and which are rejected.

A row is *late* if its event time lies before the frontier, which is the largest event time so far less the watermark:
with a watermark of 10 s, after a row of 12:00:30 every row before 12:00:20 is late. A late row gets an offset but is in
no window. A row is *rejected* and gets no offset if it has no event time, one outside the years 1 to 9999, or one that
is further ahead of its arrival than the stream allows (it would move the frontier, and later rows would all be late).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import EventTime, HeadgateError, Stream
from headgate.model.times import FIRST_MOMENT, LAST_MOMENT

NO_EVENT_TIME = "no event time"
AFTER_THE_END = "late: the stream has ended"
LONGEST = 100 * 366 * 86400.0  # seconds of a watermark
_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))

Rejected = tuple[tuple[pa.Table, str], ...]  # (rows, reason)


_UNREADABLE = pa.schema([("text", pa.string()), ("reason", pa.string())], {b"headgate": b"unreadable"})


class Divided(NamedTuple):
    """The rows of one append: `kept` ones get an offset, `rejected` ones do not."""

    kept: pa.Table
    late: Any | None = None  # for each kept row whether it is late; None if none is
    rejected: Rejected = ()

    @property
    def in_time(self) -> pa.Table:
        """The kept rows that are not late, and so may be in windows."""
        return self.kept if self.late is None else self.kept.filter(pc.invert(self.late))


OUT_OF_RANGE = "its event time is not between the years 1 and 9999"


def check_watermark(stream: Stream) -> None:
    """Refuse a watermark with which event times cannot be computed, before anything is stored under the stream's name.

    >>> check_watermark(Stream(name="s", watermark=1e300))
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: stream s: the watermark is 1e+300 s, and 100 years are the most; write for example "5 s"
    """  # noqa: E501
    if stream.watermark > LONGEST:
        raise HeadgateError(
            f"the watermark is {stream.watermark:g} s, and 100 years are the most",
            where=f"stream {stream.name}",
            hint='write for example "5 s"',
        )


def check_column(stream: Stream, schema: pa.Schema) -> None:
    """Refuse an event time that is not a timestamp column of the stream."""
    if stream.event_time is None:
        return
    if stream.event_time not in schema.names:
        raise HeadgateError(
            f"event_time '{stream.event_time}' is not a column",
            where=f"stream {stream.name}",
            hint=f"name one of {', '.join(schema.names)}",
        )
    column_type = schema.field(stream.event_time).type
    if not pa.types.is_timestamp(column_type):
        raise HeadgateError(
            f"event_time '{stream.event_time}' has the type {column_type}",
            where=f"stream {stream.name}",
            hint="give the column the type timestamp",
        )


def microseconds(column: Any) -> Any:
    """A timestamp column as microseconds.

    >>> microseconds(pa.chunked_array([pa.array([1, None], pa.timestamp("ms"))])).to_pylist()
    [1000, None]
    """
    zone = column.type.tz
    return column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())


def bounds(rows: pa.Table, column: str | None) -> tuple[int | None, int | None]:
    """The smallest and the largest event time."""
    if column is None or not rows.num_rows:
        return None, None
    extremes = pc.min_max(microseconds(rows[column])).as_py()
    return extremes["min"], extremes["max"]


def highest(left: int | None, right: int | None) -> int | None:
    """The larger of two event times, each of which may be missing.

    >>> highest(None, 3), highest(4, 3), highest(None, None)
    (3, 4, None)
    """
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


def divide(rows: pa.Table, stream: Stream, frontier: EventTime | None, arrival: float) -> Divided:
    """Divide the rows of an append into kept, late and rejected ones; `frontier` is None before the first append."""
    if stream.event_time is None:
        return Divided(rows)
    times = microseconds(rows[stream.event_time])
    rejected: Rejected = ()
    if times.null_count:
        valid = pc.is_valid(times)
        rejected = ((rows.filter(pc.invert(valid)), NO_EVENT_TIME),)
        rows, times = rows.filter(valid), times.filter(valid)
    outside = pc.or_(_at_least(times, LAST_MOMENT + 1), pc.invert(_at_least(times, FIRST_MOMENT)))
    if _any(outside):
        rejected += ((rows.filter(outside), OUT_OF_RANGE),)
        inside = pc.invert(outside)
        rows, times = rows.filter(inside), times.filter(inside)
    bound = (arrival + stream.ahead) * 1e6
    far = _at_least(times, math.inf if bound == math.inf else math.floor(bound) + 1)
    if _any(far):
        rejected += _too_far(rows.filter(far), times.filter(far).to_pylist(), stream, arrival)
        near = pc.invert(far)
        rows, times = rows.filter(near), times.filter(near)
    late = pc.invert(_at_least(times, -math.inf if frontier is None else frontier))
    return Divided(rows, late if _any(late) else None, rejected)


def unreadable(bad: Sequence[tuple[str, str]]) -> Rejected:
    """Records that are no rows, as (text, reason), in the form in which an append keeps what it rejects."""
    if not bad:
        return ()
    columns = [pa.array([each[at] for each in bad], pa.string()) for at in (0, 1)]
    return ((pa.Table.from_arrays(columns, schema=_UNREADABLE), ""),)


def is_unreadable(table: pa.Table) -> bool:
    """Whether rejected rows are such records, and no rows of the stream."""
    return bool((table.schema.metadata or {}) == _UNREADABLE.metadata)


def late_by(time: int, frontier: EventTime) -> str:
    """The reason of a late row's dead letter.

    >>> late_by(1_000_000, 4_200_000), late_by(0, math.inf)
    ('late by 3.2 s', 'late: the stream has ended')
    """
    return AFTER_THE_END if frontier == math.inf else f"late by {duration((frontier - time) / 1e6)}"


def duration(seconds: float) -> str:
    """Seconds as text with two digits and a unit that suits them; so few digits because reasons are counted by text.

    >>> duration(3600.0), duration(9123.4), duration(0.00025), duration(2.2e9), duration(0.0)
    ('1 h', '2.5 h', '250 us', '25000 d', '0 s')
    """
    smallest = _UNITS[-1] if seconds else ("s", 1.0)
    unit, scale = next((candidate for candidate in _UNITS if seconds >= candidate[1]), smallest)
    return f"{float(f'{seconds / scale:.2g}'):.12g} {unit}"


def _too_far(rows: pa.Table, times: Sequence[int], stream: Stream, arrival: float) -> Rejected:
    """Rows that are too far ahead of their arrival, grouped by the text that says how far."""
    indices: dict[str, list[int]] = {}
    for index, time in enumerate(times):
        indices.setdefault(duration(time / 1e6 - arrival), []).append(index)
    allowed = f"ahead of its arrival, the stream allows {duration(stream.ahead)}"
    return tuple((rows.take(group), f"{length} {allowed}") for length, group in indices.items())


def _any(flags: Any) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())


def between(rows: pa.Table, column: str, low: EventTime, high: EventTime) -> pa.Table:
    """The rows whose event time lies in [low, high]."""
    times = microseconds(rows[column])
    inside = pc.and_(_at_least(times, low), pc.invert(_at_least(times, high + 1)))
    return rows.filter(inside)


def _at_least(times: Any, moment: EventTime) -> Any:
    """For each time whether it is at least `moment`, which may be infinite or need more than 64 bits."""
    if moment > (1 << 63) - 1:
        return pa.array(np.zeros(len(times), dtype=np.bool_))
    if moment < -(1 << 63):
        return pa.array(np.ones(len(times), dtype=np.bool_))
    return pc.greater_equal(times, pa.scalar(math.ceil(moment), pa.int64()))
