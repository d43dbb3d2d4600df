"""Retention: every so many commits small files are merged, the commit log is shortened, old tuples are dropped."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.lifecycle import PASSING, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.preparing import Preparing, RememberedQuery
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.tasks import Drop, Tidy

EVERY = 200  # runs between two times
_NOT_PLACED = PASSING | {QueryState.SCHEDULED}  # where such a query will stand is not certain: it may be put back


class Maintenance:
    """Decides when to tidy up, and what no query will read again."""

    def __init__(self, context: MachineContext, runs: Runs, delivery: Delivery, preparing: Preparing) -> None:
        self._context, self._runs, self._delivery, self._preparing = context, runs, delivery, preparing
        self.busy = False
        self.known: Mapping[
            str, RememberedQuery
        ] = {}  # queries of a former life that have not come back; set by the machine
        self._last = 0

    @property
    def bound(self) -> int:
        """The newest commit that nobody needs any more, nor any before it: no sink, no query for its rows inside."""
        needed = [self._context.certain + 1, self._delivery.first]
        for known in self.known.values():
            needed += [number for _, number, _ in known.owed]
            needed += [] if known.uncalled is None else [known.uncalled]
        needed += [number for life in self._context.lives.values() for _, number, _ in life.owed]
        return int(min(needed)) - 1

    def watch(self) -> None:
        if self._runs.runs - self._last < EVERY or self.busy or self._runs.still or self._runs.away:
            return
        self._last = self._runs.runs
        self.busy = True
        placed = self._preparing.placed
        lives = self._context.lives.values()
        standings = None
        unclaimed = any(not known.said.get("done") for known in self.known.values())
        if not unclaimed and not any(life.state in _NOT_PLACED or life.layout is None for life in lives):
            reading = (life for life in lives if life.state not in (QueryState.DONE, QueryState.STOPPED))
            standings = tuple(life.resume_point() for life in reading)
        self._delivery.flush()
        self._context.give(Tidy(self.bound, standings), lambda answer: self._tidied(answer, placed))

    def _tidied(self, answer: Answer, placed: int) -> None:
        self.busy = False
        if answer.error is not None:
            self._context.tell("error", "tidying up failed", why=self._context.explain(answer.error))
            return
        if answer.value and placed == self._preparing.placed:
            # A query that starts from now on does not begin before this, though it may still be there for a while.
            self._preparing.floors.update(answer.value)
            self._context.give(Drop(dict(answer.value)), self._dropped)

    def _dropped(self, answer: Answer) -> None:
        if answer.error is not None:
            self._context.tell("error", "old tuples could not be dropped", why=self._context.explain(answer.error))
            return
        for life in self._context.lives.values():
            life.forget_told(answer.value)
