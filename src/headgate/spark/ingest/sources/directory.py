"""The source `directory`: each file of a directory is one batch, and the file's name is the batch's id.

Files are read in the order of their names, new ones as they appear. A file must be complete when it gets its name:
write it under a name that begins with a dot, then rename it. After a restart all files are read again, and the log
leaves out the batches that it has already. Files with an unknown suffix are left alone; a warning names them.
"""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path

import pyarrow as pa

from headgate import logs
from headgate.model import HeadgateError
from headgate.spark.ingest.parsing.files import FORMATS, check_suffix, format_of, whole
from headgate.spark.ingest.parsing.records import schema_of
from headgate.spark.ingest.sources.base import MOST_ROWS, Batch, Reader
from headgate.spark.ingest.sources.options import flag
from headgate.spark.ingest.sources.registry import SourceRequest, register

POLL = 0.1  # seconds between two looks for new files
MOST_NAMES = 5  # of files that are not read

_logger = logs.logger("sources")


class DirectoryReader(Reader):
    """Reads the files of a directory that match a pattern."""

    def __init__(self, path: Path, pattern: str, schema: pa.Schema, *, end: bool = False, poll: float = POLL) -> None:
        self._path, self._pattern, self._schema = path, pattern, schema
        self._end, self._poll = end, poll
        self._seen: set[str] = set()
        self._unread: dict[str, None] = {}  # files whose suffix is unknown
        self._waiting: list[str] = []
        self._done = False

    @property
    def done(self) -> bool:
        return self._done

    def read(self, now: float) -> list[Batch]:
        if not self._waiting:
            self._waiting = self._new_files()
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

    @property
    def note(self) -> str:
        if not self._unread:
            return ""
        names = [*islice(self._unread, MOST_NAMES), *(["…"] if len(self._unread) > MOST_NAMES else [])]
        files = "1 file is" if len(self._unread) == 1 else f"{len(self._unread)} files are"
        known = ", ".join(suffix for suffix in FORMATS if not suffix.endswith(".gz"))
        return f"{files} not read: {', '.join(names)} in '{self._path}'; names must end in {known}, or .gz behind it"

    def _new_files(self) -> list[str]:
        files = (path for path in self._path.glob(self._pattern) if path.name[0] not in "._" and path.is_file())
        names = sorted(path.relative_to(self._path).as_posix() for path in files)
        new = [name for name in names if name not in self._seen and name not in self._unread]
        unread = [name for name in new if format_of(name) is None]
        if unread:
            self._unread.update(dict.fromkeys(unread))
            _logger.warning(
                "files not read", files=", ".join(unread[:MOST_NAMES]), count=len(unread), folder=self._path
            )
        return [name for name in new if name not in self._unread]

    def _batch(self, name: str) -> Batch:
        self._seen.add(name)
        rows, bad = whole(self._path / name, self._schema)
        return Batch(rows, name, tuple(bad))


@register("directory")
def open_directory(request: SourceRequest) -> DirectoryReader:
    """Open a directory from its settings: path, pattern, end, poll."""
    settings = request.settings
    settings.only(("path", "pattern", "end", "poll"))
    settings.need("path", "incoming")
    path, pattern = request.directory / str(settings.word("path")), settings.word("pattern") or "*"
    if not path.is_dir():
        raise HeadgateError(f"there is no directory '{path}'", hint="make it, or correct path")
    if Path(pattern).suffix and not set("*?[") & set(Path(pattern).suffix):
        check_suffix(pattern)
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise HeadgateError(f"pattern '{pattern}' leaves the directory", hint="put the directory into path")
    poll = settings.duration("poll", above=0.0)
    return DirectoryReader(path, pattern, schema_of(request.stream), end=flag(settings, "end"), poll=poll or POLL)
