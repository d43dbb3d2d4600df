"""Maintenance: merge result files, shorten the commit log, drop old tuples and give memory back, in the background.

It is due after many runs; after fewer, when the last one was a while ago.
"""

from __future__ import annotations

from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.lifecycle import TRANSIENT, Life, QueryState
from headgate.spark.machine.messages import Answer
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.tasks import DropTuples, Maintain

EVERY = 200  # runs from one maintenance to the next
REST = 30.0  # seconds after which fewer runs are enough
_SOON = 0.1  # of the runs, before it is tried again
_NOT_PLACED = TRANSIENT | {QueryState.SCHEDULED}  # the positions of such a query may still go back


class Maintenance:
    """Decides when maintenance is due and which tuples no query will read again."""

    def __init__(self, context: MachineContext, runs: Runs, delivery: Delivery, preparation: Preparation) -> None:
        self._context, self._runs, self._delivery, self._preparation = context, runs, delivery, preparation
        self.busy = False
        self._last_run = self._since = 0.0  # the run of the last maintenance; since when there have been runs after it

    @property
    def newest_unneeded(self) -> int:
        """The newest commit such that no sink and no fragment log needs it or any commit before it."""
        needed = [self._context.certain_commit + 1, self._delivery.oldest_commit]
        for remembered in self._context.remembered.values():
            needed += [number for _, number, _ in remembered.unappended]
            needed += [] if remembered.first_undelivered is None else [remembered.first_undelivered]
        needed += [number for life in self._context.lives.values() for _, number, _ in life.unappended]
        return int(min(needed)) - 1

    def watch(self) -> None:
        """Start maintenance if it is due; it waits for queries that are about to be placed, but not for ever."""
        if self._runs.runs == self._last_run:
            self._since = self._context.now
        urgency = self._urgency
        if urgency < 1 or self.busy or self._runs.closing or self._runs.restart_reason:
            return
        if urgency < 2 and any(life.state in TRANSIENT for life in self._context.lives.values()):
            return
        self._last_run, self._since = self._runs.runs, self._context.now
        self.busy = True
        placements = self._preparation.placements
        resume_points = None
        reading = self._reading
        if not self._unclaimed and not any(map(_is_unplaced, reading)):
            resume_points = tuple(life.resume_point() for life in reading)
        self._delivery.retry_for_removed_queries()
        self._delivery.flush()
        # A query that comes meanwhile is not among them: what is kept for its runs is made again, which does no harm.
        layouts = tuple(
            layout
            for life in self._context.lives.values()
            for layout in (life.layout, life.unfragmented)
            if layout is not None
        )
        self._context.submit(
            Maintain(self.newest_unneeded, resume_points, layouts),
            lambda answer: self._maintained(answer, placements),
        )

    @property
    def _urgency(self) -> float:
        """1 when maintenance is due, 2 when it is as long overdue again."""
        return max((self._runs.runs - self._last_run) / EVERY, (self._context.now - self._since) / REST)

    @property
    def _unclaimed(self) -> bool:
        """Whether commits remember a query that may go on with tuples that are there now, and that nobody declared."""
        later = self._beginning_later
        remembered = self._context.remembered.items()
        return any(not query.description.get("done") and name not in later for name, query in remembered)

    @property
    def _reading(self) -> list[Life]:
        """The queries that may read tuples that are there now."""
        over = (QueryState.DONE, QueryState.STOPPED)
        later = self._beginning_later
        return [life for name, life in self._context.lives.items() if life.state not in over and name not in later]

    @property
    def _beginning_later(self) -> set[str]:
        """The queries whose start lies ahead and that read only what comes from then on."""
        remembered = self._context.remembered
        return {
            name
            for name, life in self._context.lives.items()
            if life.state is QueryState.SCHEDULED and life.query.since == "now"
            if name not in remembered or not remembered[name].has_begun
        }

    def _maintained(self, answer: Answer, placements: int) -> None:
        self.busy = False
        if answer.error is not None:
            self._context.log("error", "maintenance failed", why=self._context.explain(answer.error))
            return
        if answer.value and placements != self._preparation.placements:
            self._last_run -= (1 - _SOON) * EVERY  # a query that came meanwhile may need them
        elif answer.value:
            # A query that starts from now on must not read tuples that are about to be dropped.
            self._preparation.stream_starts.update(answer.value)
            self._context.submit(DropTuples(dict(answer.value)), self._dropped)

    def _dropped(self, answer: Answer) -> None:
        if answer.error is not None:
            self._context.log("error", "old tuples could not be dropped", why=self._context.explain(answer.error))
            return
        for life in self._context.lives.values():
            life.forget_reported(answer.value)


def _is_unplaced(life: Life) -> bool:
    return life.state in _NOT_PLACED or life.layout is None or life.reopen_from is not None
