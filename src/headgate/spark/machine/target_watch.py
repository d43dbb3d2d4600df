"""Follows the targets of queries, and writes into the journal when one is missed, and when it is met again."""

from __future__ import annotations

from math import floor, inf

from headgate.metrics.measures.targets import WINDOW, TargetState, TargetStatus, TargetTracker, reached
from headgate.model import effective_target
from headgate.model.number_text import duration
from headgate.spark.machine.followed_target import FollowedTarget
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.recent_results import Floats
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling

LOOK = 1.0  # seconds between two looks at all targets
QUIET = 10.0  # seconds in which the journal gets at most one line of a query's target
ANSWERING = (QueryState.RUNNING, QueryState.WAITING)  # states in which results are expected


class TargetWatch:
    """Knows how queries do by their targets. What counts for a query is asked each time, since its class may change."""

    def __init__(self, scheduling: Scheduling, runs: Runs) -> None:
        self._context, self._scheduling, self._runs = scheduling.context, scheduling, runs
        self._next_look = -inf

    def committed(self, life: Life, at: float, took: Floats) -> None:
        """Results of a query were committed."""
        if (followed := self._followed(life)) is not None:
            followed.tracker.add(at, took)
            self._tell(life, followed.tracker.status(self._context.now))

    def status(self, life: Life) -> TargetStatus | None:
        """How a query does; what its results took is left to those who have them at hand."""
        if (followed := self._followed(life)) is None:
            return None
        status = followed.tracker.status(self._context.now)
        if status.state is not TargetState.NO_RESULTS or life.state not in ANSWERING:
            return status
        return followed.tracker.status(self._context.now, self._waited(life))

    def watch(self) -> None:
        """Look at all targets, if it is time for that."""
        if self._context.now < self._next_look:
            return
        self._next_look = self._context.now + LOOK
        for life in self._context.lives.values():
            if (status := self.status(life)) is not None:
                self._tell(life, status)

    def _waited(self, life: Life) -> float:
        """For how long a tuple has waited by now, or a run with its tuples has been under way."""
        since = self._scheduling.waiting_since(life)
        if life.busy:
            active_runs = self._runs.active_runs.values()
            since = min([since, *(active.run.began for active in active_runs if life in active.members)])
        return max(0.0, self._context.now - since)

    def _followed(self, life: Life) -> FollowedTarget | None:
        tally, query = life.tally, life.query
        query_class = self._scheduling.scheduler.network.classes.get(query.query_class)
        target = None if query_class is None else effective_target(query, query_class)
        if target is None:
            tally.target = None
        elif tally.target is None or tally.target.tracker.target != target:
            tally.target = FollowedTarget(TargetTracker(target))
        return tally.target

    def _tell(self, life: Life, status: TargetStatus) -> None:
        followed, now = life.tally.target, self._context.now
        assert followed is not None
        if status.state in (TargetState.NO_RESULTS, followed.told) or now < followed.told_at + QUIET:
            return
        before, followed.told, followed.told_at = followed.told, status.state, now
        took = reached(life.tally.recent.since(now - WINDOW), status.target.percentile)
        self._context.note(life, f"target {before}", f"target {status.state}", _reason(status, took))


def _reason(status: TargetStatus, took: float | None) -> str:
    """Why a target is missed or met, in numbers."""
    target = status.target
    if took is None or status.overdue:
        return f"target {target}: a tuple has waited for {duration(status.reached or 0.0)}, and no result came"
    percentile = str(target).split()[0]
    found = f"target {target}: {percentile} was {duration(took)} over the last {WINDOW:g} s"
    if status.state is TargetState.MISSED:
        return f"{found}, {duration(max(0.0, took - target.seconds))} too long"
    return found if status.share is None else f"{found}; met {floor(100 * status.share)} % of the time"
