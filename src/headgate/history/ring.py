"""The history that an engine keeps in its data directory: files of a minute each, the oldest of which are removed.

    history/00000012.jsonl     lines of records (see `lines`); the first is the setting at that time

The newest file is locked while an engine writes it, so that a reader knows whether it does.

Nothing is recovered from it, so lines are not forced to disk, and a full disk stops nothing: what could not be written
is missing.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from headgate.history.history import History
from headgate.history.lines import to_lines
from headgate.history.reading import FOLDER, SETTING, HistoryReader, history_files, setting_of_line
from headgate.history.records import Record, Setting, moment_of

__all__ = ["FOLDER", "KEPT", "HistoryRing", "is_history_file", "raw_history", "read_history", "read_history_file"]

KEPT = 600.0  # seconds
EACH = 60.0  # seconds in a file
MOST_BYTES = 8 << 20  # in a file: a busy engine fills one in less than a minute
MOST_FILES = 24


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
        now = moment_of(record)
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
        data = to_lines(record)
        self._file.write(data)
        self._size += len(data)

    def _begin_file(self, now: float) -> None:
        if self._file is not None:
            self._former.append((now, Path(self._file.name)))
            self.close()
        self._folder.mkdir(exist_ok=True)
        files = history_files(self._folder)
        number = 1 + (int(files[-1].stem) if files else 0)
        self._file = open(self._folder / f"{number:08}.jsonl", "xb")  # noqa: SIM115 - open until the next one begins
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    return HistoryReader.of_directory(directory).history()


def read_history_file(path: Path) -> History:
    """The history in one file, as `raw_history` gives it."""
    return HistoryReader(lambda: [path], str(path)).history()


def is_history_file(path: Path) -> bool:
    """Whether a file has lines of a history, and not of a trace."""
    with open(path, "rb") as file:
        return file.read(16).startswith(SETTING)


def raw_history(directory: str | Path) -> Iterator[bytes]:
    """The lines of the history in a data directory, from the engine's last start on; a file of them can be read."""
    folder = Path(directory) / FOLDER
    starts = _raw_starts(history_files(folder)) if folder.is_dir() else {}
    if starts:
        yield from starts[max(starts)]


def _raw_starts(files: Sequence[Path]) -> dict[float, list[bytes]]:
    """Whole lines by the start of an engine, settings first."""
    settings: dict[float, list[bytes]] = {}
    others: dict[float, list[bytes]] = {}
    lines: list[bytes] = []  # before any setting: nobody's
    for path in files:
        with suppress(OSError), open(path, "rb") as file:  # it may have been removed meanwhile
            for line in file:
                if not line.startswith(SETTING):
                    if line.endswith(b"\n"):
                        lines.append(line)
                elif (setting := setting_of_line(line)) is not None:
                    settings.setdefault(setting.origin, []).append(to_lines(setting))
                    lines = others.setdefault(setting.origin, [])
    return {origin: [*made, *others[origin]] for origin, made in settings.items()}
