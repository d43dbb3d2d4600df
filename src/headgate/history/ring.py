"""The history that an engine keeps in its data directory: files of a minute each, the oldest of which are removed.

    history/00000012.jsonl     lines of records (see `records`); the first is the setting at that time

Nothing is recovered from it, so lines are not forced to disk, and a full disk stops nothing: what could not be written
is missing.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from headgate.history.history import History
from headgate.history.records import Record, RunRecord, Setting, from_line, to_line
from headgate.model import HeadgateError

FOLDER = "history"
KEPT = 600.0  # seconds
EACH = 60.0  # seconds in a file
MOST_BYTES = 8 << 20  # in a file: a busy engine fills one in less than a minute
MOST_FILES = 24
_NAME = re.compile(r"\d{8,}\.jsonl")


class HistoryRing:
    """Appends records to the newest file, and removes files that are too old. Used by one thread.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     ring = HistoryRing(Path(directory) / FOLDER)
    ...     ring.write(Setting(0.0, 0.0, {"policy": "hnr"}))
    ...     ring.close()
    ...     read_history(directory).header["policy"]
    'hnr'
    """

    def __init__(self, folder: Path, kept: float = KEPT, each: float = EACH) -> None:
        self._folder, self._kept, self._each = folder, kept, each
        self._file: IO[bytes] | None = None
        self._began = 0.0  # of the newest file, on the clock of the records
        self._size = 0
        self._setting: Setting | None = None
        self._former: list[tuple[float, Path]] = []  # files that were begun here: when they ended

    def write(self, record: Record) -> None:
        """Append a record; begins a new file if it is time."""
        now = record.ended if isinstance(record, RunRecord) else record.at
        if isinstance(record, Setting):
            self._setting = record
        if self._file is None or now >= self._began + self._each or self._size >= MOST_BYTES:
            self._begin_file(now)
            if self._setting is not None and not isinstance(record, Setting):
                self._append(self._setting)
        self._append(record)

    def flush(self) -> None:
        """Hand what was written to the system, so that another process sees it."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, record: Record) -> None:
        assert self._file is not None
        data = to_line(record).encode(errors="backslashreplace")
        self._file.write(data)
        self._size += len(data)

    def _begin_file(self, now: float) -> None:
        if self._file is not None:
            self._former.append((now, Path(self._file.name)))
            self.close()
        self._folder.mkdir(exist_ok=True)
        files = _files(self._folder)
        number = 1 + (int(files[-1].stem) if files else 0)
        self._file = open(self._folder / f"{number:08}.jsonl", "xb")  # noqa: SIM115 - open until the next one begins
        self._began, self._size = now, 0
        self._remove_old(now, files)

    def _remove_old(self, now: float, files: list[Path]) -> None:
        """Remove files whose records are older than what is kept; of an earlier process, all but so many."""
        ended = {path: at for at, path in self._former}
        most = int(self._kept / self._each) + 1
        for place, path in enumerate(files):
            old = ended.get(path, now) < now - self._kept or (path not in ended and len(files) - place > most)
            if old or len(files) - place >= MOST_FILES:
                with suppress(OSError):
                    path.unlink()
        self._former = [(at, path) for at, path in self._former if at >= now - self._kept]


def read_history(directory: str | Path) -> History:
    """The history in a data directory, also while an engine writes it.

    It begins with the engine's last start or, if nothing has run since then, with the one before.
    Lines that are cut off are left out: the one that is being written, and one at which an engine died.
    """
    folder = Path(directory) / FOLDER
    if not folder.is_dir():
        raise HeadgateError(
            "there is no history here", where=str(directory), hint="give the directory of `headgate run FILE --dir DIR`"
        )
    starts: dict[float, list[Record]] = {}
    origin = 0.0
    with _without_collections():
        for path in _files(folder):
            with suppress(OSError):  # it was removed meanwhile
                for record in _records(path):
                    origin = record.origin if isinstance(record, Setting) else origin
                    starts.setdefault(origin, []).append(record)
    histories = [History.of(records) for _, records in sorted(starts.items(), reverse=True)]
    return next((history for history in histories if history.runs), (histories or [History()])[0])


@contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage meanwhile: a history is some hundred thousand objects, all of which stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _records(path: Path) -> Iterator[Record]:
    with open(path, "rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                with suppress(HeadgateError):
                    yield from_line(line)


def _files(folder: Path) -> list[Path]:
    paths = (path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    return sorted(paths, key=lambda path: int(path.stem))
