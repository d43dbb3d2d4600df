"""Event time as whole microseconds, and what is late."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import HeadgateError, Stream

Moment = int | float  # microseconds since 1970; infinity when a stream has ended


class Divided(NamedTuple):
    """The rows of one append: those in time, the late ones, those without an event time."""

    kept: pa.Table
    late: pa.Table
    missing: pa.Table


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


def divide(rows: pa.Table, column: str | None, frontier: Moment | None) -> Divided:
    """Take the rows apart: late is what lies strictly below the frontier."""
    none = rows.slice(0, 0)
    if column is None:
        return Divided(rows, none, none)
    times = microseconds(rows[column])
    missing = none
    if times.null_count:
        valid = pc.is_valid(times)
        missing, rows, times = rows.filter(pc.invert(valid)), rows.filter(valid), times.filter(valid)
    if frontier is None:
        return Divided(rows, none, missing)
    if frontier == math.inf:
        return Divided(none, rows, missing)
    late = pc.less(times, pa.scalar(int(frontier), pa.int64()))
    if not pc.any(late, min_count=0).as_py():
        return Divided(rows, none, missing)
    return Divided(rows.filter(pc.invert(late)), rows.filter(late), missing)


def between(rows: pa.Table, column: str, low: Moment, high: Moment) -> pa.Table:
    """The rows whose event time lies in [low, high]."""
    times = microseconds(rows[column])
    wanted = pc.and_(_at_least(times, low), pc.invert(_at_least(times, high + 1)))
    return rows.filter(wanted)


def _at_least(times: Any, moment: Moment) -> Any:
    """Infinite bounds, and those beyond 64 bits, hold for all or for none."""
    if moment > (1 << 63) - 1:
        return pa.array([False] * len(times), pa.bool_())
    if moment < -(1 << 63):
        return pa.array([True] * len(times), pa.bool_())
    return pc.greater_equal(times, pa.scalar(math.ceil(moment), pa.int64()))
