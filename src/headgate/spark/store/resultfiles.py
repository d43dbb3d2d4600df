"""The files of a query's results: their names, what they hold, and reading them.

    part-COMMIT-INDEX.parquet       what one commit produced (`.jsonl` likewise)
    merged-FIRST-LAST.parquet       what the commits FIRST to LAST produced
    schema.arrow                    the columns, for when there is no row yet

A file whose commits lie inside a merged one's is a leftover of merging and is not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError
from headgate.spark.store.jsonlines import from_lines, to_lines

SCHEMA = "schema.arrow"
_NAME = re.compile(r"(part|merged)-(\d+)-(\d+)\.(parquet|jsonl)")


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One file of results."""

    first: int  # commits
    last: int
    merged: bool
    path: Path

    def covers(self, other: Part) -> bool:
        """Whether the other's rows are in this one too."""
        return self.merged and self != other and self.first <= other.first and other.last <= self.last


def parts(folder: Path) -> list[Part]:
    """All files of results in a folder, leftovers included."""
    found = []
    for name in os.listdir(folder):
        match = _NAME.fullmatch(name)
        if match is not None:
            merged = match[1] == "merged"
            first = int(match[2])
            found.append(Part(first, int(match[3]) if merged else first, merged, folder / name))
    return sorted(found)


def live(found: Sequence[Part]) -> list[Part]:
    """Those that count: not covered by another."""
    merged = [part for part in found if part.merged]
    return [part for part in found if not any(other.covers(part) for other in merged)]


def read(folder: Path) -> pa.Table:
    """All results of a query, also while an engine writes and merges them."""
    if not folder.is_dir():
        raise HeadgateError("there are no results", where=str(folder), hint="see which queries write files")
    for _ in range(100):
        try:
            found = _settled(folder)
            schema = _schema(folder)
            tables = [load(part.path, schema) for part in found]
        except FileNotFoundError:  # merged in the meantime
            continue
        return joined(folder, tables, schema)
    raise HeadgateError("the files change faster than they can be read", where=str(folder), hint="try again")


def _settled(folder: Path) -> list[Part]:
    """A listing taken while files are merged may lack both the small and the merged ones: take two equal ones."""
    before = None
    while True:
        found = parts(folder)
        if found == before:
            return live(found)
        before = found


def _schema(folder: Path) -> pa.Schema | None:
    path = folder / SCHEMA
    return pa.ipc.read_schema(pa.py_buffer(path.read_bytes())) if path.exists() else None


def load(path: Path, schema: pa.Schema | None) -> pa.Table:
    """The rows of one file."""
    if path.suffix == ".parquet":
        return pq.read_table(path, use_threads=False, partitioning=None)
    with open(path, "rb") as file:
        return from_lines(file, schema)


def dump(table: pa.Table, kind: str) -> object:
    """A table as the bytes of a file of that kind."""
    if kind == "jsonl":
        return to_lines(table)
    target = pa.BufferOutputStream()
    pq.write_table(table, target, write_page_checksum=True)
    return target.getvalue()


def joined(folder: Path, tables: Sequence[pa.Table], schema: pa.Schema | None) -> pa.Table:
    """Tables of one query one after another."""
    if not tables:
        return schema.empty_table() if schema is not None else pa.table({})
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise HeadgateError(
            f"the results have columns of different types: {str(error).splitlines()[0]}",
            where=str(folder),
            hint="give a query whose columns change another name",
        ) from error
