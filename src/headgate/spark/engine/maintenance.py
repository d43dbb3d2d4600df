"""Retention: every so many commits small files are merged, the commit log is shortened, old tuples are dropped."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.spark.engine.context import Desk
from headgate.spark.engine.delivery import Delivering
from headgate.spark.engine.lifecycle import PASSING, State
from headgate.spark.engine.messages import Answer
from headgate.spark.engine.preparing import Known, Preparing
from headgate.spark.engine.runs import Running
from headgate.spark.engine.tasks import Drop, Tidy

EVERY = 200  # runs between two times
_NOT_PLACED = PASSING | {State.SCHEDULED}  # where such a query will stand is not certain: it may be put back


class Retaining:
    """Decides when to tidy up, and what no query will read again."""

    def __init__(self, desk: Desk, running: Running, delivering: Delivering, preparing: Preparing) -> None:
        self._desk, self._running, self._delivering, self._preparing = desk, running, delivering, preparing
        self.busy = False
        self.known: Mapping[str, Known] = {}  # queries of a former life that have not come back; set by the machine
        self._last = 0

    @property
    def bound(self) -> int:
        """The newest commit that nobody needs any more, nor any before it: no sink, no query for its rows inside."""
        needed = [self._desk.certain + 1, self._delivering.first]
        for known in self.known.values():
            needed += [number for _, number, _ in known.owed]
            needed += [] if known.uncalled is None else [known.uncalled]
        needed += [number for life in self._desk.lives.values() for _, number, _ in life.owed]
        return int(min(needed)) - 1

    def watch(self) -> None:
        if self._running.runs - self._last < EVERY or self.busy or self._running.still or self._running.away:
            return
        self._last = self._running.runs
        self.busy = True
        placed = self._preparing.placed
        lives = self._desk.lives.values()
        standings = None
        unclaimed = any(not known.said.get("done") for known in self.known.values())
        if not unclaimed and not any(life.state in _NOT_PLACED or life.shape is None for life in lives):
            reading = (life for life in lives if life.state not in (State.DONE, State.STOPPED))
            standings = tuple(life.standing() for life in reading)
        self._delivering.flush()
        self._desk.give(Tidy(self.bound, standings), lambda answer: self._tidied(answer, placed))

    def _tidied(self, answer: Answer, placed: int) -> None:
        self.busy = False
        if answer.error is not None:
            self._desk.tell("error", "tidying up failed", why=self._desk.explain(answer.error))
            return
        if answer.value and placed == self._preparing.placed:
            # A query that starts from now on does not begin before this, though it may still be there for a while.
            self._preparing.floors.update(answer.value)
            self._desk.give(Drop(dict(answer.value)), self._dropped)

    def _dropped(self, answer: Answer) -> None:
        if answer.error is not None:
            self._desk.tell("error", "old tuples could not be dropped", why=self._desk.explain(answer.error))
            return
        for life in self._desk.lives.values():
            life.forget_told(answer.value)
