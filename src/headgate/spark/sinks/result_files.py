"""The files with a query's results: how they are named, listed, read and written.

The folder `results/QUERY` of a data directory has these files:

    part-000000000017-0000.parquet              results of commit 17, its first file (or `.jsonl`)
    merged-000000000001-000000000016.parquet    results of the commits 1 to 16
    merged-….parquet.new                        a merged file before the files that it replaces are removed
    schema.arrow                                the columns, also while there is no row yet
    files.index                                 what these files were when they were written (see `result_index`)
    merged-….unknown                            a merged file that a crash left out of the index; others have its rows

If a merged file covers the commits of another file, that one is about to be removed and is not read.

Listing a large folder is not atomic: a file could be merged away while it is listed. So files are replaced by merged
ones only under an exclusive lock on the folder (`replacing`), and a listing holds a shared lock (`unchanged`). If
somebody is listing, the merge does not wait but replaces the files another time.
"""

from __future__ import annotations

import fcntl
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import ConflictError, HeadgateError
from headgate.spark.sinks.result_index import INDEX, IndexEntry, read_index
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import damaged, unreadable
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
    def name(self) -> str:
        """Its final name."""
        return self.target.name

    @property
    def index(self) -> int:
        """Its place among the files of its commit, from 0."""
        return 0 if self.merged else int(self.path.stem.rpartition("-")[2])

    def covers(self, other: ResultFile) -> bool:
        """Whether the rows of the other file are in this one too."""
        return self.merged and self != other and self.first <= other.first and other.last <= self.last


def all_files(folder: Path) -> list[ResultFile]:
    """All files of results in a folder, also those that a merged file covers."""
    files = named(folder, os.listdir(folder))
    paths = {file.path for file in files}  # if a file is renamed meanwhile, the listing may have both of its names
    return sorted(file for file in files if file.path == file.target or file.target not in paths)


def named(folder: Path, names: Iterable[str]) -> list[ResultFile]:
    """The files of results among those with these names."""
    files = []
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None:
            merged = match[1] == "merged"
            first = int(match[2])
            files.append(ResultFile(first, int(match[3]) if merged else first, merged, folder / name))
    return files


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
    """The files that together have every result of a folder once, as they are found."""
    with unchanged(folder):
        return uncovered(all_files(folder))


def checked(folder: Path, logged: int | None = None) -> list[ResultFile]:
    """The same, if they are those that were written; an error names a file that is missing, changed or too many.

    The commit log has the commits after `logged`: their results need not be in files, or are just being written.
    """
    with unchanged(folder):
        index, files = read_index(folder), all_files(folder)
    if index is None:  # of an earlier version
        return uncovered(files)
    ours = [file for file in files if file.name in index]
    for file in uncovered(named(folder, index.keys() - {file.name for file in files})):
        covered = any(other.covers(file) for other in ours)
        # A merged file whose name was lost in a power cut: those that it was to replace are there.
        replaced = any(file.covers(other) for other in ours)
        if not (covered or replaced or (logged is not None and file.first > logged)):
            raise missing(folder / file.name)
    for file in uncovered(ours):
        check_bytes(file.path, index[file.name])
    others = [file for file in files if file.name not in index and file.path == file.target]
    for file in others:
        if (logged is None or file.first <= logged) and not any(other.covers(file) for other in ours):
            raise HeadgateError(
                f"the file is none that Headgate has written here: '{INDEX}' does not have it",
                where=str(file.path),
                hint="move it away",
            )
    return uncovered([*ours, *(file for file in others if not file.merged)])  # the others were just written


def missing(path: Path) -> HeadgateError:
    """The error for a file of results that is not there."""
    return HeadgateError(
        "a file of results is missing",
        where=str(path),
        hint=f"restore it from a copy; if it was removed on purpose, take its line out of '{INDEX}'",
    )


def check_bytes(path: Path, written: IndexEntry) -> None:
    """Refuse a file that is not as it was written."""
    found = path.stat()
    if found.st_size != written.size:
        raise unreadable(path, f"it has {found.st_size:,} bytes, and had {written.size:,} when it was written")
    if written.crc is not None:
        _check_crc(path, written.crc, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(10_000)
def _check_crc(path: Path, crc: int, *identity: int) -> None:
    """Compare a file's checksum, once as long as the file is the same."""
    found = 0
    with open(path, "rb") as file:
        for chunk in iter(partial(file.read, 1 << 20), b""):
            found = zlib.crc32(chunk, found)
    if found != crc:
        raise damaged(path)


def read(folder: Path, logged: int | None = None) -> pa.Table:
    """All results of a query that are in files, also while an engine writes and merges them."""
    if not folder.is_dir():
        raise HeadgateError("there are no results", where=str(folder), hint="see which queries write files")
    try:
        return _read(folder, logged)
    except FileNotFoundError:  # merged away between listing and reading
        with unchanged(folder):
            return _read(folder, logged)


def _read(folder: Path, logged: int | None) -> pa.Table:
    files, schema = checked(folder, logged), stored_schema(folder)
    return joined(folder, [load(file.path, schema) for file in files], schema)


def stored_schema(folder: Path) -> pa.Schema | None:
    """The columns of a folder's results; None before the first result."""
    path = folder / SCHEMA
    if not path.exists():
        return None
    written = (read_index(folder) or {}).get(SCHEMA)
    if written is not None:
        check_bytes(path, written)
    with reading(path):
        return pa.ipc.read_schema(pa.py_buffer(path.read_bytes()))


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
        with reading(path):
            return int(pq.read_metadata(path).num_rows)
    with open(path, "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, 1 << 20), b""))


def load(path: Path, schema: pa.Schema | None) -> pa.Table:
    """The rows of one file."""
    with reading(path):
        if path.name.removesuffix(NEW).endswith(".parquet"):
            return pq.read_table(path, use_threads=False, partitioning=None, page_checksum_verification=True)
        with open(path, "rb") as file:
            return from_lines(file, schema)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the file in errors of reading it; that it is gone stays what it is, since it may have been merged."""
    try:
        yield
    except (FileNotFoundError, HeadgateError):
        raise
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise unreadable(path, error) from error


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
