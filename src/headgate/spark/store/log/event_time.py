"""Event time as whole microseconds: what is late, and what is too far ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import EventTime, HeadgateError, Stream

NO_EVENT_TIME = "no event time"
AFTER_THE_END = "late: the stream has ended"
_UNITS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))

Rejected = tuple[tuple[pa.Table, str], ...]  # (rows, reason)


class Divided(NamedTuple):
    """The rows of one append: those that get an offset, which of them are late, and those that get none."""

    kept: pa.Table
    late: Any | None = None  # for each kept row whether it is; None: none is
    rejected: Rejected = ()

    @property
    def in_time(self) -> pa.Table:
        """The rows that windows may hold."""
        return self.kept if self.late is None else self.kept.filter(pc.invert(self.late))


OUT_OF_RANGE = "its event time is not between the years 1 and 9999"
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


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
    found = schema.field(stream.event_time).type
    if not pa.types.is_timestamp(found):
        raise HeadgateError(
            f"event_time '{stream.event_time}' has the type {found}",
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
    found = pc.min_max(microseconds(rows[column])).as_py()
    return found["min"], found["max"]


def highest(left: int | None, right: int | None) -> int | None:
    """The larger of two moments, either of which may be missing.

    >>> highest(None, 3), highest(4, 3), highest(None, None)
    (3, 4, None)
    """
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


def divide(rows: pa.Table, stream: Stream, frontier: EventTime | None, arrival: float) -> Divided:
    """Take the rows apart: late is what lies strictly below the frontier; only the future is bounded."""
    if stream.event_time is None:
        return Divided(rows)
    times = microseconds(rows[stream.event_time])
    rejected: Rejected = ()
    if times.null_count:
        valid = pc.is_valid(times)
        rejected = ((rows.filter(pc.invert(valid)), NO_EVENT_TIME),)
        rows, times = rows.filter(valid), times.filter(valid)
    odd = pc.or_(_at_least(times, _LAST + 1), pc.invert(_at_least(times, _FIRST)))
    if _any(odd):
        rejected += ((_in_numbers(rows.filter(odd), stream.event_time), OUT_OF_RANGE),)
        usual = pc.invert(odd)
        rows, times = rows.filter(usual), times.filter(usual)
    far = _at_least(times, math.inf if stream.ahead == math.inf else math.floor((arrival + stream.ahead) * 1e6) + 1)
    if _any(far):
        rejected += _too_far(rows.filter(far), times.filter(far).to_pylist(), stream, arrival)
        near = pc.invert(far)
        rows, times = rows.filter(near), times.filter(near)
    late = pc.invert(_at_least(times, -math.inf if frontier is None else frontier))
    return Divided(rows, late if _any(late) else None, rejected)


def _in_numbers(rows: pa.Table, column: str) -> pa.Table:
    """Rows whose event times are microseconds: as dates nobody could write them."""
    return rows.set_column(rows.schema.get_field_index(column), column, microseconds(rows[column]))


def late_by(time: int, frontier: EventTime) -> str:
    """Why a row is late.

    >>> late_by(1_000_000, 4_200_000), late_by(0, math.inf)
    ('late by 3.2 s', 'late: the stream has ended')
    """
    return AFTER_THE_END if frontier == math.inf else f"late by {told((frontier - time) / 1e6)}"


def told(seconds: float) -> str:
    """A length of time in the unit that suits it, to two digits: reasons are counted by their text.

    >>> told(3600.0), told(9123.4), told(0.00025), told(2.2e9), told(0.0)
    ('1 h', '2.5 h', '250 us', '25000 d', '0 s')
    """
    unit, scale = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1] if seconds else ("s", 1.0))
    return f"{float(f'{seconds / scale:.2g}'):.12g} {unit}"


def _too_far(rows: pa.Table, times: Sequence[int], stream: Stream, arrival: float) -> Rejected:
    found: dict[str, list[int]] = {}
    for place, time in enumerate(times):
        found.setdefault(told(time / 1e6 - arrival), []).append(place)
    allowed = f"ahead of its arrival, the stream allows {told(stream.ahead)}"
    return tuple((rows.take(places), f"{length} {allowed}") for length, places in found.items())


def _any(wanted: Any) -> bool:
    return bool(pc.any(wanted, min_count=0).as_py())


def between(rows: pa.Table, column: str, low: EventTime, high: EventTime) -> pa.Table:
    """The rows whose event time lies in [low, high]."""
    times = microseconds(rows[column])
    wanted = pc.and_(_at_least(times, low), pc.invert(_at_least(times, high + 1)))
    return rows.filter(wanted)


def _at_least(times: Any, moment: EventTime) -> Any:
    """Infinite bounds, and those beyond 64 bits, hold for all or for none."""
    if moment > (1 << 63) - 1:
        return pa.array(np.zeros(len(times), dtype=np.bool_))
    if moment < -(1 << 63):
        return pa.array(np.ones(len(times), dtype=np.bool_))
    return pc.greater_equal(times, pa.scalar(math.ceil(moment), pa.int64()))
