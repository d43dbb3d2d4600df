"""Schemas: declared columns as Spark's types and as the Arrow types of the logs; the names of hidden columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    ArrayType,
    DataType,
    GeographyType,
    GeometryType,
    MapType,
    NullType,
    StructField,
    StructType,
    TimeType,
)

from headgate.model import HeadgateError, Stream, Table
from headgate.spark.compile.arrow_types import to_arrow
from headgate.spark.compile.type_names import is_no_type, plain_type
from headgate.spark.jvm.errors import first_line

OFFSET, ARRIVAL, LATE = "_offset", "_arrival", "_late"  # of a tuple in its log
CLOSES = "_closes"  # the end of the window that a result belongs to, or null
FROM = "_from"  # the tuples that a row was made of
FAILED = "_failed"  # why a row has no result; null for all others
ORIGINS = pa.list_(pa.struct([("stream", pa.string()), ("offset", pa.int64())]))  # the type of FROM
_UNKNOWN = (GeographyType, GeometryType, TimeType)  # to files that executors read, or to windows
_HINT = "write for example id bigint, temp double, ts timestamp"


def spark_schema(of: Stream | Table) -> StructType:
    """The declared columns as Spark's types; other than plain ones need a running Spark, whose parser reads them."""
    if not of.schema:
        raise HeadgateError(f"'{of.name}' has no schema", hint=_HINT)
    return StructType([StructField(name, _type(of.name, name, text)) for name, text in of.schema])


def arrow_schema(stream: Stream) -> pa.Schema:
    """The columns of a stream as its log keeps them, timestamps in microseconds UTC."""
    schema = spark_schema(stream)
    _check_names(stream)
    _check_event_time(stream, schema)
    return pa.schema([_kept(stream.name, *declared) for declared in zip(schema, stream.schema, strict=True)])


def _kept(owner: str, column: StructField, declared: tuple[str, str]) -> pa.Field:
    """A column as a log keeps it."""
    what = f"column '{column.name}' of '{owner}' has the type '{declared[1]}'"
    for part in parts_of(column.dataType):
        if isinstance(part, _UNKNOWN):
            raise HeadgateError(f"{what}, which streams do not have", hint=_HINT)
        if any(isinstance(inner, NullType) for inner in _inner(part)):
            raise HeadgateError(f"{what}, in which nothing can be", hint=_HINT)
    try:
        field = to_arrow(StructType([column])).field(0)
    except (PySparkException, ValueError, pa.ArrowException) as error:
        raise HeadgateError(f"{what}, which Arrow lacks: {first_line(error)}", hint=_HINT) from None
    try:
        check_result(pa.schema([field]))
    except HeadgateError as error:
        raise HeadgateError(f"{what}: {error.message}", hint=_HINT) from None
    return field


def parts_of(kind: DataType) -> Iterator[DataType]:
    """A type and all types in it."""
    yield kind
    for inner in _inner(kind):
        yield from parts_of(inner)


def _inner(kind: DataType) -> list[DataType]:
    if isinstance(kind, ArrayType):
        return [kind.elementType]
    if isinstance(kind, MapType):
        return [kind.keyType, kind.valueType]
    return [field.dataType for field in kind] if isinstance(kind, StructType) else []


def with_hidden(schema: pa.Schema) -> pa.Schema:
    """The columns of a log: the stream's, and each tuple's offset, arrival and whether it was late."""
    hidden = [pa.field(OFFSET, pa.int64()), pa.field(ARRIVAL, pa.float64()), pa.field(LATE, pa.bool_())]
    return pa.schema([*schema, *hidden])


def result_schema(schema: pa.Schema) -> pa.Schema:
    """The columns that a run gives: the query's, the arrival of the latest tuple, the end of the window."""
    return schema.append(pa.field(ARRIVAL, pa.float64())).append(pa.field(CLOSES, pa.timestamp("us", "UTC")))


@lru_cache(maxsize=4096)
def _schema_of(data: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(data))


def interned(schema: pa.Schema) -> pa.Schema:
    """The one object for all schemas that are equal to this: members of a group are told apart by it, not by columns.

    >>> interned(pa.schema([("v", pa.int64())])) is interned(pa.schema([("v", pa.int64())]))
    True
    """
    return _schema_of(schema.serialize().to_pybytes())


def check_result(schema: pa.Schema) -> None:
    """Refuse structs that no file can hold: without fields, or with two fields of one name."""
    for column in schema:
        _check_structs(column.name, column.type)


def _check_structs(column: str, kind: pa.DataType) -> None:
    inner = [kind.field(number) for number in range(kind.num_fields)]
    names = [field.name.lower() for field in inner]
    if pa.types.is_struct(kind) and (not names or len(set(names)) < len(names)):
        problem = "has no fields" if not names else f"has two fields of one name: {', '.join(names)}"
        hint = "name them apart: named_struct('a', x, 'b', y)"
        raise HeadgateError(f"column '{column}' holds a struct that {problem}", hint=hint)
    for field in inner:
        _check_structs(column, field.type)


def unique(names: Iterable[str]) -> list[str]:
    """Names made unique, as files need them.

    >>> unique(["id", "ts", "id", "id"])
    ['id', 'ts', 'id_2', 'id_3']
    """
    taken: list[str] = []
    for name in names:
        candidate, count = name, 1
        while candidate in taken:
            count += 1
            candidate = f"{name}_{count}"
        taken.append(candidate)
    return taken


def check_types(of: Stream | Table) -> bool:
    """Refuse types that are certainly none; tells whether all others are known without Spark."""
    for name, text in of.schema:
        if is_no_type(text):
            raise _no_type(of.name, name, text)
    return all(plain_type(text) is not None for _, text in of.schema)


def _type(owner: str, column: str, text: str) -> DataType:
    try:
        found = _read(text)
    except PySparkException:
        raise _no_type(owner, column, text) from None
    if isinstance(found, StructType) and not text.lstrip().lower().startswith("struct"):
        raise _no_type(owner, column, text)  # Spark reads "v int" as a table with a column
    return found


def _no_type(owner: str, column: str, text: str) -> HeadgateError:
    return HeadgateError(f"column '{column}' of '{owner}' has no type '{text}'", hint=_HINT)


@cache
def _read(text: str) -> DataType:
    """Cached, since Spark's parser takes a millisecond and every query asks for the same few types."""
    plain = plain_type(text)
    return DataType.fromDDL(text) if plain is None else plain


def _check_names(stream: Stream) -> None:
    for name in stream.columns:
        if name.startswith("_"):
            hint = "names that begin with _ are Headgate's own: rename it"
            raise HeadgateError(f"stream '{stream.name}' has a column '{name}'", hint=hint)


def _check_event_time(stream: Stream, schema: StructType) -> None:
    if stream.event_time is None:
        return
    if stream.event_time not in stream.columns:
        raise HeadgateError(
            f"stream '{stream.name}' has no column '{stream.event_time}' to be its event time",
            hint=f"use one of {', '.join(stream.columns)}",
        )
    kind = schema[stream.event_time].dataType.typeName()
    if kind != "timestamp":
        hint = "declare it as timestamp"
        raise HeadgateError(f"event time '{stream.event_time}' of '{stream.name}' is {kind}", hint=hint)
