"""The journal: every change of a query's state as a line of JSON, for people who ask what has happened.

    current.jsonl     the newest lines
    former.jsonl      the lines before them: when `current.jsonl` is full, it is renamed to `former.jsonl`

A line looks like this:

    {"at":1767265200.25,"query":"fire","from":"scheduled","to":"paused","reason":"asked for"}

A target that is missed, or met again, is a change from "target met" to "target missed", or back.

Nothing is recovered from the journal, so lines are not forced to disk, and a power cut may lose the last ones. For the
same reason a full disk stops nothing: the lines that could not be written are counted, and an error is logged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from io import FileIO
from itertools import accumulate
from pathlib import Path
from typing import Any

from headgate import logs
from headgate.spark.store import disk

FOLDER = "journal"
LIMIT = 1 << 20  # bytes of each of the two files
LONGEST_REASON = 2000  # characters, so that one long error message does not push out all other lines
_CURRENT, _FORMER = "current.jsonl", "former.jsonl"
_ATTEMPTS = 10  # to open both files without one of them being renamed meanwhile

_logger = logs.logger("journal")


@dataclass(frozen=True, slots=True)
class Entry:
    """A query's change from one state to another, or that of its target, at a time in seconds since 1970.

    >>> Entry(1767265200.25, "fire", "scheduled", "paused", "asked for").to_json()
    {'at': 1767265200.25, 'query': 'fire', 'from': 'scheduled', 'to': 'paused', 'reason': 'asked for'}
    """

    at: float
    query: str
    before: str
    after: str
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at, "query": self.query, "from": self.before, "to": self.after, "reason": self.reason}


class Journal:
    """Appends entries to the files in a folder, which have at most `limit` bytes each.

    One thread writes; others may read meanwhile with `read_journal`, also in another process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     Journal(Path(directory) / "journal").write([Entry(0.0, "fire", "checking", "scheduled")])
    ...     [entry.after for entry in read_journal(directory)]
    ['scheduled']
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.lost = 0
        self._folder = folder
        self._limit = limit
        self._failing = False

    def write(self, entries: Sequence[Entry]) -> None:
        """Append entries. An error of the disk is not raised: `lost` counts the lines that were not written."""
        lines = [_line(entry) for entry in entries]
        try:
            while lines:
                lines = lines[self._append(lines) :]
            self._failing = False
        except OSError as error:
            self.lost += len(lines)
            if not self._failing:  # once, not for every change while the disk is full
                _logger.error("journal not written", folder=self._folder, lost=self.lost, error=error)
            self._failing = True

    def _append(self, lines: Sequence[bytes]) -> int:
        """Append as many lines as the current file has room for, and return their number.

        If it has no room, it is renamed to `former.jsonl`. A line that exceeds the limit gets a file of its own.
        """
        current = self._folder / _CURRENT
        with self._opened(current) as descriptor:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"  # a crash has cut the last line off
            room = self._limit - size - torn
            fitting = sum(end <= room for end in accumulate(map(len, lines)))
            if fitting or not size:
                count = max(1, fitting)
                _write_or_undo(descriptor, size, b"\n" * torn + b"".join(lines[:count]))
                return count
        disk.replace(current, self._folder / _FORMER)
        return 0

    def _opened(self, path: Path) -> AbstractContextManager[int]:
        if not self._folder.is_dir():
            disk.mkdir(self._folder)  # directories of earlier versions do not have it
        return disk.opened(path, os.O_RDWR | os.O_CREAT)


def read_journal(directory: str | os.PathLike[str], query: str | None = None, last: int | None = None) -> list[Entry]:
    """The entries in the journal of a data directory, oldest first: of one query, and the newest `last`, if given.

    Incomplete lines are left out: one that is being written, and those that a crash has cut off.
    """
    lines = b"\n".join(_contents(Path(directory) / FOLDER)).split(b"\n")
    entries = [entry for entry in map(_parsed, lines) if entry is not None and query in (None, entry.query)]
    return entries if last is None else entries[max(0, len(entries) - last) :]


def _line(entry: Entry) -> bytes:
    fields = entry.to_json()
    if len(entry.reason) > LONGEST_REASON:
        fields["reason"] = entry.reason[: LONGEST_REASON - 1] + "…"
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return f"{text}\n".encode(errors="backslashreplace")  # half of a surrogate pair becomes JSON's \udXXX


def _parsed(line: bytes) -> Entry | None:
    try:
        fields = json.loads(line)
        texts = [fields[name] for name in ("query", "from", "to", "reason")]
        return Entry(float(fields["at"]), *texts) if all(isinstance(text, str) for text in texts) else None
    except (ValueError, KeyError, TypeError):
        return None


def _write_or_undo(descriptor: int, size: int, data: bytes) -> None:
    try:
        disk.write_all(descriptor, data, size)
    except OSError:
        with suppress(OSError):
            disk.truncate(descriptor, size)
        raise


def _contents(folder: Path) -> Iterator[bytes]:
    """The contents of the former and the current file, opened so that neither was renamed in between."""
    paths = (folder / _CURRENT, folder / _FORMER)
    for attempt in range(1, _ATTEMPTS + 1):
        with ExitStack() as stack:
            files = [_open_if_there(path, stack) for path in paths]
            # The inode number of an open file is not reused: if a name has the same one still, it was not renamed.
            if list(map(_inode, files)) == list(map(_inode, paths)) or attempt == _ATTEMPTS:
                yield from (file.read() for file in reversed(files) if file is not None)
                return


def _open_if_there(path: Path, stack: ExitStack) -> FileIO | None:
    with suppress(FileNotFoundError):
        return stack.enter_context(open(path, "rb", buffering=0))
    return None


def _inode(file: Path | FileIO | None) -> int | None:
    with suppress(FileNotFoundError):
        return None if file is None else os.stat(file if isinstance(file, Path) else file.fileno()).st_ino
    return None
