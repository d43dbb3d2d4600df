"""Values in JSON and back, also of types that JSON lacks.

Timestamps and dates become ISO 8601 texts (for other years than 1 to 9999 see `times`), decimals and floats that are
not finite texts, binary values base64.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headgate.model import times


def plain(value: Any) -> Any:
    """A value as JSON can show it.

    >>> plain({"at": datetime.date(2026, 1, 1), "v": math.inf, "raw": b"x"})
    {'at': '2026-01-01', 'v': 'Infinity', 'raw': 'eA=='}
    """
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
    return str(value)


def to_arrow(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table of rows that were parsed from JSON, with the types of a schema.

    >>> to_arrow([{"v": "Infinity"}, {}], pa.schema([("v", pa.float64())]))["v"].to_pylist()
    [inf, None]
    """
    columns = [pa.array((_typed(row.get(field.name), field.type) for row in rows), field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _typed(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_timestamp(kind):
        return times.moment(value)
    if pa.types.is_date(kind):
        return times.day(value)
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
        return times.clock(value)
    return value
