r"""What a query's result files were when they were written: the file `files.index` beside them.

It has a line for each file and for the schema, in the order in which they were written: name, size, CRC-32 of the
bytes (`-` for Parquet that executors have written, whose pages have checksums), and the CRC-32 of what stands before it
in the line:

    part-000000000017-0000.jsonl 24 2b0a5b2c cff645f8

A line is written right after its file. It is forced to disk before the commit log forgets the file's results, and
before files are removed because that one has their rows. So a file that the index has is there, or the commit log still
has its results, or a merged file has its rows. A file that the index lacks is just being delivered, or it is foreign.

Lines may be lost in a power cut, from the first one that was not forced to disk on: the end of the file is torn then,
or zeros. A folder of an earlier version has no index until its sink is opened.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headgate.spark.store import disk
from headgate.spark.store.atomic_files import damaged, write_atomic, writing

INDEX = "files.index"
SPARE = 100  # lines of files that are gone, beyond which the index is written anew


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A file of results as it was written."""

    name: str
    size: int
    crc: int | None = None  # None: of Parquet that executors have written

    @classmethod
    def of(cls, path: Path, data: object | None = None) -> IndexEntry:
        """A file with these bytes, or with those that it has now."""
        if data is None and path.suffix != ".jsonl":
            return cls(path.name, path.stat().st_size)
        view = memoryview(path.read_bytes() if data is None else data)  # type: ignore[arg-type]
        return cls(path.name, view.nbytes, zlib.crc32(view))

    def line(self) -> bytes:
        r"""Its line in the index.

        >>> IndexEntry("part-000000000017-0000.parquet", 24).line()
        b'part-000000000017-0000.parquet 24 - fb056f6d\n'
        """
        text = f"{self.name} {self.size} {'-' if self.crc is None else format(self.crc, '08x')} ".encode()
        return text + b"%08x\n" % zlib.crc32(text)


class ResultIndex:
    """The index of a folder, to which its sink adds files."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / INDEX
        self.files: dict[str, IndexEntry] = {}
        self._end, self._lines = 0, 0  # where the next line goes, and how many there are
        self._lost = False  # whether lines may be lacking on the disk
        if self.path.exists():
            self.files, self._end = _parsed(self.path)
            self._lines = len(self.files)

    def add(self, *files: IndexEntry) -> None:
        """Add files that are written; not durable before `sync`."""
        data = b"".join(file.line() for file in files)
        with writing(self.path), disk.opened(self.path, os.O_WRONLY | os.O_CREAT) as descriptor:
            disk.write_all(descriptor, data, self._end)
            disk.truncate(descriptor, self._end + len(data))  # behind it may be the rest of lines that were torn
        self._end, self._lines = self._end + len(data), self._lines + len(files)
        self.files |= {file.name: file for file in files}

    def sync(self) -> None:
        """Force the lines to disk; the file's name is left to whoever forces those of the folder."""
        if self._lost:
            self.rewrite()
        elif self._end:
            self._lost = True  # after an error the system may have dropped them, and takes them for written
            disk.sync(self.path)
            self._lost = False

    def forget(self, names: Iterable[str]) -> None:
        """Leave files out that are gone; their lines are dropped once there are many."""
        self.files = {name: file for name, file in self.files.items() if name not in set(names)}
        if self._lines > 2 * len(self.files) + SPARE:
            self.rewrite()

    def rewrite(self) -> None:
        """Write the lines of all files anew."""
        data = b"".join(file.line() for file in self.files.values())
        write_atomic(self.path, data)
        self._end, self._lines, self._lost = len(data), len(self.files), False


def read_index(folder: Path) -> dict[str, IndexEntry] | None:
    """The files that the index of a folder has, by name; None if there is no index."""
    path = folder / INDEX
    return _parsed(path)[0] if path.exists() else None


def _parsed(path: Path) -> tuple[dict[str, IndexEntry], int]:
    """The files of an index, and where its last whole line ends."""
    data, end = path.read_bytes(), 0
    files: dict[str, IndexEntry] = {}
    while (after := data.find(b"\n", end) + 1) and (file := _line(data[end:after])) is not None:
        files[file.name] = file
        end = after
    rest = data[end:]
    if b"\n" in rest.rstrip(b"\n\0") and rest[0]:  # neither torn nor zeros: a line was changed
        raise damaged(path)
    return files, end


def _line(line: bytes) -> IndexEntry | None:
    try:
        name, size, crc, check = line.decode("ascii").split()
        if int(check, 16) != zlib.crc32(line[: -len(check) - 1]):
            return None
        return IndexEntry(name, int(size), None if crc == "-" else int(crc, 16))
    except ValueError:
        return None
