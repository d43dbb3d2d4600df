"""Reads the rows of a file page by page; its suffix says in which format they are.

CSV and TSV have a header. A JSON file has one record per line, or is one list of records, or one record. All but
Parquet may be compressed, with `.gz` behind the suffix.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.contained_files import open_file
from headgate.model import HeadgateError
from headgate.spark.ingest.parsing.cells import text_cell
from headgate.spark.ingest.parsing.records import Read, conform, raw_text, rows_of

PAGE = 1024  # rows

_Format = Callable[[BinaryIO, pa.Schema, int], Iterator[Read]]


def format_of(name: str) -> str | None:
    """The suffix that says how a file is read, in small letters; None if none does.

    >>> format_of("a.CSV"), format_of("2026-01-01.csv.gz"), format_of("a.parquet.gz"), format_of("notes.txt")
    ('.csv', '.csv.gz', None, None)
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes[-2:]]
    candidates = ("".join(suffixes), suffixes[-1]) if suffixes else ()
    return next((suffix for suffix in candidates if suffix in FORMATS), None)


def check_suffix(name: str) -> None:
    """Refuse a file or a pattern whose suffix is not that of a known format."""
    if format_of(name) is None:
        raise HeadgateError(f"'{name}' has a format that cannot be read", hint=f"use one of {', '.join(FORMATS)}")


def pages(path: Path, schema: pa.Schema, within: Path | None = None) -> Generator[Read, None, None]:
    """The file's rows in order; if it cannot be read to its end, the error is the last bad tuple."""
    return _pages(path.name, lambda: open_file(path, within), schema, PAGE)


def whole(name: str, contents: bytes, schema: pa.Schema) -> Read:
    """All rows of a file of which these are the bytes."""
    all_pages = list(_pages(name, lambda: BytesIO(contents), schema, 1 << 16))
    tables = [rows for rows, _ in all_pages] or [schema.empty_table()]
    return pa.concat_tables(tables), [bad_tuple for _, bad in all_pages for bad_tuple in bad]


def _pages(name: str, opened: Callable[[], BinaryIO], schema: pa.Schema, page: int) -> Generator[Read, None, None]:
    try:
        with opened() as file:
            yield from FORMATS[str(format_of(name))](file, schema, page)
    except (OSError, EOFError, zlib.error, csv.Error, pa.ArrowException) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
        yield schema.empty_table(), [(name, f"the file cannot be read: {reason}")]


def _parquet(file: BinaryIO, schema: pa.Schema, page: int) -> Iterator[Read]:
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as parquet:
        for batch in parquet.iter_batches(page):
            yield conform(pa.Table.from_batches([batch]), schema)


def _json_lines(file: BinaryIO, schema: pa.Schema, page: int) -> Iterator[Read]:
    with _text(file) as lines:
        for page_lines in _cut(_lines(lines), page):
            yield rows_of(page_lines, schema)


def _json(file: BinaryIO, schema: pa.Schema, page: int) -> Iterator[Read]:
    """One record per line, or one document: a list of records, or a record over several lines."""
    with _text(file) as lines:
        first = next(_lines(lines), "")
        if _is_json(first) and not first.lstrip().startswith("["):
            records: Iterable[str] = _lines(lines, first)
        else:
            text = "\n".join(_lines(lines, first))
            records = _elements(text) if text.lstrip().startswith("[") else _record_or_lines(text)
        for page_records in _cut(records, page):
            yield rows_of(page_records, schema)


def _record_or_lines(text: str) -> list[str]:
    return [text] if _is_json(text) else [line for line in text.split("\n") if line]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _elements(text: str) -> Iterator[str]:
    """The elements of a list, each as its text; what follows a broken one, or the list, as one text."""
    decoder = json.JSONDecoder()
    position = _skip(text, text.index("[") + 1)
    while position < len(text) and text[position] != "]":
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = len(text)
        yield text[position:end]
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif position < len(text) and text[position] != "]":
            break
    rest = text[position:].removeprefix("]").strip()
    if rest:
        yield rest


def _skip(text: str, position: int) -> int:
    """The place of the next character that is no white space."""
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _csv(file: BinaryIO, schema: pa.Schema, page: int, delimiter: str = ",") -> Iterator[Read]:
    with _text(file) as lines:
        for records in _cut(csv.DictReader(lines, delimiter=delimiter), page):
            complete = [record for record in records if _complete(record)]
            rows, bad = rows_of(complete, schema, text_cell)
            reason = "another number of fields than the header"
            bad += [(raw_text(record), reason) for record in records if not _complete(record)]
            yield rows, bad


def _text(file: BinaryIO) -> TextIO:
    """The file's text, without a byte-order mark.

    Bytes that are no UTF-8 become surrogates: then only their line is bad, and not the whole file.
    """
    return TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _unpacked(read: _Format) -> _Format:
    """The format of a file that is compressed."""

    def read_unpacked(file: BinaryIO, schema: pa.Schema, page: int) -> Iterator[Read]:
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield from read(unpacked, schema, page)  # type: ignore[arg-type]

    return read_unpacked


def _lines(file: TextIO, *before: str) -> Iterator[str]:
    """Lines already read and those that follow, without empty ones."""
    yield from (line for line in before if line)
    for line in file:
        if not line.isspace():
            yield line.rstrip("\r\n")


def _complete(record: dict[Any, Any]) -> bool:
    return None not in record and None not in record.values()


def _cut(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


_TEXT_FORMATS: dict[str, _Format] = {
    ".csv": _csv,
    ".tsv": partial(_csv, delimiter="\t"),
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}
FORMATS = {
    **_TEXT_FORMATS,
    **{f"{suffix}.gz": _unpacked(read) for suffix, read in _TEXT_FORMATS.items()},
    ".parquet": _parquet,
}
