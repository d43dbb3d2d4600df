"""All sets of panes of an engine: shared by groups that need the same, one run at a time in each, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

from pyspark.sql import SparkSession

from headgate import logs
from headgate.model import EventTime
from headgate.spark.compile.leaf_rows import ReadableLog
from headgate.spark.compile.panes.pane_set import Contents, PaneSet
from headgate.spark.compile.quick_frames import Columns
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values

PANE_BYTES = 256 << 20  # bytes of panes that are kept
UNUSED = 300.0  # seconds after which a set is dropped: those who used it are in other groups now, with other sets
LONGEST_PAUSE = 256  # runs for which a set that failed is left alone

_log = logs.logger("engine")


@dataclass(slots=True)
class _Entry:
    """A set, who may use it now, and for how many runs it is left alone."""

    panes: PaneSet
    turn: Lock = field(default_factory=Lock)
    pause: int = 0
    next_pause: int = 1
    used: float = 0.0  # when it was last


class PaneSets:
    """The sets by log: a stream that was dropped and declared again has others, and so have made-up rows."""

    def __init__(self, budget: int | None = None, now: Callable[[], float] = monotonic) -> None:
        self._budget = PANE_BYTES if budget is None else budget
        self._now = now
        self._entries: list[_Entry] = []  # the one used last is the last
        self._changing = Lock()

    @contextmanager
    def use(self, spark: SparkSession, log: ReadableLog, contents: Contents) -> Iterator[PaneSet | None]:
        """A set that serves these contents, for one run; None: it failed lately and is left alone in this run.

        If the run fails on a row, the set is left alone for a while, and longer each time that it fails.
        """
        entry = self._entry(spark, log, contents)
        with entry.turn:
            if entry.pause:
                entry.pause -= 1
                yield None
                return
            try:
                yield entry.panes
            except SPARK_ERRORS as error:
                if may_be_of_values(error):
                    entry.pause, entry.next_pause = entry.next_pause, min(2 * entry.next_pause, LONGEST_PAUSE)
                raise
            entry.next_pause = 1
            if entry.panes.tree.size > self._budget:
                _log.debug("panes need too much memory", stream=contents.stream, bytes=entry.panes.tree.size)
                entry.panes.clear()
                entry.pause = entry.next_pause = LONGEST_PAUSE
        self._keep_budget()

    def keep_only(self, logs: Iterable[ReadableLog]) -> None:
        """Drop the sets of all other logs."""
        kept = {id(log) for log in logs}
        with self._changing:
            self._entries = [entry for entry in self._entries if id(entry.panes.log) in kept]

    def keep_users(self, alive: Collection[int]) -> None:
        """Drop what is kept for queries that are gone: all but those with these ids.

        A query whose groups change uses several sets, and tells only one of them in a run how far it is. Here all of
        them learn it: else a set would keep panes for a query that has got them elsewhere.
        """
        with self._changing:
            entries = [entry for entry in self._entries if entry.turn.acquire(blocking=False)]
        try:
            lows: dict[int, EventTime] = {}
            for entry in entries:
                for query, low in entry.panes.lows.items():
                    lows[query] = max(low, lows.get(query, low))
            for entry in entries:
                entry.panes.keep_users({query: low for query, low in lows.items() if query in alive})
            useless = {id(entry) for entry in entries if not entry.panes.lows}
        finally:
            for entry in entries:
                entry.turn.release()
        oldest = self._now() - UNUSED
        with self._changing:
            self._entries = [entry for entry in self._entries if id(entry) not in useless and entry.used >= oldest]

    def _entry(self, spark: SparkSession, log: ReadableLog, contents: Contents) -> _Entry:
        with self._changing:
            # Of several that serve, the one used last: to take turns would fold every row into each of them.
            found = (entry for entry in reversed(self._entries) if entry.panes.log is log)
            entry = next((entry for entry in found if entry.panes.contents.serves(contents)), None)
            if entry is None:
                entry = _Entry(PaneSet(spark, Columns(), log, contents))
            else:
                self._entries.remove(entry)
            entry.used = self._now()
            self._entries.append(entry)
            return entry

    def _keep_budget(self) -> None:
        """Drop the sets that were not used for the longest time."""
        with self._changing:
            while len(self._entries) > 1 and sum(entry.panes.tree.size for entry in self._entries) > self._budget:
                self._entries.pop(0)
