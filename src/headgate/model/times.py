"""Times that Arrow and Spark hold and Python's datetime does not: outside the years 1 to 9999, and with nanoseconds.

A stream takes no other years. A query may make one, as `date_add(d, 30000000)` does. Arrow tables and Parquet files
have it as it is; where values become Python objects or text, it is ISO 8601 text with a sign before the year. The
calendar repeats after 400 years, so such a time is one of the years 2000 to 2399, and a number of cycles.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
FIRST_MOMENT, LAST_MOMENT = -62_135_596_800_000_000, 253_402_300_799_999_999  # of the years 1 and 9999
_DAY = 86_400_000_000  # microseconds, as all lengths here
_CYCLE = 146_097 * _DAY  # 400 years
_BEGIN = 946_684_800_000_000  # of the year 2000, with which the cycle begins that stands for all
_WRITTEN = re.compile(r"([+-]?\d{4,9})(-\d\d-\d\d.*)", re.ASCII)
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}

Column = Any  # an array of Arrow, in chunks or not


def microseconds(moment: datetime.datetime) -> int:
    """A time in microseconds since 1970; without a zone it is UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)) - EPOCH) // MICROSECOND


def iso(moment: int, *, day: bool = False, zone: bool = True) -> str:
    """A time in microseconds since 1970, of any year, as text: only its day, or with the time, and UTC as its zone.

    >>> iso(1_000_000_000_000_000_000), iso(30_000_000 * 86_400_000_000, day=True), iso(-62_230_000_000_000_000, day=True)
    ('+33658-09-27T01:46:40+00:00', '+84107-03-19', '-0002-01-04')
    """  # noqa: E501
    cycles, rest = divmod(moment - _BEGIN, _CYCLE)
    within = EPOCH + MICROSECOND * (_BEGIN + rest)
    year = within.year + 400 * cycles
    text = within.date().isoformat() if day else (within if zone else within.replace(tzinfo=None)).isoformat()
    return f"{'-' if year < 0 else '+'}{abs(year):04}{text[4:]}"


def moment(text: str) -> datetime.datetime | int:
    """The time that a text says; one outside the years 1 to 9999 in microseconds since 1970. Otherwise ValueError.

    >>> moment("2026-01-01T00:00:00+00:00"), moment("+33658-09-27T01:46:40+00:00")
    (datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), 1000000000000000000)
    """
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        folded, cycles = _folded(text)
        return microseconds(datetime.datetime.fromisoformat(folded)) + cycles * _CYCLE


def day(text: str) -> datetime.date | int:
    """The day that a text says; one outside the years 1 to 9999 in days since 1970. Otherwise ValueError.

    >>> day("2026-01-01"), day("+84107-03-19")
    (datetime.date(2026, 1, 1), 30000000)
    """
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        folded, cycles = _folded(text)
        return (datetime.date.fromisoformat(folded) - EPOCH.date()).days + cycles * (_CYCLE // _DAY)


def clock(text: str) -> datetime.time | int:
    """The time of day that a text says; one with nanoseconds as their number. Otherwise ValueError.

    >>> clock("12:00:00.5"), clock("00:00:01.000000001")
    (datetime.time(12, 0, 0, 500000), 1000000001)
    """
    found = datetime.time.fromisoformat(text)
    decimals = text.partition(".")[2]
    if len(decimals) > 9:
        raise ValueError(f"{text!r} has more than nanoseconds")
    nanoseconds = int(decimals.ljust(9, "0"))
    if nanoseconds % 1_000 == 0:
        return found
    return ((found.hour * 60 + found.minute) * 60 + found.second) * 1_000_000_000 + nanoseconds


def _folded(text: str) -> tuple[str, int]:
    """The text of a time in the years 2000 to 2399, and how many cycles it lies before the one that is meant."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time")
    cycles, year = divmod(int(match[1]) - 2000, 400)
    return f"{2000 + year}{match[2]}", cycles


@lru_cache(maxsize=1000)
def has_times(kind: pa.DataType) -> bool:
    """Whether values of a type have dates, timestamps or times of day in them.

    >>> has_times(pa.list_(pa.date32())), has_times(pa.map_(pa.string(), pa.int64()))
    (True, False)
    """
    if pa.types.is_dictionary(kind):
        return has_times(kind.value_type)
    return _is_time(kind) or any(has_times(kind.field(number).type) for number in range(kind.num_fields))


def within_years(column: Column) -> bool:
    """Whether all times of a column, those in lists, structs and maps too, lie in the years 1 to 9999.

    >>> within_years(pa.array([[1], None], pa.list_(pa.date32()))), within_years(pa.array([1 << 30], pa.date32()))
    (True, False)
    """
    return all(map(_within_years, _leaves(column)))


def outside_years(column: Column) -> list[int]:
    """Which values of a column are or have a time outside the years 1 to 9999.

    >>> outside_years(pa.array([None, [1, 30_000_000], [2]], pa.list_(pa.date32())))
    [1]
    """
    if within_years(column):
        return []
    if _is_time(column.type):
        numbers, (low, high) = _numbers(column), _bounds(column.type)
        places: list[int] = pc.indices_nonzero(pc.or_(pc.less(numbers, low), pc.greater(numbers, high))).to_pylist()
        return places
    if len(column) == 1:
        return [0]
    half = len(column) // 2
    return [*outside_years(column.slice(0, half)), *(half + place for place in outside_years(column.slice(half)))]


def python_holds(column: Column) -> bool:
    """Whether Python has an object for every value of a column, as far as these are times.

    >>> python_holds(pa.array([0], pa.date32())), python_holds(pa.array([30_000_000], pa.date32()))
    (True, False)
    """
    return all(map(_python_holds, _leaves(column)))


def values(column: Column) -> list[Any]:
    """The values of a column as Python objects; a time that Python cannot hold as text.

    >>> values(pa.array([0, 30_000_000, None], pa.date32())), values(pa.array([1], pa.time64("ns")))
    ([datetime.date(1970, 1, 1), '+84107-03-19', None], ['00:00:00.000000001'])
    """
    if python_holds(column):
        found: list[Any] = column.to_pylist()
        return found
    if pa.types.is_dictionary(column.type):
        return values(column.cast(column.type.value_type))
    return [_value(number, column.type) for number in column.cast(_in_numbers(column.type)).to_pylist()]


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as mappings; a time that Python cannot hold is a text.

    >>> rows(pa.table({"id": [1], "at": pa.array([-62_230_000_000_000_000], pa.timestamp("us", "UTC"))}))
    [{'id': 1, 'at': '-0002-01-04T08:53:20+00:00'}]
    """
    if all(map(python_holds, table.columns)):
        return list(table.to_pylist())
    columns = map(values, table.columns)
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time64(kind))


def _leaves(column: Column) -> Iterator[Column]:
    """The times of a column, wherever they are in its values."""
    kind, types = column.type, pa.types
    if not has_times(kind):
        return
    if _is_time(kind):
        yield column
    elif isinstance(column, pa.ChunkedArray):
        for chunk in column.chunks:
            yield from _leaves(chunk)
    elif types.is_dictionary(kind):
        yield from _leaves(column.dictionary_decode())
    elif types.is_map(kind):
        entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        yield from _leaves(column.cast(pa.list_(entry)))
    else:  # a struct gives a column for each of its fields, a list one for all its values
        parts = column.flatten()
        for part in parts if types.is_struct(kind) else [parts]:
            yield from _leaves(part)


def _within_years(times: Column) -> bool:
    if _is_nano(times.type) and not pa.types.is_time64(times.type):  # no number of them leaves the years
        return True
    return _within(times)


def _within(times: Column, margin: int = 0) -> bool:
    low, high = _bounds(times.type)
    room = -(-margin // _size(times.type)) if margin else 0
    found = pc.min_max(_numbers(times)).as_py()
    return found["min"] is None or low + room <= found["min"] <= found["max"] <= high - room


def _zoned(kind: pa.DataType) -> bool:
    """Whether Python would show a time in another zone than UTC, where it may be of another year."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz not in (None, "UTC")


def _python_holds(times: Column) -> bool:
    if not _is_nano(times.type):
        return _within(times, _DAY if _zoned(times.type) else 0)
    numbers = _numbers(times)
    cut = pc.multiply(pc.divide(numbers, 1_000), 1_000)
    return pc.all(pc.equal(numbers, cut), min_count=0).as_py() is not False


def _is_nano(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and kind.unit == "ns"


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    """The first and the last value of a type in the years 1 to 9999, or of a day."""
    if pa.types.is_time64(kind):
        return 0, _DAY * (1_000 if kind.unit == "ns" else 1) - 1
    size = _size(kind)
    return FIRST_MOMENT // size, LAST_MOMENT // size


def _size(kind: pa.DataType) -> int:
    """What one of the numbers of a type stands for, in microseconds."""
    if pa.types.is_date(kind):
        return _DAY if pa.types.is_date32(kind) else 1_000
    return _UNITS[kind.unit]


def _numbers(times: Column) -> Column:
    return times.cast(pa.int32() if pa.types.is_date32(times.type) else pa.int64())


def _in_numbers(kind: pa.DataType) -> pa.DataType:
    """A type with numbers in place of times."""
    types = pa.types
    if _is_time(kind):
        return pa.int32() if types.is_date32(kind) else pa.int64()
    if not has_times(kind):
        return kind
    if types.is_dictionary(kind):
        return _in_numbers(kind.value_type)
    if types.is_map(kind):
        return pa.map_(_in_numbers(kind.key_type), _in_numbers(kind.item_type))
    inner = [kind.field(place).with_type(_in_numbers(kind.field(place).type)) for place in range(kind.num_fields)]
    if types.is_struct(kind):
        return pa.struct(inner)
    return pa.large_list(inner[0]) if types.is_large_list(kind) else pa.list_(inner[0])


def _value(number: Any, kind: pa.DataType) -> Any:
    """A value of a column whose times are numbers."""
    types = pa.types
    if number is None or not has_times(kind):
        return number
    if types.is_dictionary(kind):
        return _value(number, kind.value_type)
    if types.is_map(kind):
        return [(_value(key, kind.key_type), _value(item, kind.item_type)) for key, item in number]
    if types.is_struct(kind):
        return {field.name: _value(number[field.name], field.type) for field in kind}
    return _one(number, kind) if _is_time(kind) else [_value(item, kind.value_type) for item in number]


def _one(number: int, kind: pa.DataType) -> Any:
    if not _python_holds(single := pa.array([number], kind)):
        if _is_nano(kind):
            return _with_nanoseconds(number, kind)
        return iso(number * _size(kind), day=pa.types.is_date(kind), zone=pa.types.is_timestamp(kind) and bool(kind.tz))
    return single[0].as_py()


def _with_nanoseconds(number: int, kind: pa.DataType) -> str:
    rest = number % 1_000
    coarser = pa.time64("us") if pa.types.is_time64(kind) else pa.timestamp("us", kind.tz)
    text: str = pa.scalar(number // 1_000, coarser).as_py().isoformat(timespec="microseconds")
    end = text.index(".") + 7
    return f"{text[:end]}{rest:03}{text[end:]}"
