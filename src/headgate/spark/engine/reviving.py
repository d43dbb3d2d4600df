"""When Spark dies: it is started again, queries are checked anew, and those that ran go on from their last commit."""

from __future__ import annotations

from headgate.spark.engine.desk import Desk
from headgate.spark.engine.lives import PASSING, Life, State
from headgate.spark.engine.messages import Answer
from headgate.spark.engine.preparing import Known, Preparing
from headgate.spark.engine.running import Running
from headgate.spark.engine.scheduling import Scheduling
from headgate.spark.engine.shapes import announced, keyed
from headgate.spark.engine.tasks import Check, Checked, Revive


class Reviving:
    """Nothing is begun while Spark is away. What Spark had checked before is of no use afterwards."""

    def __init__(self, desk: Desk, scheduling: Scheduling, running: Running, preparing: Preparing) -> None:
        self.reason = ""  # why Spark is away; empty: it is there
        self._desk, self._scheduling, self._running, self._preparing = desk, scheduling, running, preparing

    def revive(self, reason: str) -> None:
        """Start Spark again, if nobody does yet."""
        if self.reason:
            return
        self.reason = reason
        self._running.still = True
        self._desk.tell("error", "Spark died", why=reason)
        self._desk.give(Revive(), self._revived)

    def _revived(self, answer: Answer) -> None:
        self._running.still = False
        self.reason = ""
        for life in list(self._desk.lives.values()):
            if answer.error is not None:
                self._running.suspend(life, self._desk.explain(answer.error))
            elif life.whole is not None and life.state is not State.STOPPED:
                self._come_back(life)
        if answer.error is None:
            self._desk.tell("warning", "Spark was started again")

    def _come_back(self, life: Life) -> None:
        if life.state in PASSING:  # of what is under way it will turn out that Spark was gone
            self._desk.when_settled(life, lambda: self._check(life))
        elif life.busy:
            self._scheduling.leave(life)
            self._desk.move(life, State.CHECKING, "Spark was started again")
            life.lost, life.when_at_rest = True, lambda: self._give(life, State.SUSPENDED)
        else:
            self._check(life)

    def _check(self, life: Life) -> None:
        if self._desk.lives.get(life.name) is not life:
            return  # it has been stopped meanwhile
        former = life.state
        life.lost = life.lost or former is State.RUNNING
        self._scheduling.leave(life)
        self._desk.move(life, State.CHECKING, "Spark was started again", life.error)
        self._give(life, former)

    def _give(self, life: Life, former: State) -> None:
        self._desk.give(Check(life.query), lambda answer: self._checked(life, former, answer))

    def _checked(self, life: Life, former: State, answer: Answer) -> None:
        if answer.error is not None:
            self._desk.move(life, State.SUSPENDED, "Spark does not take it any more", self._desk.explain(answer.error))
            return
        checked: Checked = answer.value
        if former is State.SCHEDULED or life.shape is None:
            life.whole = life.shape = checked.whole
            self._desk.move(life, State.SCHEDULED, "as before")
            return
        known = Known(announced(life.standing()), keyed(life.positions))
        life.whole = checked.whole
        if former is State.DONE:
            life.shape = checked.whole
            self._desk.move(life, State.DONE, "as before")
            return
        life.again = known
        if life.shape.whole:
            life.shape, life.again = checked.whole, None
        if life.lost or former is State.WAITING:  # what it waited for may have come and gone
            life.lost = False
            self._preparing.prepare(life, "goes on from its last commit")
        else:
            self._desk.move(life, former, "as before", life.error)
