"""When Spark dies: it is started again, queries are checked anew, and those that ran go on from their last commit."""

from __future__ import annotations

from headgate.spark.jvm.gone import SparkChangedError, SparkGoneError
from headgate.spark.machine.context import MachineContext
from headgate.spark.machine.delivery import Delivery
from headgate.spark.machine.fragments import announced, keyed
from headgate.spark.machine.lifecycle import Life, QueryState
from headgate.spark.machine.messages import Answer, SparkDied
from headgate.spark.machine.preparing import Preparing, RememberedQuery
from headgate.spark.machine.runs import Runs
from headgate.spark.machine.scheduling import Scheduling
from headgate.spark.machine.tasks import Check, Checked, Prepared, Revive

_RAN = (QueryState.RUNNING, QueryState.WAITING)  # a query in one of these goes on by itself when Spark is back
_AGAIN = "Spark was started again"


class SparkRestart:
    """Nothing is begun while Spark is away. What Spark had checked before is of no use afterwards."""

    def __init__(
        self, context: MachineContext, scheduling: Scheduling, runs: Runs, preparing: Preparing, delivery: Delivery
    ) -> None:
        self._context, self._scheduling, self._runs = context, scheduling, runs
        self._preparing, self._delivery = preparing, delivery
        self._unchecked: list[
            tuple[Life, QueryState]
        ] = []  # Spark died while it checked them; in which state they were

    def died(self, message: SparkDied) -> None:
        """Somebody has seen that Spark is dead; known already, if it could not be started again."""
        if not self._runs.gone:
            self._revive(message.reason)

    def watch(self, answer: Answer) -> None:
        """After a task that failed because Spark had died: start it again, or let the queries follow that are late."""
        if isinstance(answer.task, Revive):
            return
        failed = answer.value.error if isinstance(answer.value, Prepared) else answer.error
        if isinstance(failed, SparkChangedError) and not self._runs.away:
            self._delivery.offer_lost()
            for life in [life for life in self._context.lives.values() if life.lost]:
                self._come_back(life)
            self._check_unchecked()
        elif isinstance(failed, SparkGoneError):
            self._revive(str(failed))

    def _revive(self, reason: str) -> None:
        """Start Spark again, if nobody does yet."""
        if self._runs.still:  # the engine is being closed: what is left is done when it is opened again
            self._leave_unchecked(reason)
        if self._runs.away or self._runs.still:
            return
        self._runs.away = reason
        self._context.tell("error", "Spark died", why=reason)
        self._context.give(Revive(), self._revived)

    def _revived(self, answer: Answer) -> None:
        reason, self._runs.away = self._runs.away, ""
        if answer.error is not None:
            self._give_up(self._context.explain(answer.error))
            return
        self._runs.gone = ""
        self._context.tell("warning", _AGAIN)
        for table, why in answer.value.items():
            self._context.tell("warning", "a table was lost", table=table, why=why)
        if self._runs.still:
            self._leave_unchecked(reason)
            return
        self._delivery.offer_lost()
        self._check_unchecked()
        for life in list(self._context.lives.values()):
            if life.whole is not None and life.state not in (QueryState.STOPPED, QueryState.CHECKING):
                self._come_back(life)

    def _give_up(self, error: str) -> None:
        """Spark does not come back: everything that runs is suspended."""
        self._runs.gone = error
        self._context.tell("error", "Spark does not come back", why=error)
        for life in list(self._context.lives.values()):
            if life.state is QueryState.SUSPENDED and life.lost:
                life.error = error  # until now it said that Spark would come back
            elif life.state not in (QueryState.PAUSED, QueryState.DONE) or _owes(life):  # those need no Spark
                self._runs.suspend(life, error)
        self._leave_unchecked(error)

    def _leave_unchecked(self, error: str) -> None:
        """Nobody checks these queries: they do not run, and else are as they were."""
        unchecked, self._unchecked = self._unchecked, []
        for life, former in unchecked:
            if former in _RAN:
                self._context.move(life, QueryState.SUSPENDED, "failed", error)
            else:
                self._context.move(life, former, "as before", life.error)

    # -- queries come back -------------------------------------------------------------------------------------

    def _come_back(self, life: Life) -> None:
        """Check a query again; after what is under way, of which it will turn out that Spark was gone."""
        self._context.when_settled(life, lambda: self._check(life))

    def _check(self, life: Life) -> None:
        if self._context.lives.get(life.name) is not life:  # it has been stopped meanwhile
            return
        former = life.state
        life.lost = life.lost or former in _RAN
        self._scheduling.leave(life)
        self._context.move(life, QueryState.CHECKING, _AGAIN, "" if life.lost else life.error)
        self._give(life, former)

    def _check_unchecked(self) -> None:
        unchecked, self._unchecked = self._unchecked, []
        for life, former in unchecked:
            self._give(life, former)

    def _give(self, life: Life, former: QueryState) -> None:
        self._context.give(Check(life.query), lambda answer: self._checked(life, former, answer))

    def _checked(self, life: Life, former: QueryState, answer: Answer) -> None:
        if isinstance(answer.error, SparkGoneError):
            self._unchecked.append((life, former))
        elif answer.error is not None:
            life.lost = False
            self._context.move(
                life, QueryState.SUSPENDED, "Spark does not take it any more", self._context.explain(answer.error)
            )
        else:
            self._go_on(life, former, answer.value)

    def _go_on(self, life: Life, former: QueryState, checked: Checked) -> None:
        whole = life.layout is None or life.layout.whole or former in (QueryState.SCHEDULED, QueryState.DONE)
        if not whole:  # it is opened again in the pieces that it was in
            life.again = RememberedQuery(announced(life.resume_point()), keyed(life.positions))
        life.whole = checked.whole
        if whole:
            life.layout = checked.whole
        lost, life.lost = life.lost, False
        outbox = life.outbox
        if lost and outbox is not None and outbox.error and not outbox.lost:
            self._context.move(life, QueryState.SUSPENDED, "its sink failed meanwhile", outbox.error)
        elif lost:
            self._preparing.prepare(life, "goes on from its last commit")
        else:
            self._context.move(life, former, "as before", life.error)


def _owes(life: Life) -> bool:
    """Whether a query that is done has results for a sink that needs Spark; `resume` offers them again."""
    return life.state is QueryState.DONE and life.outbox is not None and life.outbox.lost
