"""Reading the history of a data directory, and reading on: what was read before is not read again.

An engine appends lines to the newest file and now and then removes the oldest one (see `ring`). A reader remembers how
far it has come in each file, so that asking once a second costs what was written in that second.
"""

from __future__ import annotations

import fcntl
import gc
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BytesIO
from math import inf
from pathlib import Path

from headgate.history.history import History
from headgate.history.lines import LineReader, from_line
from headgate.history.records import VERSION, Arrivals, Delivery, Record, RunRecord, RunStart, Setting
from headgate.model import HeadgateError

FOLDER = "history"
SETTING = b'{"setting"'
_RUNS = (b'{"run"', b'{"start"')
_DELIVERY, _QUERY = b'{"delivery"', b'"query":"'
_NAME = re.compile(r"\d{8,}\.jsonl")


@dataclass(slots=True)
class _Part:
    """What one file has of one start of an engine."""

    settings: list[Setting] = field(default_factory=list)
    runs: list[RunRecord] = field(default_factory=list)
    arrivals: list[Arrivals] = field(default_factory=list)
    lines: int = 0  # others than settings
    has_runs: bool = False  # or starts of runs
    _delivered: dict[str, list[Delivery]] = field(default_factory=dict)
    _lines: dict[bytes, list[bytes]] = field(default_factory=dict)  # of deliveries, by query: decoded when asked for

    def add(self, record: Record) -> None:
        if isinstance(record, RunRecord):
            self.runs.append(record)
        elif isinstance(record, Arrivals):
            self.arrivals.append(record)

    def add_delivery(self, line: bytes) -> None:
        """Take the line of a delivery. There are more of them than of all others, and few are asked for."""
        begin = line.find(_QUERY) + len(_QUERY)
        self._lines.setdefault(line[begin : line.find(b'"', begin)], []).append(line)

    def deliveries(self, query: str) -> list[Delivery]:
        """What a query's sink has taken."""
        lines = self._lines.pop(query.encode(errors="backslashreplace"), ())
        if lines:
            self._delivered.setdefault(query, []).extend(_deliveries(lines))
        return self._delivered.get(query, [])

    def queries(self) -> set[str]:
        """The queries whose sinks have taken something."""
        return {*self._delivered, *(name.decode(errors="replace") for name in self._lines)}


@dataclass(slots=True)
class EngineStart:
    """What an engine wrote from one start on, as far as it has been read; records are in the order of writing."""

    origin: float = -inf  # when it began; not known if no setting is
    version: int = VERSION
    _parts: dict[Path, _Part] = field(default_factory=dict)
    _lines: LineReader = field(default_factory=LineReader)

    @property
    def settings(self) -> list[Setting]:
        return [setting for part in self._parts.values() for setting in part.settings]

    @property
    def runs(self) -> list[RunRecord]:
        """Runs in the order in which they ended."""
        return [run for part in self._parts.values() for run in part.runs]

    def under_way(self) -> list[RunStart]:
        """Runs of which only the beginning is known, in the order in which they began."""
        return list(self._lines.under_way())

    def deliveries(self, query: str) -> list[Delivery]:
        """What a query's sink has taken."""
        return [one for part in self._parts.values() for one in part.deliveries(query)]

    @property
    def is_empty(self) -> bool:
        return not self._parts

    @property
    def has_lines(self) -> bool:
        return any(part.lines for part in self._parts.values())

    @property
    def has_runs(self) -> bool:
        return any(part.has_runs for part in self._parts.values())

    def add_setting(self, path: Path, setting: Setting) -> None:
        self._part(path).settings.append(setting)

    def add_lines(self, path: Path, lines: Sequence[bytes]) -> None:
        """Take lines of a file, which are no settings; those of another version cannot be read."""
        part = self._part(path)
        part.lines += len(lines)
        part.has_runs = part.has_runs or any(line.startswith(_RUNS) for line in lines)
        if self.version != VERSION:
            return
        others: list[bytes] = []
        for line in lines:
            if line.startswith(_DELIVERY):
                part.add_delivery(line)
            else:
                others.append(line)
        for record in self._lines.read(others, path):
            part.add(record)

    def forget(self, path: Path) -> None:
        """A file is gone, and with it what was in it."""
        if self._parts.pop(path, None) is not None:
            self._lines.forget(path)

    def history(self) -> History:
        """All of it, put in order."""
        history = History(runs=self.runs, settings=self.settings, under_way=self.under_way())
        for part in self._parts.values():
            for arrivals in part.arrivals:
                history.arrivals.setdefault(arrivals.stream, []).extend(arrivals.chunks)
            for query in sorted(part.queries()):
                if made := part.deliveries(query):
                    history.deliveries.setdefault(query, []).extend(made)
        return history.in_order()

    def _part(self, path: Path) -> _Part:
        return self._parts.setdefault(path, _Part())


class HistoryReader:
    r"""Reads files of a history, and later what has come since. Used by one thread at a time.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "00000001.jsonl"
    ...     _ = path.write_bytes(b'{"setting":{"at":1.0,"origin":1.0,"header":{},"version":2}}\n')
    ...     reader = HistoryReader(lambda: [path], folder)
    ...     first = reader.read(), reader.read()
    ...     with path.open("ab") as file:
    ...         _ = file.write(b'{"delivery":{"at":2.0,"query":"fire","commit":1}}\n')
    ...     first, reader.read(), list(reader.history().deliveries)
    ((True, False), True, ['fire'])
    """

    def __init__(self, files: Callable[[], Sequence[Path]], where: str) -> None:
        self._files, self._where = files, where
        self._begin()

    @classmethod
    def of_directory(cls, directory: str | Path) -> HistoryReader:
        """A reader of a data directory."""
        folder = Path(directory) / FOLDER
        return cls(lambda: history_files(folder), str(directory))

    def _begin(self) -> None:
        self._read: dict[Path, tuple[int, int]] = {}  # how long a file was, and how much of that was whole lines
        self._unnamed = self._current = EngineStart()  # for lines before any setting
        self._starts: dict[float, EngineStart] = {}

    def read(self) -> bool:
        """Read what has come since the last time, and forget files that are gone; whether there was anything."""
        files = list(self._files())
        if any(_size(path) < before for path, (before, _) in self._read.items() if path in files):
            self._begin()  # a file is shorter than it was: it is another one
        gone = [path for path in self._read if path not in set(files)]
        for path in gone:
            self._forget(path)
        with _without_collections():
            changed = [path for path in files if self._read_on(path)]
        return bool(gone or changed)

    def newest(self) -> EngineStart:
        """The newest start with runs, else the newest; as far as it has been read."""
        starts = self._known()
        readable = [start for start in starts if start.version == VERSION]
        if starts and not readable:
            raise HeadgateError(
                f"this history has the form of another version of Headgate: {starts[-1].version}, not {VERSION}",
                where=self._where,
                hint="read it with that version, or run the engine once more",
            )
        found = next((start for start in reversed(readable) if start.has_runs), None)
        return found or (readable[-1] if readable else EngineStart())

    def is_live(self, start: EngineStart) -> bool:
        """Whether an engine writes what belongs to a start."""
        starts = self._known()
        return bool(starts and start is starts[-1] and self._read and _is_written(max(self._read, key=_number)))

    def history(self) -> History:
        """The history of the newest start with runs, with what has come meanwhile."""
        self.read()
        start = self.newest()
        with _without_collections():
            history = start.history()
        if start.has_lines and not (history.settings or history.runs or history.under_way):
            raise HeadgateError(
                "the history here cannot be read: no line of it is whole",
                where=self._where,
                hint=f"remove the folder {FOLDER} in it; nothing else is lost with it",
            )
        if self.is_live(start):
            history.until = time.time()
        return history

    def _known(self) -> list[EngineStart]:
        starts = sorted((one for one in self._starts.values() if not one.is_empty), key=lambda one: one.origin)
        return starts or ([] if self._unnamed.is_empty else [self._unnamed])

    def _read_on(self, path: Path) -> bool:
        """Read the whole lines that a file has got; whether it has grown."""
        before, begin = self._read.get(path, (-1, 0))
        try:
            if _size(path) == before:
                return False
            with open(path, "rb") as file:
                file.seek(begin)
                data = file.read()
        except OSError:  # it may have been removed meanwhile
            return False
        whole = data.rfind(b"\n") + 1
        self._read[path] = begin + len(data), begin + whole
        self._take(path, data[:whole])
        return True

    def _take(self, path: Path, data: bytes) -> None:
        lines: list[bytes] = []
        for line in BytesIO(data):
            if not line.startswith(SETTING):
                lines.append(line)
            elif (setting := setting_of_line(line)) is not None:
                self._add(path, lines)
                lines = []
                made = EngineStart(setting.origin, setting.version)
                self._current = self._starts.setdefault(setting.origin, made)
                self._current.add_setting(path, setting)
        self._add(path, lines)

    def _add(self, path: Path, lines: list[bytes]) -> None:
        if lines:
            self._current.add_lines(path, lines)

    def _forget(self, path: Path) -> None:
        del self._read[path]
        for start in (self._unnamed, *self._starts.values()):
            start.forget(path)
        self._starts = {
            origin: start for origin, start in self._starts.items() if start is self._current or not start.is_empty
        }


def history_files(folder: Path) -> list[Path]:
    """The files of a history, the oldest first."""
    if not folder.is_dir():
        raise HeadgateError(
            "there is no history here",
            where=str(folder.parent),
            hint="give the directory of `headgate run FILE --dir DIR`",
        )
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), key=_number)


def setting_of_line(line: bytes) -> Setting | None:
    """The setting in a line; None if it is cut off."""
    with suppress(HeadgateError):
        record = from_line(line)
        return record if isinstance(record, Setting) else None
    return None


def _deliveries(lines: Sequence[bytes]) -> Iterator[Delivery]:
    """The deliveries of lines; those that are damaged are left out."""
    for line in lines:
        with suppress(HeadgateError):
            record = from_line(line)
            if isinstance(record, Delivery):
                yield record


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def _size(path: Path) -> float:
    """The bytes of a file; infinity if it has just been removed."""
    try:
        return path.stat().st_size
    except OSError:
        return inf


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
