"""The history that an engine keeps in its data directory: files of a minute each, the oldest of which are removed.

    history/00000012.jsonl     lines of records (see `lines`); the first is the setting at that time

The newest file is locked while an engine writes it, so that a reader knows whether it does.

Nothing is recovered from it, so lines are not forced to disk, and a full disk stops nothing: what could not be written
is missing.
"""

from __future__ import annotations

import fcntl
import gc
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from headgate.history.history import History
from headgate.history.lines import from_line, from_lines, to_lines
from headgate.history.records import VERSION, Record, Setting, moment_of
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
        files = _files(self._folder)
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
    folder = Path(directory) / FOLDER
    if not folder.is_dir():
        raise HeadgateError(
            "there is no history here", where=str(directory), hint="give the directory of `headgate run FILE --dir DIR`"
        )
    return _history(_files(folder), str(directory))


def read_history_file(path: Path) -> History:
    """The history in one file, as `raw_history` gives it."""
    return _history([path], str(path))


def is_history_file(path: Path) -> bool:
    """Whether a file has lines of a history, and not of a trace."""
    with open(path, "rb") as file:
        return file.read(16).startswith(b'{"setting"')


def raw_history(directory: str | Path) -> Iterator[bytes]:
    """The lines of the history in a data directory, from the engine's last start on; a file of them can be read."""
    folder = Path(directory) / FOLDER
    starts = _starts(_files(folder)) if folder.is_dir() else []
    if starts:
        for setting in starts[-1].settings:
            yield to_lines(setting)
        for line in starts[-1].lines:
            if line.endswith(b"\n"):
                yield line


def _history(files: Sequence[Path], where: str) -> History:
    starts = _starts(files)
    readable = [start for start in starts if start.version == VERSION]
    if starts and not readable:
        raise HeadgateError(
            f"this history has the form of another version of Headgate: {starts[-1].version}, not {VERSION}",
            where=where,
            hint="read it with that version, or run the engine once more",
        )
    chosen = next((start for start in reversed(readable) if start.has_runs), readable[-1] if readable else _Start())
    with _without_collections():
        history = History.of([*chosen.settings, *from_lines(chosen.lines)])
    if chosen.lines and not (history.settings or history.runs or history.under_way):
        raise HeadgateError(
            "the history here cannot be read: no line of it is whole",
            where=where,
            hint=f"remove the folder {FOLDER} in it; nothing else is lost with it",
        )
    if starts and chosen is starts[-1] and _is_written(files[-1]):
        history.until = time.time()
    return history


@dataclass(slots=True)
class _Start:
    """What an engine wrote from one start on."""

    version: int = VERSION
    settings: list[Setting] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)  # the others, not decoded

    @property
    def has_runs(self) -> bool:
        return any(line.startswith((b'{"run"', b'{"start"')) for line in self.lines)


def _starts(files: Sequence[Path]) -> list[_Start]:
    """The starts that files tell of, the newest last."""
    starts: dict[float, _Start] = {}
    current = _Start()  # lines before any setting
    for path in files:
        with suppress(OSError), open(path, "rb") as lines:  # it may have been removed meanwhile
            for line in lines:
                if not line.startswith(b'{"setting"'):
                    current.lines.append(line)
                elif (setting := _setting(line)) is not None:
                    current = starts.setdefault(setting.origin, _Start(setting.version))
                    current.settings.append(setting)
    if not starts and current.lines:
        return [current]
    return [start for _, start in sorted(starts.items())]


def _setting(line: bytes) -> Setting | None:
    """The setting in a line; None if it is cut off."""
    with suppress(HeadgateError):
        record = from_line(line)
        return record if isinstance(record, Setting) else None
    return None


def _is_written(file: Path) -> bool:
    """Whether an engine writes a file: it then has it locked."""
    try:
        with open(file, "rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


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


def _files(folder: Path) -> list[Path]:
    paths = (path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    return sorted(paths, key=lambda path: int(path.stem))
