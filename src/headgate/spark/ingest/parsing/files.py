"""Rows of a CSV file with a header, of JSON lines, or of a Parquet file, page by page."""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError
from headgate.spark.ingest.parsing.cells import text_cell
from headgate.spark.ingest.parsing.records import Read, conform, raw_text, rows_of

PAGE = 1024


def check_suffix(name: str) -> None:
    """Refuse a file or a pattern whose ending says no format."""
    if Path(name).suffix not in FORMATS:
        raise HeadgateError(f"'{name}' has a format that cannot be read", hint=f"use one of {', '.join(FORMATS)}")


def pages(path: Path, schema: pa.Schema, page: int = PAGE) -> Generator[Read, None, None]:
    """The file's rows in order; where it cannot be read further, that is the last bad tuple."""
    try:
        yield from FORMATS[path.suffix](path, schema, page)
    except (OSError, csv.Error, pa.ArrowException) as error:
        yield schema.empty_table(), [(path.name, f"the file cannot be read: {str(error).splitlines()[0]}")]


def whole(path: Path, schema: pa.Schema) -> Read:
    """All rows of a file."""
    found = list(pages(path, schema, page=1 << 16))
    tables = [rows for rows, _ in found] or [schema.empty_table()]
    return pa.concat_tables(tables), [each for _, bad in found for each in bad]


def _parquet(path: Path, schema: pa.Schema, page: int) -> Iterator[Read]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(page):
            yield conform(pa.Table.from_batches([batch]), schema)


def _json_lines(path: Path, schema: pa.Schema, page: int) -> Iterator[Read]:
    # Bytes that are no UTF-8 become surrogates, which make their line bad and not the file.
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        lines = (line.rstrip("\r\n") for line in file if not line.isspace())
        for some in _cut(lines, page):
            yield rows_of(some, schema)


def _csv(path: Path, schema: pa.Schema, page: int) -> Iterator[Read]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for some in _cut(csv.DictReader(file), page):
            good = [row for row in some if _complete(row)]
            rows, bad = rows_of(good, schema, text_cell)
            bad += [(raw_text(row), "another number of fields than the header") for row in some if not _complete(row)]
            yield rows, bad


def _complete(row: dict[Any, Any]) -> bool:
    return None not in row and None not in row.values()


def _cut(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


FORMATS: dict[str, Callable[[Path, pa.Schema, int], Iterator[Read]]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
