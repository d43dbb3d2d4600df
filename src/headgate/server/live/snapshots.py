"""Snapshots of the engine, shared by all who ask: made at most some times a second, and anew after every command.

Looking at the engine takes time of its owner thread, 40 µs for each query. So one snapshot serves the list of queries,
the status, the events and the metrics. It is made when somebody asks. Who asks a little later than it serves gets it
all the same, and the next one is made meanwhile; who asks after a command, or after a long time, waits for a new one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.model import HeadgateError
from headgate.server.live.failing import FailingTuples
from headgate.server.live.numbers import QueryNumbers, query_numbers
from headgate.server.live.response_times import SumsCache, TimesCache
from headgate.spark.machine.views import Overview
from headgate.spark.session import Session
from headgate.spark.status import NO_DISK, letters_by_query
from headgate.spark.store.disk_watch import DiskStatus

PAGES = 20  # answers that are kept of one snapshot
YOUNG = 0.2  # seconds for which a snapshot serves
STALE = 1.0  # seconds after that for which it is given out while the next one is made
_NOTHING = {"tuples": 0, "kept_from": 0, "finished": False, "rate": 0.0}  # of a stream that is refused
SHARE = 0.1  # of the time that may go into making snapshots: one that takes long serves for longer


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The engine at one moment."""

    number: int
    at: float  # seconds since 1970
    seconds: float  # since the engine started
    jobs: int
    overview: Overview
    queries: Mapping[str, QueryNumbers]  # by their whole names
    streams: Mapping[str, Mapping[str, Any]]
    disk: DiskStatus = NO_DISK
    sums: SumsCache = field(default_factory=SumsCache)  # shared by all snapshots
    made: dict[str, Any] = field(default_factory=dict)  # what was made of it for tenants, by tenant
    pages: dict[Any, bytes] = field(default_factory=dict)  # answers that were made of it, by what was asked

    def page(self, asked: Any, make: Callable[[], bytes]) -> bytes:
        """An answer that is made of this snapshot alone: once for all who ask the same."""
        found = self.pages.get(asked)
        if found is None:
            found = make()
            if len(self.pages) < PAGES:
                self.pages[asked] = found
        return found


class Snapshots:
    """Makes snapshots of one session, one at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._began = session.engine.now()
        self._lock = threading.Lock()
        self._cache, self._sums, self._failing = TimesCache(), SumsCache(), FailingTuples()
        self._newest: Snapshot | None = None
        self._of = -1  # the change that the newest one has seen
        self._until = 0.0  # for how long it serves
        self._changes = 0
        self._made = 0

    def changed(self) -> None:
        """Something was changed by a command: whoever asks from now on gets a snapshot that has it."""
        self._changes += 1

    def current(self, fresh: bool = False) -> Snapshot:
        """The newest snapshot, or a new one if that is too old. Called in any thread but that of the event loop."""
        newest = self._newest
        if newest is not None and self._serves(0.0 if fresh else STALE):
            if not self._serves():
                self._make_meanwhile()
            return newest
        with self._lock:
            if self._newest is None or not self._serves():
                self._make()
            assert self._newest is not None
            return self._newest

    def _serves(self, longer: float = 0.0) -> bool:
        return self._of == self._changes and time.monotonic() < self._until + longer

    def _make_meanwhile(self) -> None:
        """Make the next one in a thread of its own, unless one is being made."""
        if self._lock.acquire(blocking=False):
            threading.Thread(target=self._make_and_release, name="headgate-snapshot", daemon=True).start()

    def _make_and_release(self) -> None:
        try:
            if not self._serves():
                self._make()
        except HeadgateError:  # the engine is being closed
            return
        finally:
            self._lock.release()

    def _make(self) -> None:
        changes, began = self._changes, time.monotonic()
        self._made += 1
        newest = self._taken()
        took = time.monotonic() - began
        self._newest, self._of = newest, changes
        self._until = began + took + max(YOUNG, took * (1 - SHARE) / SHARE)

    def _taken(self) -> Snapshot:
        engine = self._session.engine
        overview, now = engine.overview(), engine.now()
        letters = letters_by_query(engine)
        names = [view.query.name for view in overview.queries]
        failing = self._failing.since_a_minute(now, {name: letters[name] for name in names})
        former = {} if self._newest is None else self._newest.queries
        queries = {
            name: query_numbers(
                view, self._cache, now, letters[name], failing=failing.get(name, 0), former=former.get(name)
            )
            for name, view in zip(names, overview.queries, strict=True)
        }
        self._cache.keep(queries)
        return Snapshot(
            self._made,
            now,
            now - self._began,
            engine.runner.jobs,
            overview,
            queries,
            {name: numbers for name in sorted(engine.streams) if (numbers := self._stream(name, now)) is not None},
            engine.disk.look(),
            self._sums,
        )

    def _stream(self, name: str, now: float) -> dict[str, Any] | None:
        engine, sources = self._session.engine, self._session.sources.thread
        log, letters = engine.logs.get(name), engine.ingest.letters.get(name)
        if (refusal := engine.ingest.refused.get(name)) is not None:
            known = 0 if letters is None else letters.count()
            return {**_NOTHING, "dead_letters": known, "error": str(refusal)}
        if log is None or letters is None:  # it was dropped just now
            return None
        finished = log.finished_at is not None
        told = {"error": sources.errors.get(name), "note": sources.notes.get(name)}
        return {
            "tuples": log.end - finished,
            "kept_from": log.start,
            "finished": finished,
            "rate": round(log.rate(now), 3),
            "dead_letters": letters.count(),
            **{field: text for field, text in told.items() if text},
        }
