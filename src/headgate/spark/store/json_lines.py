"""Converts tables to JSON lines and back, also types that JSON lacks: see `headgate.model.json_values`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headgate.model import times
from headgate.model.json_values import plain, to_arrow


def to_lines(table: pa.Table) -> bytes:
    r"""One line per row.

    >>> to_lines(pa.table({"a": [1, None], "b": [0.5, float("inf")]}))
    b'{"a":1,"b":0.5}\n{"a":null,"b":"Infinity"}\n'
    """
    return b"".join(line(row).encode() + b"\n" for row in times.rows(table))


def line(value: Any) -> str:
    """One value as JSON without line breaks."""
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def from_lines(lines: Iterable[bytes], schema: pa.Schema | None = None) -> pa.Table:
    """The table of JSON lines; without a schema the types are those that JSON shows.

    >>> from_lines([b'{"a":1}', b'{"a":2}'])["a"].to_pylist()
    [1, 2]
    """
    rows = [json.loads(text) for text in lines]
    return pa.Table.from_pylist(rows) if schema is None else from_plain(rows, schema)


def from_plain(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table of rows that were parsed from JSON, with the types of a schema."""
    return to_arrow(rows, schema)
