"""When Spark dies: restart it, check all queries again, and let those that ran continue from their last commit.

A restart that fails is tried again after a while, for good. Only a Spark that the program had is never restarted.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.spark.jvm.gone import SparkChangedError, SparkGoneError
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.interfaces import RememberedQuery, keyed, query_description
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer, SparkDied
from headgate.spark.machine.preparation import Preparation
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import CheckedQuery, CheckQuery, Prepared, PrepareTogether, RestartSpark

_RAN = (QueryState.RUNNING, QueryState.WAITING)  # a query in one of these states continues when Spark is back
_LEFT_ALONE = (QueryState.STOPPED, QueryState.CHECKING)
_AGAIN = "Spark was started again"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before a failed restart is tried again; each is twice the one before


class SparkRestart:
    """Restarts Spark. No run starts until it is back, and then queries must be checked again by the new Spark."""

    def __init__(
        self, context: MachineContext, scheduling: Scheduling, runs: Runs, preparation: Preparation, delivery: Delivery
    ) -> None:
        self.start: Callable[[Life], None]  # starts a query from before that Spark could not check; set by the machine
        self._context, self._scheduling, self._runs = context, scheduling, runs
        self._preparation, self._delivery = preparation, delivery
        self._unchecked: list[tuple[Life, QueryState]] = []  # Spark died while checking them; with their former states
        self._failures = 0  # restarts in a row that have failed
        self._paused = False  # until the next try

    def died(self, message: SparkDied) -> None:
        """Restart Spark after a message that it is dead, unless that has failed before."""
        if not self._runs.restart_error:
            self._restart(message.reason)

    def watch(self, answer: Answer) -> None:
        """After a task that failed because Spark had died: restart it or, if it is back, check queries again."""
        if isinstance(answer.task, RestartSpark):
            return
        failed = _error(answer)
        if isinstance(failed, SparkChangedError) and not self._runs.restart_reason:
            self._delivery.offer_after_restart()
            for life in [life for life in self._context.lives.values() if life.awaits_spark]:
                self._recheck(life)
            self._check_unchecked()
        elif isinstance(failed, SparkGoneError):
            self._restart(str(failed))

    def _restart(self, reason: str) -> None:
        """Submit a restart, unless one is under way."""
        if self._runs.closing:  # queries continue when the engine is opened again
            self._leave_unchecked(reason)
        if self._runs.restart_reason or self._runs.closing:
            return
        self._runs.restart_reason = reason = self._runs.end_reason or reason
        self._context.log("error", "Spark died", why=reason)
        self._context.submit(RestartSpark(), self._restarted)

    def _restarted(self, answer: Answer) -> None:
        reason = self._runs.restart_reason
        if answer.error is not None:
            self._restart_failed(answer.error)
            return
        self._runs.restart_reason = self._runs.restart_error = self._runs.end_reason = ""
        self._runs.blameless = False
        self._failures = 0
        self._context.log("warning", _AGAIN)
        for table, why in answer.value.items():
            self._context.log("warning", "a table was lost", table=table, why=why)
        if self._runs.closing:
            self._leave_unchecked(reason)
            return
        self._delivery.offer_after_restart()
        self._check_unchecked()
        for life in list(self._context.lives.values()):
            incomplete = life.state is QueryState.INCOMPLETE and life.awaits_spark
            if incomplete or (life.unfragmented is not None and life.state not in _LEFT_ALONE):
                self._recheck(life)

    def _restart_failed(self, failure: Exception) -> None:
        error = self._context.explain(failure)
        if isinstance(failure, SparkGoneError):
            self._give_up(error)
            return
        pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures += 1
        self._runs.restart_reason = error
        self._context.log("error", "Spark does not come back", why=error, failures=self._failures, again_in=pause)
        for life in self._context.lives.values():
            if life.awaits_spark and life.state in (QueryState.SUSPENDED, QueryState.INCOMPLETE):
                life.error = error  # so far its error said that Spark is being restarted
        if self._runs.closing:
            self._leave_unchecked(error)
            return
        self._paused = True
        self._context.call_at(self._context.now + pause, self._try_again)

    def _try_again(self) -> None:
        if self._paused:
            self._paused = False
            self._context.submit(RestartSpark(), self._restarted)

    def close(self) -> None:
        """The engine is being closed: if Spark is to be restarted later only, nobody waits for that."""
        if self._paused:
            self._paused = False
            self._leave_unchecked(self._runs.restart_reason)
            self._runs.abandon()

    def _give_up(self, error: str) -> None:
        """Suspend all running queries, since nobody restarts Spark."""
        self._runs.restart_reason, self._runs.restart_error = "", error
        self._context.log("error", "Spark does not come back", why=error)
        for life in list(self._context.lives.values()):
            if life.state is QueryState.SUSPENDED and life.awaits_spark:
                life.error = error  # so far its error said that Spark is being restarted
            elif life.state not in (QueryState.PAUSED, QueryState.DONE) or _has_undelivered(life):
                self._runs.suspend(life, error)  # paused and done queries need no Spark, except for a sink
        self._leave_unchecked(error)

    def _leave_unchecked(self, error: str) -> None:
        """Return queries that cannot be checked to their former states; those that ran are suspended."""
        unchecked, self._unchecked = self._unchecked, []
        for life, former in unchecked:
            if former in _RAN:
                self._context.change_state(life, QueryState.SUSPENDED, "failed", error)
            else:
                self._context.change_state(life, former, "as before", life.error)

    # -- checking queries again --------------------------------------------------------------------------------

    def _recheck(self, life: Life) -> None:
        """Check a query again once it is settled: what is under way for it will fail, since Spark has died."""
        self._context.when_settled(life, lambda: self._check(life))

    def _check(self, life: Life) -> None:
        if self._context.lives.get(life.name) is not life:  # it was stopped meanwhile
            return
        if life.state is QueryState.INCOMPLETE:
            if life.awaits_spark:
                self.start(life)
            return
        former = life.state
        life.awaits_spark = life.awaits_spark or former in _RAN
        self._scheduling.leave(life)
        self._context.change_state(life, QueryState.CHECKING, _AGAIN, "" if life.awaits_spark else life.error)
        self._submit_check(life, former)

    def _check_unchecked(self) -> None:
        unchecked, self._unchecked = self._unchecked, []
        for life, former in unchecked:
            self._submit_check(life, former)

    def _submit_check(self, life: Life, former: QueryState) -> None:
        self._context.submit(CheckQuery(life.query), lambda answer: self._checked(life, former, answer))

    def _checked(self, life: Life, former: QueryState, answer: Answer) -> None:
        if isinstance(answer.error, SparkGoneError):
            self._unchecked.append((life, former))
        elif answer.error is not None:
            life.awaits_spark = False
            self._context.change_state(
                life, QueryState.SUSPENDED, "Spark does not take it any more", self._context.explain(answer.error)
            )
        else:
            self._go_on(life, former, answer.value)

    def _go_on(self, life: Life, former: QueryState, checked: CheckedQuery) -> None:
        whole = life.layout is None or life.layout.whole or former in (QueryState.SCHEDULED, QueryState.DONE)
        if not whole:  # its fragments are opened again
            life.reopen_from = RememberedQuery(query_description(life.resume_point()), keyed(life.positions))
        life.unfragmented = checked.unfragmented
        if whole and life.layout is not None:  # one whose start lies ahead has no layout yet
            life.layout = checked.unfragmented
        lost, life.awaits_spark = life.awaits_spark, False
        outbox = life.outbox
        if lost and outbox is not None and outbox.error and not outbox.awaits_spark:
            self._context.change_state(life, QueryState.SUSPENDED, "its sink failed meanwhile", outbox.error)
        elif lost:
            self._preparation.prepare(life, "goes on from its last commit")
        else:
            self._context.change_state(life, former, "as before", life.error)


def _error(answer: Answer) -> Exception | None:
    """Why a task has failed, or a part of it."""
    if isinstance(answer.task, PrepareTogether) and answer.error is None:
        return next((prepared.error for prepared in answer.value if prepared.error is not None), None)
    return answer.value.error if isinstance(answer.value, Prepared) else answer.error


def _has_undelivered(life: Life) -> bool:
    """Whether a done query has results for a sink that needs Spark; `resume` delivers them again."""
    return life.state is QueryState.DONE and life.outbox is not None and life.outbox.awaits_spark
