from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Stream
from headgate.spark.ingest.parsing.records import conform, rows_of, to_table

from .builders import PLAIN, STREAM

NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
RICH = Stream(
    name="r",
    schema=(
        ("id", "int"),
        ("price", "decimal(6,2)"),
        ("day", "date"),
        ("data", "binary"),
        ("tags", "array<string>"),
        ("at", "struct<x: double, y: double>"),
        ("more", "map<string, bigint>"),
        ("ts", "timestamp"),
    ),
)

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.decimals()
times = st.datetimes(timezones=st.none() | st.timezones()) | st.dates() | st.binary(max_size=4)
values = st.recursive(
    leaves | times, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
dicts = st.dictionaries(st.sampled_from(RICH.columns) | st.text(max_size=3), values, max_size=9)
texts = st.text(max_size=20) | st.dictionaries(st.sampled_from(RICH.columns), leaves).map(
    lambda record: json.dumps(record, default=str)
)


def read_value(value: Any, name: str, stream: Stream = STREAM) -> Any:
    rows, bad = to_table([{name: value}], stream)
    assert not bad
    return rows[name].to_pylist()[0]


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), Decimal(3)])
def test_a_whole_number_is_a_bigint(value: object) -> None:
    assert read_value(value, "id") == 3


@pytest.mark.parametrize("value", ["abc", "3", 3.5, True, 1 << 63, float("nan"), float("inf"), [3], {}])
def test_anything_else_is_not(value: object) -> None:
    rows, bad = to_table([{"id": value}], STREAM)
    assert rows.num_rows == 0
    assert "column 'id'" in bad[0][1]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("temp", "1.5"),
        ("temp", True),
        ("name", 3),
        ("ok", 1),
        ("ok", "true"),
        ("ts", "noon"),
        ("ts", 1e15),
        ("ts", False),
    ],
)
def test_wrong_types_are_bad(column: str, value: object) -> None:
    rows, bad = to_table([{"id": 1, column: value}], STREAM)
    assert (rows.num_rows, len(bad)) == (0, 1)


@pytest.mark.parametrize(
    "value",
    [
        NOON.isoformat(),
        "2024-01-01T12:00:00Z",
        "2024-01-01 12:00:00",
        "2024-01-01T14:00:00+02:00",
        NOON.timestamp(),
        int(NOON.timestamp()),
        NOON,
        NOON.replace(tzinfo=None),
    ],
)
def test_a_moment_can_be_written_in_several_ways(value: object) -> None:
    assert read_value(value, "ts") == NOON


def test_absent_fields_are_null_and_unknown_ones_are_left_out() -> None:
    rows, bad = to_table(['{"id": 1, "colour": "red"}', {"name": None}], PLAIN)
    assert rows.to_pylist() == [{"id": 1, "name": None}, {"id": None, "name": None}]
    assert not bad


@pytest.mark.parametrize(
    "record", ["{", "[1]", "3", "", "{}", '{"colour": 1}', "[" * 100_000, "1" * 10_000, '{"name": "\\ud800"}']
)
def test_text_that_is_no_record_is_bad_with_its_text(record: str) -> None:
    rows, bad = to_table([record], PLAIN)
    assert (rows.num_rows, bad[0][0]) == (0, record)
    assert bad[0][1]


def test_raw_text_of_a_mapping_can_be_read_again() -> None:
    _, bad = to_table([{"id": "x", "name": "n"}], PLAIN)
    assert json.loads(bad[0][0]) == {"id": "x", "name": "n"}


def test_other_types() -> None:
    record = {
        "id": 1,
        "price": "12.50",
        "day": "2024-01-01",
        "data": "aGk=",
        "tags": ["a", None],
        "at": {"x": 1, "z": 2},
        "more": {"k": 3},
    }
    assert to_table([record], RICH)[0].to_pylist() == [
        {
            "id": 1,
            "price": Decimal("12.50"),
            "day": datetime.date(2024, 1, 1),
            "data": b"hi",
            "tags": ["a", None],
            "at": {"x": 1.0, "y": None},
            "more": [("k", 3)],
            "ts": None,
        }
    ]


@given(st.lists(dicts | texts, max_size=8))
def test_every_record_is_a_row_or_bad(records: list[dict[str, object] | str]) -> None:
    rows, bad = to_table(records, RICH)
    assert rows.num_rows + len(bad) == len(records)
    for raw, reason in bad:
        assert (raw + reason).encode() is not None
    rows.validate(full=True)


@given(st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.text(st.characters(exclude_categories=["Cs"])))))
def test_good_records_come_back(pairs: list[tuple[int, str]]) -> None:
    records = [{"id": number, "name": name} for number, name in pairs]
    rows, bad = to_table([json.dumps(record) for record in records], PLAIN)
    assert rows.to_pylist() == records
    assert not bad


def test_a_foreign_table_conforms_by_columns_or_row_by_row() -> None:
    schema = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])
    nanos = pa.array([1_000_000_001], pa.timestamp("ns"))
    rows, bad = conform(pa.table({"ts": nanos, "id": pa.array([1], pa.int64()), "other": [0]}), schema)
    assert (rows.schema, bad) == (schema, [])
    rows, bad = conform(pa.table({"id": [1.0, 1.5, 2.0]}), schema)
    assert (rows["id"].to_pylist(), len(bad)) == ([1, 2], 1)
    rows, bad = conform(pa.table({"ts": [1, 2]}), schema)  # seconds, not microseconds
    assert rows["ts"].cast(pa.int64()).to_pylist() == [1_000_000, 2_000_000]


def test_a_foreign_table_of_other_columns_is_bad() -> None:
    rows, bad = conform(pa.table({"x": [1, 2]}), pa.schema([("id", pa.int64())]))
    assert (rows.num_rows, len(bad)) == (0, 2)


def test_a_moment_that_python_lacks_spoils_its_row_only() -> None:
    late = pa.array([0, 1 << 60, 1], pa.timestamp("us"))
    table = pa.table({"id": pa.array(["a", "b", "c"]), "ts": late})
    rows, bad = conform(table, pa.schema([("id", pa.int64()), ("ts", pa.timestamp("us", "UTC"))]))
    assert (rows.num_rows, len(bad)) == (0, 3)


def test_nothing_gives_an_empty_table() -> None:
    schema = pa.schema([("id", pa.int64())])
    assert rows_of([], schema) == (schema.empty_table(), [])


def test_a_decimal_column_keeps_every_digit_that_was_written() -> None:
    kind = pa.decimal128(20, 2)
    schema = pa.schema([("d", kind), ("all", pa.list_(kind)), ("near", pa.float64())])
    line = '{"d": 123456789012345678.91, "all": [123456789012345678.91, 0.1, 7], "near": 0.1}'
    table, bad = rows_of([line, '{"d": 0.123}', '{"d": 1e400}'], schema)
    assert table.to_pylist() == [
        {
            "d": Decimal("123456789012345678.91"),
            "all": [Decimal("123456789012345678.91"), Decimal("0.10"), Decimal("7.00")],
            "near": 0.1,
        }
    ]
    assert len(bad) == 2  # a digit more than the column has, and far too large
