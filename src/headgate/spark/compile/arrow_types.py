"""Spark's types and Arrow's. What Arrow's type of a column does not say of Spark's goes with the column, as a note.

Arrow has one type of texts, whatever their collation is, and one of intervals. Spark would read `string collate
UTF8_LCASE` as `string`, and find less equal than a batch does. So where one of Arrow's types is that of several of
Spark's, the field of an Arrow schema has Spark's type in its metadata. Rows go to Spark with the types of `to_spark`.

To Arrow two schemas are equal whose notes differ: whatever is kept by schema must be kept by `notes` too.
"""

from __future__ import annotations

import json
from functools import lru_cache

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    GeographyType,
    GeometryType,
    MapType,
    StructField,
    StructType,
    VariantType,
)

Note = bytes | None
_NOTE = b"headgate.spark"


def to_arrow(schema: StructType) -> pa.Schema:
    """A schema of Spark as Arrow's, with notes; timestamps are UTC.

    >>> from pyspark.sql.types import StringType
    >>> columns = StructType([StructField("a", StringType()), StructField("b", StringType("UTF8_LCASE"))])
    >>> [note is not None for note in notes(to_arrow(columns))], to_spark(to_arrow(columns)) == columns
    ([False, True], True)
    """
    fields = zip(plain(schema), schema, strict=True)
    return pa.schema([field if _told(column.dataType) else _noted(field, column.dataType) for field, column in fields])


def plain(schema: StructType) -> pa.Schema:
    """The same without notes, as results have it; what is in lists, structs and maps may be null.

    Spark tells of `named_struct('n', 1)` that its field is never null. Arrow cannot cast a null struct to such a type.
    """
    return pa.schema([field.with_type(_nullable(field.type)) for field in to_arrow_schema(schema, timezone="UTC")])


def to_spark(schema: pa.Schema) -> StructType:
    """An Arrow schema as Spark's, by its types and notes."""
    return _to_spark(schema, notes(schema))


def notes(schema: pa.Schema) -> tuple[Note, ...]:
    """The note of each field, or None."""
    return tuple(map(note, schema))


def note(field: pa.Field) -> Note:
    """What Arrow's type does not say of a field; None: it says all."""
    found: Note = (field.metadata or {}).get(_NOTE)
    return found


@lru_cache(maxsize=1000)
def _to_spark(schema: pa.Schema, said: tuple[Note, ...]) -> StructType:
    fields = zip(from_arrow_schema(schema), said, strict=True)
    return StructType([field if text is None else _as_said(field, text) for field, text in fields])


def _noted(field: pa.Field, kind: DataType) -> pa.Field:
    text = StructField("_", kind).json()  # of a field, since the JSON of a type lacks the collations in structs
    return field.with_metadata({**(field.metadata or {}), _NOTE: text.encode()})


def _as_said(field: StructField, text: bytes) -> StructField:
    return StructField(field.name, StructField.fromJson(json.loads(text)).dataType, field.nullable, field.metadata)


def _told(kind: DataType) -> bool:
    """Whether Arrow's type says all of a type."""
    if isinstance(kind, ArrayType):
        return kind.containsNull and _told(kind.elementType)
    if isinstance(kind, MapType):
        return kind.valueContainsNull and _told(kind.keyType) and _told(kind.valueType)
    if isinstance(kind, StructType):
        return all(field.nullable and _told(field.dataType) for field in kind)
    if isinstance(kind, VariantType | GeometryType | GeographyType):  # told by the metadata inside, which are no part
        return False
    return from_arrow_type(to_arrow_type(kind, timezone="UTC")) == kind


def _nullable(kind: pa.DataType) -> pa.DataType:
    """An Arrow type all of whose parts may be null, but keys of maps."""

    def part(field: pa.Field, *, key: bool = False) -> pa.Field:
        return field.with_nullable(not key).with_type(_nullable(field.type))

    if pa.types.is_struct(kind):
        return pa.struct([part(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(part(kind.key_field, key=True), part(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(part(kind.value_field))
    return kind
