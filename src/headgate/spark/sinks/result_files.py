"""The files with a query's results: how they are named, listed, read and written.

The folder `results/QUERY` of a data directory has these files:

    part-000000000017-0000.parquet              results of commit 17, its first file (or `.jsonl`)
    merged-000000000001-000000000016.parquet    results of the commits 1 to 16
    merged-….parquet.new                        a merged file before the files that it replaces are removed
    schema.arrow                                the columns, also while there is no row yet

If a merged file covers the commits of another file, that one is about to be removed and is not read.

Listing a large folder is not atomic: a file could be merged away while it is listed. So files are replaced by merged
ones only under an exclusive lock on the folder (`replacing`), and a listing holds a shared lock (`unchanged`). If
somebody is listing, the merge does not wait but replaces the files another time.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import ConflictError, HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.json_lines import from_lines, to_lines

SCHEMA = "schema.arrow"
NEW = ".new"  # ends the name of a merged file that is not in place yet, so that no listing of *.parquet has it
_NAME = re.compile(r"(part|merged)-(\d+)-(\d+)\.(parquet|jsonl)(\.new)?")


@dataclass(frozen=True, slots=True, order=True)
class ResultFile:
    """One file with results of the commits `first` to `last`."""

    first: int
    last: int
    merged: bool
    path: Path

    @property
    def target(self) -> Path:
        """Its final path, which differs from `path` for a merged file that is not in place yet."""
        return self.path.with_name(self.path.name.removesuffix(NEW))

    @property
    def kind(self) -> str:
        return self.target.suffix[1:]

    @property
    def index(self) -> int:
        """Its place among the files of its commit, from 0."""
        return 0 if self.merged else int(self.path.stem.rpartition("-")[2])

    def covers(self, other: ResultFile) -> bool:
        """Whether the rows of the other file are in this one too."""
        return self.merged and self != other and self.first <= other.first and other.last <= self.last


def all_files(folder: Path) -> list[ResultFile]:
    """All files of results in a folder, also those that a merged file covers."""
    files = []
    for name in os.listdir(folder):
        match = _NAME.fullmatch(name)
        if match is not None:
            merged = match[1] == "merged"
            first = int(match[2])
            files.append(ResultFile(first, int(match[3]) if merged else first, merged, folder / name))
    paths = {file.path for file in files}  # if a file is renamed meanwhile, the listing may have both of its names
    return sorted(file for file in files if file.path == file.target or file.target not in paths)


def uncovered(files: Sequence[ResultFile]) -> list[ResultFile]:
    """The files that count: those that no merged file covers."""
    merged = [file for file in files if file.merged]
    return [file for file in files if not any(other.covers(file) for other in merged)]


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Hold the shared lock: no file of this folder is replaced by a merged one meanwhile; files may be added."""
    with disk.opened(folder, os.O_RDONLY) as descriptor:
        _lock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def replacing(folder: Path) -> Iterator[bool]:
    """Take the exclusive lock to replace files by merged ones; False, without the lock, if somebody is listing."""
    with disk.opened(folder, os.O_RDONLY) as descriptor:
        yield _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(descriptor: int, how: int) -> bool:
    """Take a lock; False if another process or thread has it. A file system without locks counts as unlocked."""
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def listed(folder: Path) -> list[ResultFile]:
    """The files that together have every result of a folder once."""
    with unchanged(folder):
        return uncovered(all_files(folder))


def read(folder: Path) -> pa.Table:
    """All results of a query that are in files, also while an engine writes and merges them."""
    if not folder.is_dir():
        raise HeadgateError("there are no results", where=str(folder), hint="see which queries write files")
    try:
        return _read(folder)
    except FileNotFoundError:  # merged away between listing and reading
        with unchanged(folder):
            return _read(folder)


def _read(folder: Path) -> pa.Table:
    files, schema = listed(folder), stored_schema(folder)
    return joined(folder, [load(file.path, schema) for file in files], schema)


def stored_schema(folder: Path) -> pa.Schema | None:
    """The columns of a folder's results; None before the first result."""
    path = folder / SCHEMA
    return pa.ipc.read_schema(pa.py_buffer(path.read_bytes())) if path.exists() else None


def check_columns(folder: Path, query: str, columns: pa.Schema) -> None:
    """Refuse a new query whose columns are not those of the results that a former one of its name has left.

    Both would be read as one: rows would lose columns, or could not be read at all.
    """
    stored = stored_schema(folder)
    if stored is not None and not _same_columns(stored, columns):
        raise ConflictError(
            f"query '{query}' would have the columns {_described(columns)}, and a former query of that name has left "
            f"results with {_described(stored)}",
            hint="give it another name",
        )


def _same_columns(stored: pa.Schema, columns: pa.Schema) -> bool:
    if stored.names != columns.names:
        return False
    pairs = list(zip(stored.types, columns.types, strict=True))
    if any(before != now for before, now in pairs if pa.types.is_primitive(before) or pa.types.is_primitive(now)):
        return False
    try:
        pa.unify_schemas([stored, columns], promote_options="permissive")
    except pa.ArrowException:
        return False
    return True


def _described(columns: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in columns)


def rows_in(path: Path) -> int:
    """How many rows a file has."""
    if ".parquet" in path.name:
        return int(pq.read_metadata(path).num_rows)
    with open(path, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, 1 << 20), b""))


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
    """The tables of one query, one after another."""
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
