"""Rows of results as JSON, fast."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.model import times
from headgate.spark.store.json_lines import line

_WORDS = {True: "true", False: "false"}


def json_rows(table: pa.Table) -> list[str]:
    """Each row as JSON, as `store.json_lines.line` writes it, but column by column, in a fifth of the time.

    >>> json_rows(pa.table({"a": [1, None], "b": [0.5, 2.0], "c": ["x", None]}))
    ['{"a":1,"b":0.5,"c":"x"}', '{"a":null,"b":2.0,"c":null}']
    """
    columns = [_texts(column) for column in table.columns]
    known = [column for column in columns if column is not None]
    names = table.column_names
    if not known or len(known) < len(columns) or len(set(names)) < len(names):
        return [line(row) for row in times.rows(table)]
    fields = ",".join(encode_basestring(name).replace("%", "%%") + ":%s" for name in names)
    template = f"{{{fields}}}"
    return [template % row for row in zip(*known, strict=True)]


def _texts(column: pa.ChunkedArray) -> list[str] | None:
    """The values of a column as JSON; None if they are of a type that needs more care."""
    encode = _encoder(column)
    if encode is None:
        return None
    values = times.values(column)
    if column.null_count:
        return ["null" if value is None else encode(value) for value in values]
    return list(map(encode, values))


def _encoder(column: pa.ChunkedArray) -> Callable[[Any], str] | None:
    kind, types = column.type, pa.types
    if types.is_boolean(kind):
        return _WORDS.__getitem__
    if types.is_integer(kind):
        return str
    if types.is_floating(kind):
        return float.__repr__ if pc.all(pc.is_finite(column)).as_py() is not False else None
    if types.is_string(kind) or types.is_large_string(kind):
        return encode_basestring
    return _iso if types.is_timestamp(kind) or types.is_date(kind) else None


def _iso(value: datetime.date | str) -> str:
    return f'"{value if isinstance(value, str) else value.isoformat()}"'
