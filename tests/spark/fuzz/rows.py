"""Rows with values of every type that the columns of `typed.py` have."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.spark.fuzz.typed import COLUMNS

from headgate.model import Stream
from headgate.spark.compile.schemas import arrow_schema

STREAM = Stream(name="t", schema=COLUMNS, event_time="ts")
BEGIN = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, 2, 3, 3, 7, -5, 2147483647, None),
    "bigint": (0, 1, 3, 1_600_000_000, -(2**63), None),
    "smallint": (0, 1, 300, -32768, None),
    "tinyint": (0, 2, 127, -128, None),
    "double": (0.0, -0.0, 2.5, 9.0, -1e300, float("nan"), float("inf"), None),
    "float": (0.0, 1.5, -2.25, None),
    "decimal(10,2)": (Decimal("12.34"), Decimal("-0.50"), Decimal("0.00"), Decimal("99999999.99"), None),
    "decimal(38,10)": (Decimal("1.5"), Decimal("-9999999999999999999999999999.9999999999"), None),
    "string": ("Spark", "", "7", "3", "2020-02-29", "a,b", "Größe", "x y", '{"u": 1}', "true", "yyyy", None),
    "boolean": (True, False, None),
    "date": (dt.date(2020, 2, 29), dt.date(1969, 12, 31), dt.date(1582, 10, 4), dt.date(9999, 12, 31), None),
    "timestamp_ntz": (dt.datetime(2020, 2, 29, 23, 59, 59, 999999), dt.datetime(1969, 12, 31, 1), None),
    "binary": (b"", b"\x05abc", b"\x00\xff", None),
    "array<int>": ([], [3, 1, 2], [1, None, 0], None),
    "array<string>": (["x", "y"], [], [None, "q"], None),
    "array<float>": ([1.0, 2.0], [0.5, -2.0], None),
    "array<date>": ([dt.date(2020, 2, 29), None], [], None),
    "array<struct<x:int,y:string>>": ([{"x": 1, "y": "a"}, None], [], None),
    "map<string,int>": ([("k", 1)], [("k", None), ("o", 5)], [], None),
    "map<int,array<string>>": ([(1, ["x", None])], [], None),
    "struct<x:int,y:string>": ({"x": 3, "y": "z"}, {"x": None, "y": "7"}, None),
}


def draw_rows(random: Random, count: int) -> list[list[int]]:
    """Rows as the places of their values, so that they can be printed and made fewer."""
    return [[random.randrange(len(VALUES[kind])) for _, kind in COLUMNS[1:-1]] for _ in range(count)]


def to_table(rows: list[list[int]]) -> pa.Table:
    """The rows that places stand for; with a number each, and event times that go forward."""
    schema = arrow_schema(STREAM)
    columns: list[list[Any]] = [list(range(len(rows)))]
    for at, (_, kind) in enumerate(COLUMNS[1:-1]):
        columns.append([VALUES[kind][row[at] % len(VALUES[kind])] for row in rows])
    columns.append([BEGIN + dt.timedelta(seconds=2 * number) for number in range(len(rows))])
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def view_of(spark: SparkSession, name: str, table: pa.Table) -> None:
    """A view of these rows, in the declared types."""
    schema = ", ".join(f"{column} {kind}" for column, kind in COLUMNS)
    spark.createDataFrame(table, schema).createOrReplaceTempView(name)
