"""The files of a query's results: their names, what they hold, and reading them.

    part-COMMIT-INDEX.parquet       what one commit produced (`.jsonl` likewise)
    merged-FIRST-LAST.parquet       what the commits FIRST to LAST produced
    merged-FIRST-LAST.parquet.new   the same, before the files that it replaces are gone
    schema.arrow                    the columns, for when there is no row yet

A file whose commits lie inside a merged one's is about to be removed and is not read.

Merged files take the place of others under an exclusive lock on the folder, and `unchanged` holds a shared one. So a
listing made under it has all the rows that were in files when it began, although the names of a long folder are not
read at one moment. A merger that finds somebody listing does not wait, it takes its turn later.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.json_lines import from_lines, to_lines

SCHEMA = "schema.arrow"
NEW = ".new"  # what ends the name of a merged file that is not in place yet: no listing of *.parquet matches it
_NAME = re.compile(r"(part|merged)-(\d+)-(\d+)\.(parquet|jsonl)(\.new)?")


@dataclass(frozen=True, slots=True, order=True)
class ResultFile:
    """One file of results."""

    first: int  # commits
    last: int
    merged: bool
    path: Path

    @property
    def target(self) -> Path:
        """Where it belongs: its own path, except of a merged file that is not in place yet."""
        return self.path.with_name(self.path.name.removesuffix(NEW))

    @property
    def kind(self) -> str:
        return self.target.suffix[1:]

    @property
    def index(self) -> int:
        """Which of the files of its commit it is."""
        return 0 if self.merged else int(self.path.stem.rpartition("-")[2])

    def covers(self, other: ResultFile) -> bool:
        """Whether the other's rows are in this one too."""
        return self.merged and self != other and self.first <= other.first and other.last <= self.last


def parts(folder: Path) -> list[ResultFile]:
    """All files of results in a folder, also those that a merged one covers."""
    found = []
    for name in os.listdir(folder):
        match = _NAME.fullmatch(name)
        if match is not None:
            merged = match[1] == "merged"
            first = int(match[2])
            found.append(ResultFile(first, int(match[3]) if merged else first, merged, folder / name))
    paths = {part.path for part in found}  # of a file that is just renamed a listing may have both names
    return sorted(part for part in found if part.path == part.target or part.target not in paths)


def live(found: Sequence[ResultFile]) -> list[ResultFile]:
    """Those that count: not covered by another."""
    merged = [part for part in found if part.merged]
    return [part for part in found if not any(other.covers(part) for other in merged)]


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Meanwhile no file of results in this folder is replaced by a merged one; others may be added."""
    with disk.opened(folder, os.O_RDONLY) as descriptor:
        _lock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def changing(folder: Path) -> Iterator[bool]:
    """Files may be replaced by merged ones meanwhile; False if somebody relies on them just now."""
    with disk.opened(folder, os.O_RDONLY) as descriptor:
        yield _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(descriptor: int, how: int) -> bool:
    """Whether nobody else has it; where a file system knows no locks, we are as good as alone."""
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def listed(folder: Path) -> list[ResultFile]:
    """The files that have all results of a folder, each once."""
    with unchanged(folder):
        return live(parts(folder))


def read(folder: Path) -> pa.Table:
    """All results of a query that are in files, also while an engine writes and merges them."""
    if not folder.is_dir():
        raise HeadgateError("there are no results", where=str(folder), hint="see which queries write files")
    try:
        return _read(folder)
    except FileNotFoundError:  # merged in the meantime
        with unchanged(folder):
            return _read(folder)


def _read(folder: Path) -> pa.Table:
    found, schema = listed(folder), stored_schema(folder)
    return joined(folder, [load(part.path, schema) for part in found], schema)


def stored_schema(folder: Path) -> pa.Schema | None:
    """The columns of a folder's results, None before the first."""
    path = folder / SCHEMA
    return pa.ipc.read_schema(pa.py_buffer(path.read_bytes())) if path.exists() else None


def load(path: Path, schema: pa.Schema | None) -> pa.Table:
    """The rows of one file."""
    if path.name.removesuffix(NEW).endswith(".parquet"):
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
