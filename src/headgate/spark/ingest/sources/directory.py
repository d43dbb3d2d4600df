"""A directory of files: each is one batch, whose id is its name.

Files are taken in the order of their names, new ones as they come; a file must be whole when it gets its name (write
it under a name that begins with a dot, then rename it). The log leaves out batches that it has, so after a restart
the files that are still there do no harm.
"""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.parsing.files import FORMATS, check_suffix, whole
from headgate.spark.ingest.parsing.records import schema_of
from headgate.spark.ingest.sources.base import MOST_ROWS, Batch, Reader
from headgate.spark.ingest.sources.options import flag
from headgate.workload.settings import Settings

POLL = 0.1


class DirectoryReader(Reader):
    """Reads the files of a directory that match a pattern."""

    def __init__(self, path: Path, pattern: str, schema: pa.Schema, *, end: bool = False, poll: float = POLL) -> None:
        self._path, self._pattern, self._schema = path, pattern, schema
        self._end, self._poll = end, poll
        self._seen: set[str] = set()
        self._waiting: list[str] = []
        self._done = False

    @property
    def done(self) -> bool:
        return self._done

    def read(self, now: float) -> list[Batch]:
        if not self._waiting:
            self._waiting = self._new()
        batches: list[Batch] = []
        rows = 0
        while self._waiting and rows < MOST_ROWS:
            batches.append(self._batch(self._waiting.pop(0)))
            rows += batches[-1].rows.num_rows
        self._done = self._done or (self._end and not batches)
        return batches

    def due(self, now: float) -> float:
        if self._done:
            return math.inf
        return now if self._waiting else now + self._poll

    def _new(self) -> list[str]:
        found = (path for path in self._path.glob(self._pattern) if path.suffix in FORMATS and path.is_file())
        names = sorted(path.relative_to(self._path).as_posix() for path in found if path.name[0] not in "._")
        return [name for name in names if name not in self._seen]

    def _batch(self, name: str) -> Batch:
        self._seen.add(name)
        rows, bad = whole(self._path / name, self._schema)
        return Batch(rows, name, tuple(bad))


def open_folder(settings: Settings, stream: Stream, directory: Path) -> DirectoryReader:
    """A directory from its settings: path, pattern, end, poll."""
    settings.only(("path", "pattern", "end", "poll"))
    settings.need("path", "incoming")
    path, pattern = directory / str(settings.word("path")), settings.word("pattern") or "*"
    if not path.is_dir():
        raise HeadgateError(f"there is no directory '{path}'", hint="make it, or correct path")
    if Path(pattern).suffix:
        check_suffix(pattern)
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise HeadgateError(f"pattern '{pattern}' leaves the directory", hint="put the directory into path")
    poll = settings.duration("poll", above=0.0)
    return DirectoryReader(path, pattern, schema_of(stream), end=flag(settings, "end"), poll=poll or POLL)
