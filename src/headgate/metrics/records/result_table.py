"""Results as an Arrow table with one row per result, and as a Parquet or CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from headgate.metrics.records.result_columns import Floats, ResultColumns
from headgate.model import HeadgateError

NamedResults = tuple[str, str, ResultColumns]  # query, class, results


def build(parts: Sequence[NamedResults]) -> pa.Table:
    """One row per result, by emission, then query.

    >>> later, sooner = ResultColumns.of([0.0], [2.0], [0.0], 1.0), ResultColumns.of([0.5], [1.0], [0.5], 0.25)
    >>> build([("a", "x", later), ("b", "y", sooner)]).column("slowdown").to_pylist()
    [2.0, 2.0]
    >>> build([("a", "x", later), ("b", "y", sooner)]).column("response_time").to_pylist()
    [0.5, 2.0]
    """
    columns = ResultColumns.join([part[2] for part in parts])
    sizes = [len(part[2]) for part in parts]
    queries, query = _encode([part[0] for part in parts], sizes)
    classes, query_class = _encode([part[1] for part in parts], sizes)
    order = np.lexsort((query, columns.emission))
    return pa.table(
        {
            "query": pa.DictionaryArray.from_arrays(query[order], queries),
            "class": pa.DictionaryArray.from_arrays(query_class[order], classes),
            "arrival": columns.arrival[order],
            "emission": columns.emission[order],
            "response_time": columns.response[order],
            "slowdown": _nullable(columns.slowdown[order]),
        }
    )


def write(table: pa.Table, path: str | PathLike[str]) -> None:
    """Write a table in the format that the path's extension names."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise HeadgateError(f"cannot write results as '{suffix or path}'", hint="use .parquet or .csv")
    try:
        if suffix == ".parquet":
            pyarrow.parquet.write_table(table, str(path))
        else:
            pyarrow.csv.write_csv(_decoded(table), str(path))
    except OSError as error:
        raise HeadgateError(f"cannot write results: {error}", hint="choose another path") from error


def _encode(names: Sequence[str], sizes: Sequence[int]) -> tuple[pa.Array, NDArray[np.int32]]:
    """Dictionary and codes of a column that repeats each name; codes are in the names' order."""
    codes = {name: code for code, name in enumerate(sorted(set(names)))}
    column = np.array([codes[name] for name in names], dtype=np.int32)
    return pa.array(list(codes), pa.string()), np.repeat(column, sizes)


def _nullable(values: Floats) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _decoded(table: pa.Table) -> pa.Table:
    """Names as plain text: the CSV writer knows no dictionaries."""
    schema = pa.schema([(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in table.schema])
    return table.cast(schema)
