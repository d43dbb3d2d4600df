"""The history of the engine, read on whenever somebody asks: a question costs what is new since the last one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes

from headgate.history.reading import FOLDER, HistoryReader, history_files
from headgate.history.records import Delivery, RunRecord, RunStart
from headgate.insight.why import Explainer
from headgate.server.workspace.names import Names
from headgate.server.workspace.own_history import own_history

FRESH = 2.0  # seconds that an explainer may be old
MOST = 16  # tenants whose histories are kept


@dataclass(frozen=True, slots=True)
class RecentRuns:
    """What has run since the engine's last start; if nothing has, since the one before, which is over then."""

    started: float  # when that was, in seconds since 1970; 0 if there is no record at all
    ended: list[RunRecord]  # in the order in which they ended; last those during which an engine died
    running: list[RunStart]
    workers: int

    @property
    def so_far(self) -> list[RunRecord]:
        """All of them, those that run as if they ended now."""
        return [*self.ended, *(_unfinished(start, start.began) for start in self.running)]


class Histories:
    """Reads the history on when it is asked for; one thread reads at a time, and the others get what it has read."""

    def __init__(self, fresh: float = FRESH) -> None:
        self._fresh = fresh
        self._lock = threading.Lock()
        self._directory: Path | None = None
        self._reader: HistoryReader | None = None
        self._changes = 0  # how often something new was read
        self._made: tuple[float, int, Explainer] | None = None  # when, and at which change
        self._own: OrderedDict[str, tuple[Explainer, Explainer]] = OrderedDict()  # by tenant: of what it was made
        self._secret = token_bytes(16)

    def runs(self, directory: Path) -> RecentRuns:
        """What has run lately."""
        with self._lock:
            reader = self._read_on(directory)
            start = reader.newest()
            if start.is_empty:
                return RecentRuns(0.0, [], [], 1)
            ended, begun, settings = start.runs, start.under_way(), start.settings
            workers = int(settings[-1].header.get("workers", 1)) if settings else 1
            if reader.is_live(start):
                return RecentRuns(start.origin, ended, begun, workers)
        last = max([*(run.ended for run in ended), *(start.began for start in begun)], default=0.0)
        return RecentRuns(start.origin, [*ended, *(_unfinished(one, last) for one in begun)], [], workers)

    def deliveries(self, directory: Path, query: str) -> list[Delivery]:
        """What the sink of a query, by the engine's name, has taken lately."""
        with self._lock:
            return self._read_on(directory).newest().deliveries(query)

    def explainer(self, directory: Path, names: Names) -> Explainer:
        """What explains the history, as a tenant may see it."""
        with self._lock:
            whole = self._whole(directory)
            if not names.tenant:
                return whole
            kept = self._own.pop(names.tenant, None)
            if kept is None or kept[0] is not whole:
                kept = whole, Explainer(own_history(whole.history, names))
            self._own[names.tenant] = kept
            while len(self._own) > MOST:
                self._own.popitem(last=False)
            return kept[1]

    def number(self, run: int, names: Names) -> int:
        """The number by which somebody may know a run: for a tenant one that tells nothing of how many others ran."""
        if not names.tenant:
            return run
        digest = blake2b(f"{names.tenant} {run}".encode(), key=self._secret, digest_size=6).digest()
        return 1 + int.from_bytes(digest)  # exact as a number of JavaScript

    def _read_on(self, directory: Path) -> HistoryReader:
        if self._reader is None or directory != self._directory:
            folder = directory / FOLDER
            self._reader = HistoryReader(lambda: history_files(folder) if folder.is_dir() else [], str(directory))
            self._directory, self._made = directory, None
        self._changes += self._reader.read()
        return self._reader

    def _whole(self, directory: Path) -> Explainer:
        now = time.monotonic()
        if self._made is not None and directory == self._directory and now < self._made[0] + self._fresh:
            return self._made[2]
        reader = self._read_on(directory)
        if self._made is None or self._made[1] != self._changes:
            self._made = now, self._changes, Explainer(reader.history())
        return self._made[2]


def _unfinished(start: RunStart, last: float) -> RunRecord:
    return RunRecord.of_start(start, max(last, start.began), max(last, start.began), unfinished=True)
