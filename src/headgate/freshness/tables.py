"""Elements and plans as CSV or Parquet files; pyarrow is imported only when one is read or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headgate.freshness.column_names import FORMATS, ColumnNames
from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements
from headgate.model import HeadgateError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The elements of a table, and how often they are refreshed now if it says so."""

    elements: Elements
    frequency: Floats | None


def read_elements(path: Path, columns: ColumnNames | None = None) -> Listed:
    """The elements of a CSV or Parquet file."""
    table = read_table(path)
    names = (columns or ColumnNames()).found_in(table.column_names, str(path))
    numbers = {meaning: _numbers(table, name, str(path)) for meaning, name in names.items() if meaning != "id"}
    frequency = numbers.pop("frequency", None)
    try:
        elements = Elements.of(**numbers, ids=_ids(table.column(names["id"])))
    except HeadgateError as error:
        raise error.at(str(path)) from None
    return Listed(elements, frequency)


def read_table(path: Path) -> pa.Table:
    """A file as an Arrow table, by its extension."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    if not path.exists():
        raise HeadgateError("there is no such file", where=str(path), hint="check the path")
    kind = check_format(path, "read elements from")
    try:
        return csv.read_csv(path) if kind == "csv" else parquet.read_table(path)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise HeadgateError(f"this is no {kind} file: {reason}", where=str(path), hint="check the file") from None


def write_table(columns: Mapping[str, Any], path: Path) -> None:
    """Write columns as CSV or Parquet, by the extension."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    kind = check_format(path, "write")
    table = pa.table(dict(columns))
    if kind == "csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)


def check_format(path: Path, doing: str) -> str:
    """The format that a path's extension names."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise HeadgateError(f"cannot {doing} '{path}'", hint="use a name that ends in .parquet or .csv")
    return kind


def _numbers(table: pa.Table, name: str, where: str) -> Floats:
    """A column as doubles; what is missing becomes NaN, which `Elements` refuses by its row."""
    import pyarrow as pa

    column = table.column(name)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=float)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        message = f"column '{name}' holds something else than numbers"
        raise HeadgateError(message, where=where, hint="write a number in every row") from None


def _ids(column: pa.ChunkedArray) -> NDArray[Any]:
    """Keys; integers with missing ones stay integers."""
    import pyarrow as pa

    if column.null_count and not pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy())
