"""Rows of every type, as JSON has them and as Arrow takes them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from tests.spark.fuzz.case import Row, StreamDef

SECOND = 1_000_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
FUTURE = 4_102_444_800_000_000  # 2100: no stream takes it
MOMENTS = {  # where event times begin; data lies in the past, since the future is refused
    "a plain day": "2020-01-01T00:00:00+00:00",
    "over 1970": "1969-12-31T23:59:45+00:00",
    "long before 1970": "1931-05-03T11:59:58+00:00",
    "Berlin's clocks go forward": "2023-03-26T00:59:45+00:00",
    "Berlin's clocks go back": "2023-10-29T00:59:45+00:00",
    "New York's clocks go back": "2022-11-06T05:59:50+00:00",
    "a leap day": "2024-02-28T23:59:50+00:00",
}
ARROW: dict[str, Any] = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "tinyint": pa.int8(),
    "double": pa.float64(),
    "decimal(12,2)": pa.decimal128(12, 2),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "array<int>": pa.list_(pa.int32()),
    "struct<a:int,b:string>": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "map<string,int>": pa.map_(pa.string(), pa.int32()),
}
ALWAYS = [["id", "bigint"], ["v", "int"]]
OPTIONAL = [
    ["t", "tinyint"],
    ["m", "smallint"],
    ["d", "double"],
    ["p", "decimal(12,2)"],
    ["s", "string"],
    ["b", "boolean"],
    ["day", "date"],
    ["seen", "timestamp"],
    ["local", "timestamp_ntz"],
    ["raw", "binary"],
    ["arr", "array<int>"],
    ["st", "struct<a:int,b:string>"],
    ["mp", "map<string,int>"],
]
_WITH_NULL = [1, None, 3]
_VALUES: dict[str, tuple[Any, ...]] = {
    "bigint": (1, 1, 2, 2, 3, None),
    "int": (-3, 0, 0, 1, 2, 3, 4, None),
    "smallint": (-32768, -1, 0, 1, 300, None),
    "tinyint": (-128, -1, 0, 1, 127, None),
    "double": (-2.0, 0.0, 1.0, 4.0, 1e12, None),
    "decimal(12,2)": ("-1.25", "0.00", "0.50", "2.00", "9999999999.99", None),
    "string": ("", "a", "ab", "A b", "7", "12", "x1", "2021-02-30", "ü€", None),
    "boolean": (True, False, None),
    "date": ("1969-12-31", "2024-02-29", "2023-10-29", "1700-01-01", None),
    "timestamp_ntz": ("2023-03-26T02:30:00", "1969-12-31T23:59:59.999999", "2000-01-01T00:00:00", None),
    "binary": ("", "00ff", "6162", None),
    "array<int>": ([], [1], _WITH_NULL, [0, 2, 4, 6], None),
    "struct<a:int,b:string>": ({"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 0, "b": None}, None),
    "map<string,int>": ([], [["k", 1]], [["k", None], ["l", 2]], None),
}


def moment(name: str) -> int:
    """Microseconds since 1970.

    >>> moment("over 1970")
    -15000000
    """
    return (dt.datetime.fromisoformat(MOMENTS[name]) - EPOCH) // dt.timedelta(microseconds=1)


def draw_stream(random: Random, name: str) -> StreamDef:
    """A stream with some columns of any type."""
    chosen = random.sample(OPTIONAL, random.randint(2, 6))
    return StreamDef(name, [*ALWAYS, *chosen, ["ts", "timestamp"]], random.choice((0.0, 1.0, 2.0, 3.5)))


def draw_value(random: Random, kind: str, clock: int) -> Any:
    if kind == "timestamp":
        return random.choice((clock, clock - 3600 * SECOND, clock + 1, -1, None))
    return random.choice(_VALUES[kind])


def draw_rows(
    random: Random, stream: StreamDef, clock: int, count: int, late: bool = True, nulls: bool = True
) -> tuple[list[Row], int]:
    """Rows whose event times go forward, with ties, and out of order; where the clock is then.

    Some are late by seconds, lack an event time or have one in the future if `late` says so, and some have arrays with
    nulls in them.
    """
    delay = round(stream.watermark * SECOND)
    back = [each for each in (0, 0, 0, 1, 500_000, delay, delay + 1, 9 * SECOND) if late or each <= delay]
    rows: list[Row] = []
    for _ in range(count):
        clock += random.choice((0, 0, 500_000, SECOND, SECOND, 1_500_000))
        time: int | None = clock - random.choice(back)
        if late and random.random() < 0.03:
            time = random.choice((None, FUTURE))
        row = [draw_value(random, kind, clock) for _, kind in stream.columns[:-1]]
        if not nulls:
            row = [[each or 0 for each in value] if value == _WITH_NULL else value for value in row]
        rows.append([*row, time])
        if random.random() < 0.05:
            rows.append(list(rows[-1]))
    return rows, clock


def to_python(value: Any, kind: str) -> Any:
    """A value as Python has it.

    >>> to_python("1.25", "decimal(12,2)"), to_python("00ff", "binary"), to_python(-1, "timestamp").second
    (Decimal('1.25'), b'\\x00\\xff', 59)
    """
    if value is None:
        return None
    match kind:
        case "decimal(12,2)":
            return Decimal(value)
        case "date":
            return dt.date.fromisoformat(value)
        case "timestamp":
            return EPOCH + dt.timedelta(microseconds=value)
        case "timestamp_ntz":
            return dt.datetime.fromisoformat(value)
        case "binary":
            return bytes.fromhex(value)
        case "map<string,int>":
            return [tuple(pair) for pair in value]
    return value


def to_arrow(stream: StreamDef, rows: Sequence[Row]) -> pa.Table:
    """Rows as a table of the stream's types."""
    columns = []
    for number, (_, kind) in enumerate(stream.columns):
        values = [to_python(row[number], kind) for row in rows]
        columns.append(pa.array(values, ARROW[kind]))
    return pa.Table.from_arrays(columns, names=stream.names)
