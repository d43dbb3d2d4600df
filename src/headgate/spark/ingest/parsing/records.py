"""Turns records (JSON texts or mappings) and Arrow tables with any columns into rows of a stream.

A field that is absent is null, and a field that the stream does not have is left out. A record with none of the
stream's columns is bad: its names must be wrong. A row without an event time is rejected later, by the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import Stream, times
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.ingest.parsing.cells import Cell, CellError, WrittenFloat, cell, shown
from headgate.spark.store import json_lines

Bad = tuple[str, str]  # the text as it came, and why it is no row
Read = tuple[pa.Table, list[Bad]]  # rows, and tuples that are none

OTHER_YEAR = "a time outside the years 1 to 9999, or a time of day outside a day"  # if no column says so itself

schema_of = lru_cache(maxsize=256)(arrow_schema)  # cached because Spark parses the types, which takes a millisecond


def to_table(records: Iterable[Mapping[str, object] | str], stream: Stream) -> Read:
    """The rows of records (JSON texts or mappings), and text and reason of the records that are no rows.

    Strict: "3" is no bigint, 3.0 is one, 3.5 is not. Timestamps are ISO 8601 text, seconds since 1970, or datetimes;
    without a zone they are UTC.
    """
    return rows_of(records, schema_of(stream))


def rows_of(records: Iterable[Any], schema: pa.Schema, cells: Callable[[Any], Cell] = cell) -> Read:
    """The same for an Arrow schema.

    >>> rows, bad = rows_of(['{"a": 1}', '{"a": "x"}', "{"], pa.schema([("a", pa.int64())]))
    >>> rows.to_pylist(), [reason for _, reason in bad]
    ([{'a': 1}], ["column 'a': 'x' is not a whole number", 'broken JSON: Expecting property name enclosed in double quotes at 2'])
    """  # noqa: E501
    columns = {field.name: cells(field.type) for field in schema}
    rows: list[list[Any]] = []
    bad: list[Bad] = []
    for record in records:
        try:
            rows.append(_row(record, columns))
        except CellError as error:
            bad.append((raw_text(record), _clean(str(error))))
    return _table(rows, schema), bad


def conform(table: Any, schema: pa.Schema) -> Read:
    """The rows of a table, converted to a schema: whole columns at once if their types fit, else row by row."""
    try:
        if not set(schema.names) & set(table.schema.names):
            raise _MisfitError
        columns = [_cast(table, field) for field in schema]
    except (pa.ArrowException, _MisfitError):
        return _row_by_row(table, schema)
    return pa.Table.from_arrays(columns, schema=schema), []


def within_years(table: pa.Table, schema: pa.Schema) -> Read:
    """The rows of a table whose times all lie in the years 1 to 9999, and text and reason of the others.

    >>> at = pa.table({"at": pa.array([0, 1 << 60], pa.timestamp("us", "UTC"))})
    >>> rows, bad = within_years(at, at.schema)
    >>> rows.num_rows, bad[0][0]
    (1, '{"at":"+38504-08-17T21:30:06.846976+00:00"}')
    """
    known = _known(table, schema)
    names = [field.name for field in schema if times.has_times(field.type) and field.name in known.column_names]
    outside = {place for name in names for place in times.outside_years(known[name])}
    if not outside:
        return table, []
    kept = np.ones(table.num_rows, bool)
    kept[list(outside)] = False
    mask = pa.array(kept)
    refused = _records(known.filter(pc.invert(mask)))
    return table.filter(mask), [(rows_of([row], schema)[1] or [(raw_text(row), OTHER_YEAR)])[0] for row in refused]


def raw_text(record: Any) -> str:
    """A record as text that any file can hold."""
    try:
        text = record if isinstance(record, str) else json_lines.line(record)
    except Exception:  # it may hold anything at all, itself included
        text = shown(record)
    return _clean(text)


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


class _MisfitError(Exception):
    """A column whose type cannot be cast as a whole."""


def _row(record: Any, columns: Mapping[str, Cell]) -> list[Any]:
    fields = _parsed(record) if isinstance(record, str) else record
    if not isinstance(fields, Mapping):
        raise CellError(f"not an object: {shown(fields)}")
    if not any(name in fields for name in columns):
        raise CellError(f"has none of the columns {', '.join(columns)}")
    return [_value(name, read, fields.get(name)) for name, read in columns.items()]


def _value(name: str, read: Cell, value: Any) -> Any:
    try:
        return read(value)
    except CellError as error:
        raise CellError(f"column '{name}': {error}") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_float=WrittenFloat)
    except json.JSONDecodeError as error:
        raise CellError(f"broken JSON: {error.msg} at {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, a thousand brackets
        raise CellError(f"JSON that cannot be read: {error}") from None


def _table(rows: list[list[Any]], schema: pa.Schema) -> pa.Table:
    if not rows:
        return schema.empty_table()
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _cast(table: Any, field: Any) -> Any:
    indices = table.schema.get_all_field_indices(field.name)
    if not indices:
        return pa.nulls(table.num_rows, field.type)
    column = table.column(indices[0])
    if column.type == field.type:
        return column
    if _family(column.type) is None or _family(column.type) != _family(field.type):
        raise _MisfitError
    # Nanoseconds are cut off, as Spark has none; any other cast must lose nothing.
    return column.cast(field.type, safe=not (pa.types.is_timestamp(column.type) and column.type.unit == "ns"))


def _family(kind: Any) -> str | None:
    """Types of the same family may be cast by Arrow: then the result is the same as that of `cell`.

    A timestamp and a number are of different families, since Arrow would count microseconds and `cell` seconds.
    """
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    return "time" if types.is_timestamp(kind) else None


def _known(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a stream that a table has; those of times are cast to the stream's types if they can be."""
    columns = {}
    for field in schema:
        indices = table.schema.get_all_field_indices(field.name)
        if len(indices) != 1:
            continue
        columns[field.name] = column = table.column(indices[0])
        if times.has_times(field.type) and column.type != field.type:
            with suppress(pa.ArrowException):  # what does not fit is refused by the log, in its own words
                columns[field.name] = column.cast(field.type)
    return pa.table(columns)


def _row_by_row(table: Any, schema: pa.Schema) -> Read:
    indices = [table.schema.get_all_field_indices(name) for name in schema.names]
    wanted = [same_name[0] for same_name in indices if same_name]
    return rows_of(_records(table.select(wanted) if wanted else table), schema)


def _records(table: Any) -> list[Any]:
    """The rows as mappings; a row with a value that Python cannot hold (a nanosecond) is its text in a list."""
    try:
        return times.rows(table)
    except (ValueError, OverflowError):
        if table.num_rows == 1:
            return [[str(table.slice(0, 1))]]
        half = table.num_rows // 2
        return _records(table.slice(0, half)) + _records(table.slice(half))
