"""Spark's types as Arrow's and back: nothing is lost, whatever becomes of a table on the way. Without Spark."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VariantType,
)

from headgate.model import Stream
from headgate.spark.compile.arrow_types import note, notes, to_arrow, to_spark
from headgate.spark.compile.join_keys import comparable
from headgate.spark.compile.quick_frames import arrow_types
from headgate.spark.compile.schemas import interned, result_schema, with_hidden
from headgate.spark.store.log.segments import from_arrow as from_ipc
from headgate.spark.store.log.segments import to_arrow as to_ipc
from headgate.spark.store.log.stream_log import StreamLog

TOLD: tuple[DataType, ...] = (  # of which Arrow's type says all
    *(BooleanType(), ByteType(), ShortType(), IntegerType(), LongType(), FloatType(), DoubleType(), BinaryType()),
    *(DateType(), TimestampType(), TimestampNTZType(), StringType(), DecimalType(5, 2), DecimalType(38, 38)),
    *(TimeType(6), DayTimeIntervalType(0, 3), NullType()),
)
COLLATIONS = ("UTF8_LCASE", "UNICODE", "UNICODE_CI", "UNICODE_CI_AI", "de_CI", "UTF8_BINARY_RTRIM", "UNICODE_CI_RTRIM")
INTERVALS = [(first, last) for first in range(4) for last in range(first, 4) if (first, last) != (0, 3)]
NOTED: tuple[DataType, ...] = (
    *map(StringType, COLLATIONS),
    *map(TimeType, (0, 3, 9)),
    *(DayTimeIntervalType(first, last) for first, last in INTERVALS),
    *(VariantType(), GeometryType(4326), GeometryType(3857), GeometryType("ANY"), GeographyType(4326)),
    GeographyType("ANY"),
)
NAMES = st.text("ab.`_ é", min_size=1, max_size=3) | st.sampled_from(["element", "key", "value", "metadata", "wkb"])


def _nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    keys = inner.filter(lambda kind: not isinstance(kind, NullType))
    fields = st.builds(_field, NAMES, inner, st.booleans())
    return (
        st.builds(lambda kind, nullable: ArrayType(kind, _nullable(kind, nullable)), inner, st.booleans())
        | st.builds(
            lambda key, kind, nullable: MapType(key, kind, _nullable(kind, nullable)), keys, inner, st.booleans()
        )
        | st.lists(fields, min_size=1, max_size=3, unique_by=lambda field: field.name).map(StructType)
    )


def _field(name: str, kind: DataType, nullable: bool) -> StructField:
    return StructField(name, kind, _nullable(kind, nullable))


def _nullable(kind: DataType, nullable: bool) -> bool:
    """Arrow has no column of nulls that is never null."""
    return nullable or isinstance(kind, NullType)


TYPES = st.recursive(st.sampled_from(TOLD + NOTED), _nested, max_leaves=6)
SCHEMAS = st.lists(TYPES, min_size=1, max_size=4).map(
    lambda kinds: StructType([StructField(f"c{number}", kind) for number, kind in enumerate(kinds)])
)


@given(schema=SCHEMAS)
@settings(max_examples=500)
def test_a_schema_comes_back_as_it_was(schema: StructType) -> None:
    arrow = to_arrow(schema)
    assert to_spark(arrow) == schema
    assert to_spark(interned(arrow)) == schema  # also through bytes, as they are stored
    spark, shipped, text = arrow_types(arrow)
    assert spark == schema == StructType.fromJson(json.loads(text))
    assert shipped == arrow  # to Arrow, for which notes do not count


@pytest.mark.parametrize("kind", TOLD + NOTED, ids=str)
def test_only_what_arrow_does_not_tell_is_noted(kind: DataType) -> None:
    around = [kind, ArrayType(kind), StructType([StructField("a", LongType()), StructField("b", kind)])]
    around += [MapType(LongType(), kind)]
    around += [] if isinstance(kind, NullType) else [MapType(kind, LongType())]
    for each in around:
        (found,) = notes(to_arrow(StructType([StructField("c", each)])))
        assert (found is not None) == (kind in NOTED), each


WAYS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "selected": lambda table: table.select(table.column_names[::-1]).select(table.column_names),
    "renamed": lambda table: table.rename_columns([f"x{n}" for n, _ in enumerate(table.column_names)]).rename_columns(
        table.column_names
    ),
    "joined": lambda table: pa.concat_tables([table, table.slice(0, 0), table]),
    "filtered": lambda table: table.filter(pa.array([True] * table.num_rows, pa.bool_())),
    "taken": lambda table: table.take(pa.array(range(table.num_rows), pa.int64())),
    "combined": lambda table: table.combine_chunks(),
    "extended": lambda table: table.append_column("_offset", pa.nulls(table.num_rows)).drop_columns(["_offset"]),
    "cast": lambda table: table.cast(table.schema),
    "sent": lambda table: from_ipc(to_ipc(table)),
    "of plain columns": lambda table: pa.table(table.columns, names=table.column_names).cast(table.schema),
}


@pytest.mark.parametrize("way", WAYS)
@given(schema=SCHEMAS)
@settings(max_examples=60)
def test_notes_stay_with_their_columns(way: str, schema: StructType) -> None:
    table = pa.Table.from_pylist([{}, {}], to_arrow(schema))
    changed = WAYS[way](table)
    assert to_spark(changed.schema) == schema
    assert notes(changed.schema) == notes(table.schema)


def logged(folder: Path, schema: pa.Schema, seal_rows: int = 100) -> StreamLog:
    return StreamLog.open(folder / "s", Stream(name="s"), schema, seal_rows=seal_rows)


def tables(log: StreamLog) -> list[pa.Table]:
    """What is read of a log in the ways that runs read it."""
    return [log.read(log.start, log.end), log.read(log.end, log.end), log.read_window(0, log.end, 0, 1)]


@given(schema=SCHEMAS)
@settings(max_examples=30)
def test_notes_stay_with_the_columns_of_a_log(schema: StructType) -> None:
    """In its tail, in sealed files, in both, and after they are read again, also without the stream's declaration."""
    arrow = to_arrow(schema)
    wanted = notes(with_hidden(arrow))
    rows = pa.Table.from_pylist([{}, {}], arrow).cast(arrow)
    with tempfile.TemporaryDirectory() as folder:
        log = logged(Path(folder), arrow)
        found = tables(log)
        for turn in range(3):
            log.append(rows, float(turn))
            found += tables(log)
            if turn < 2:
                log.seal()
                found += tables(log)
        log.close()
        for again in (logged(Path(folder), arrow), StreamLog.reopen(Path(folder) / "s")):
            found += tables(again)
            assert again.schema.equals(arrow, check_metadata=True)
            again.close()
    assert [notes(table.schema) for table in found] == [wanted] * len(found)
    assert all(to_spark(table.schema).fields[: len(schema)] == schema.fields for table in found)


def test_the_rows_of_a_log_that_was_made_without_notes_have_them(tmp_path: Path) -> None:
    schema = StructType([StructField("n", LongType()), StructField("t", StringType("UTF8_LCASE"))])
    noted = to_arrow(schema)
    plain = pa.schema([("n", pa.int64()), ("t", pa.string())])
    log = logged(tmp_path, plain)
    for turn in range(3):
        log.append(pa.table({"n": [turn], "t": ["a"]}), float(turn))
        if turn == 1:
            log.seal()
    log.close()
    log = logged(tmp_path, noted)
    log.append(pa.table({"n": [3], "t": ["A"]}), 4.0)
    assert {notes(table.schema) for table in tables(log)} == {notes(with_hidden(noted))}
    assert log.read(0, 4)["n"].to_pylist() == [0, 1, 2, 3]
    assert {notes(log.read(n, n + 1).schema)[:2] for n in range(4)} == {notes(noted)}
    log.close()


def test_what_is_kept_by_schema_tells_equal_types_of_arrow_apart() -> None:
    plain, lower, upper = (
        to_arrow(StructType([StructField("t", StringType(name))])) for name in ("UTF8_BINARY", "UTF8_LCASE", "UNICODE")
    )
    assert plain == lower == upper  # to Arrow
    assert len({id(interned(schema)) for schema in (plain, lower, upper)}) == 3
    assert [arrow_types(schema)[0]["t"].dataType.simpleString() for schema in (plain, lower, upper)] == [
        "string",
        "string collate UTF8_LCASE",
        "string collate UNICODE",
    ]
    assert notes(result_schema(lower)) == (*notes(lower), None, None)


@pytest.mark.parametrize("kind", [StringType("UTF8_LCASE"), StringType("UTF8_BINARY_RTRIM")], ids=str)
def test_arrow_compares_no_texts_with_a_collation(kind: DataType) -> None:
    plain, collated = (to_arrow(StructType([StructField("t", each)])) for each in (StringType(), kind))
    assert note(collated.field("t")) is not None
    assert comparable([("t", "t")], plain, plain)
    assert not comparable([("t", "t")], collated, collated)
    assert not comparable([("t", "t")], plain, collated)
    assert not comparable([("t", "t")], collated, plain)
