"""When Spark dies: it is started again, queries are checked anew, and those that ran go on from their last commit."""

from __future__ import annotations

from headgate.spark.engine.context import Desk
from headgate.spark.engine.delivery import Delivering
from headgate.spark.engine.fragments import announced, keyed
from headgate.spark.engine.lifecycle import Life, State
from headgate.spark.engine.messages import Answer, SparkDied
from headgate.spark.engine.preparing import Known, Preparing
from headgate.spark.engine.runs import Running
from headgate.spark.engine.scheduling import Scheduling
from headgate.spark.engine.tasks import Check, Checked, Prepared, Revive, SparkChangedError, SparkGoneError

_RAN = (State.RUNNING, State.WAITING)  # a query in one of these goes on by itself when Spark is back
_AGAIN = "Spark was started again"


class Reviving:
    """Nothing is begun while Spark is away. What Spark had checked before is of no use afterwards."""

    def __init__(
        self, desk: Desk, scheduling: Scheduling, running: Running, preparing: Preparing, delivering: Delivering
    ) -> None:
        self._desk, self._scheduling, self._running = desk, scheduling, running
        self._preparing, self._delivering = preparing, delivering
        self._unchecked: list[tuple[Life, State]] = []  # Spark died while it checked them; in which state they were

    def died(self, message: SparkDied) -> None:
        """Somebody has seen that Spark is dead; known already, if it could not be started again."""
        if not self._running.gone:
            self._revive(message.reason)

    def watch(self, answer: Answer) -> None:
        """After a task that failed because Spark had died: start it again, or let the queries follow that are late."""
        if isinstance(answer.task, Revive):
            return
        failed = answer.value.error if isinstance(answer.value, Prepared) else answer.error
        if isinstance(failed, SparkChangedError) and not self._running.away:
            self._delivering.offer_lost()
            for life in [life for life in self._desk.lives.values() if life.lost]:
                self._come_back(life)
            self._check_unchecked()
        elif isinstance(failed, SparkGoneError):
            self._revive(str(failed))

    def _revive(self, reason: str) -> None:
        """Start Spark again, if nobody does yet."""
        if self._running.still:  # the engine is being closed: what is left is done when it is opened again
            self._leave_unchecked(reason)
        if self._running.away or self._running.still:
            return
        self._running.away = reason
        self._desk.tell("error", "Spark died", why=reason)
        self._desk.give(Revive(), self._revived)

    def _revived(self, answer: Answer) -> None:
        reason, self._running.away = self._running.away, ""
        if answer.error is not None:
            self._give_up(self._desk.explain(answer.error))
            return
        self._running.gone = ""
        self._desk.tell("warning", _AGAIN)
        for table, why in answer.value.items():
            self._desk.tell("warning", "a table was lost", table=table, why=why)
        if self._running.still:
            self._leave_unchecked(reason)
            return
        self._delivering.offer_lost()
        self._check_unchecked()
        for life in list(self._desk.lives.values()):
            if life.whole is not None and life.state not in (State.STOPPED, State.CHECKING):
                self._come_back(life)

    def _give_up(self, error: str) -> None:
        """Spark does not come back: everything that runs is suspended."""
        self._running.gone = error
        self._desk.tell("error", "Spark does not come back", why=error)
        for life in list(self._desk.lives.values()):
            if life.state is State.SUSPENDED and life.lost:
                life.error = error  # until now it said that Spark would come back
            elif life.state not in (State.PAUSED, State.DONE) or _owes(life):  # those need no Spark
                self._running.suspend(life, error)
        self._leave_unchecked(error)

    def _leave_unchecked(self, error: str) -> None:
        """Nobody checks these queries: they do not run, and else are as they were."""
        unchecked, self._unchecked = self._unchecked, []
        for life, former in unchecked:
            if former in _RAN:
                self._desk.move(life, State.SUSPENDED, "failed", error)
            else:
                self._desk.move(life, former, "as before", life.error)

    # -- queries come back -------------------------------------------------------------------------------------

    def _come_back(self, life: Life) -> None:
        """Check a query again; after what is under way, of which it will turn out that Spark was gone."""
        self._desk.when_settled(life, lambda: self._check(life))

    def _check(self, life: Life) -> None:
        if self._desk.lives.get(life.name) is not life:  # it has been stopped meanwhile
            return
        former = life.state
        life.lost = life.lost or former in _RAN
        self._scheduling.leave(life)
        self._desk.move(life, State.CHECKING, _AGAIN, "" if life.lost else life.error)
        self._give(life, former)

    def _check_unchecked(self) -> None:
        unchecked, self._unchecked = self._unchecked, []
        for life, former in unchecked:
            self._give(life, former)

    def _give(self, life: Life, former: State) -> None:
        self._desk.give(Check(life.query), lambda answer: self._checked(life, former, answer))

    def _checked(self, life: Life, former: State, answer: Answer) -> None:
        if isinstance(answer.error, SparkGoneError):
            self._unchecked.append((life, former))
        elif answer.error is not None:
            life.lost = False
            self._desk.move(life, State.SUSPENDED, "Spark does not take it any more", self._desk.explain(answer.error))
        else:
            self._go_on(life, former, answer.value)

    def _go_on(self, life: Life, former: State, checked: Checked) -> None:
        whole = life.shape is None or life.shape.whole or former in (State.SCHEDULED, State.DONE)
        if not whole:  # it is opened again in the pieces that it was in
            life.again = Known(announced(life.standing()), keyed(life.positions))
        life.whole = checked.whole
        if whole:
            life.shape = checked.whole
        lost, life.lost = life.lost, False
        outlet = life.outlet
        if lost and outlet is not None and outlet.error and not outlet.lost:
            self._desk.move(life, State.SUSPENDED, "its sink failed meanwhile", outlet.error)
        elif lost:
            self._preparing.prepare(life, "goes on from its last commit")
        else:
            self._desk.move(life, former, "as before", life.error)


def _owes(life: Life) -> bool:
    """Whether a query that is done has results for a sink that needs Spark; `resume` offers them again."""
    return life.state is State.DONE and life.outlet is not None and life.outlet.lost
