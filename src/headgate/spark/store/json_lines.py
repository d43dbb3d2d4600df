"""Converts tables to JSON lines and back, also types that JSON lacks.

Timestamps and dates become ISO 8601 texts, decimals and floats that are not finite texts, binary values base64.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa


def to_lines(table: pa.Table) -> bytes:
    r"""One line per row.

    >>> to_lines(pa.table({"a": [1, None], "b": [0.5, math.inf]}))
    b'{"a":1,"b":0.5}\n{"a":null,"b":"Infinity"}\n'
    """
    return b"".join(line(row).encode() + b"\n" for row in table.to_pylist())


def line(value: Any) -> str:
    """One value as JSON without line breaks."""
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def from_lines(lines: Iterable[bytes], schema: pa.Schema | None = None) -> pa.Table:
    """The table of JSON lines; without a schema the types are those that JSON shows.

    >>> from_lines([b'{"a":1}', b'{"a":2}'])["a"].to_pylist()
    [1, 2]
    """
    rows = [json.loads(text) for text in lines]
    return pa.Table.from_pylist(rows) if schema is None else from_plain(rows, schema)


def from_plain(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table of rows that were parsed from JSON, with the types of a schema."""
    columns = [pa.array(_column(rows, column), column.type) for column in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(rows: Sequence[Mapping[str, Any]], column: Any) -> Iterator[Any]:
    return (_typed(row.get(column.name), column.type) for row in rows)


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
    return str(value)


def _typed(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_timestamp(kind):
        return datetime.datetime.fromisoformat(value)
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return base64.b64decode(value)
    return _nested(value, kind)


def _nested(value: Any, kind: Any) -> Any:
    if pa.types.is_map(kind):
        return [(_typed(key, kind.key_type), _typed(item, kind.item_type)) for key, item in value]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_typed(item, kind.value_type) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: _typed(value.get(field.name), field.type) for field in kind}
    if pa.types.is_duration(kind):
        return datetime.timedelta(seconds=value)
    if pa.types.is_time(kind):
        return datetime.time.fromisoformat(value)
    return value
