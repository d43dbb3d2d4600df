"""Reads the rows of a CSV file with a header, of a file of JSON lines or of a Parquet file, page by page."""

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

PAGE = 1024  # rows


def check_suffix(name: str) -> None:
    """Refuse a file or a pattern whose suffix is not that of a known format."""
    if Path(name).suffix not in FORMATS:
        raise HeadgateError(f"'{name}' has a format that cannot be read", hint=f"use one of {', '.join(FORMATS)}")


def pages(path: Path, schema: pa.Schema, page: int = PAGE) -> Generator[Read, None, None]:
    """The file's rows in order; if it cannot be read to its end, the error is the last bad tuple."""
    try:
        yield from FORMATS[path.suffix](path, schema, page)
    except (OSError, csv.Error, pa.ArrowException) as error:
        yield schema.empty_table(), [(path.name, f"the file cannot be read: {str(error).splitlines()[0]}")]


def whole(path: Path, schema: pa.Schema) -> Read:
    """All rows of a file."""
    all_pages = list(pages(path, schema, page=1 << 16))
    tables = [rows for rows, _ in all_pages] or [schema.empty_table()]
    return pa.concat_tables(tables), [bad_tuple for _, bad in all_pages for bad_tuple in bad]


def _parquet(path: Path, schema: pa.Schema, page: int) -> Iterator[Read]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(page):
            yield conform(pa.Table.from_batches([batch]), schema)


def _json_lines(path: Path, schema: pa.Schema, page: int) -> Iterator[Read]:
    # Bytes that are no UTF-8 become surrogates: then only their line is bad, and not the whole file.
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        lines = (line.rstrip("\r\n") for line in file if not line.isspace())
        for page_lines in _cut(lines, page):
            yield rows_of(page_lines, schema)


def _csv(path: Path, schema: pa.Schema, page: int) -> Iterator[Read]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for records in _cut(csv.DictReader(file), page):
            complete = [record for record in records if _complete(record)]
            rows, bad = rows_of(complete, schema, text_cell)
            reason = "another number of fields than the header"
            bad += [(raw_text(record), reason) for record in records if not _complete(record)]
            yield rows, bad


def _complete(record: dict[Any, Any]) -> bool:
    return None not in record and None not in record.values()


def _cut(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


FORMATS: dict[str, Callable[[Path, pa.Schema, int], Iterator[Read]]] = {
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
