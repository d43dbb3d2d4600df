"""What the policies of Pajjuri 2004 have in common: a floor under the queues worth a run, and a time quantum."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from headgate.model import IDLE, Choice, Idle, Level, Outcome, Run, Unit, UnitId, WorkerId
from headgate.plan.network import Network
from headgate.policies.contract import Cut, View
from headgate.policies.linear import Linear
from headgate.policies.memory.bottom_up import BottomUp
from headgate.policies.quantum import QUANTUM, fitting, turn_length
from headgate.policies.settings import Setting
from headgate.stats import Stats

THRESHOLD = Setting(
    "threshold",
    0,
    "units with more tuples waiting before them go first, whatever the order; 0: the order alone decides",
    least=0,
)


class Thresholded(Linear):
    """The order decides among the units with more than `threshold` tuples before them, and among all if none has.

    The document leaves a short queue alone until it grows (section 4.1.6.4); here it has its turn when nothing else is
    left, because a core that idles while tuples wait helps nobody.

    A unit runs as a whole. With a `quantum` its operators run one after another instead, from the leaf on, each for
    that time: what an operator does not get done waits in the unit until its next turn (section 5.1.3).
    """

    settings: ClassVar[tuple[Setting, ...]] = (THRESHOLD, QUANTUM)

    threshold: int
    quantum: float

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._turns = BottomUp()
        self._parts: Sequence[Unit] = ()  # with a quantum: what the order is of
        if self.quantum:
            self.needs = type(self).needs | {"run_overhead"}
            self.schedule = 1  # a decision is one turn

    def parts(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit]:
        """The paths or segments of a network."""
        return cut(self.level)

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        parts = self.parts(network, stats, cut)
        if not self.quantum:
            return parts
        self._parts = parts
        return cut(Level.OPERATOR)

    def changed(self, view: View) -> None:
        if not self.quantum:
            super().changed(view)
            return
        self.tally.computed += len(self._parts)
        self._turns.follow(self._parts, view.units.values())

    def ready(self, view: View, unit: Unit) -> None:
        if not self.quantum:
            super().ready(view, unit)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        if run.units[0].id == self._turns.turn:
            self._turns.left -= outcome.seconds

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if self.quantum:
            return self._take_turn(view)
        if not self.threshold:
            return super().choose(view, worker)
        ready = view.ready.values()
        self.tally.computed += len(ready)
        self.tally.compared += len(ready)
        best = sorted(ready, key=lambda unit: self._place(view, unit))[: self.schedule]
        return Choice(tuple(best), self.train) if best else IDLE

    def _take_turn(self, view: View) -> Choice | Idle:
        before = self._turns.turn
        unit = self._turns.go_on(view)
        if unit is None:
            self.tally.compared += len(self._parts)
            before, unit = None, self._turns.begin(view, self._place)
        if unit is None:
            return IDLE
        if unit.id != before:
            self._turns.left = turn_length(view, unit, self.quantum)
        return Choice((unit,), fitting(self.train, self._turns.left))

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        return {"before": float(_before(view, unit)), **super().numbers(view, unit)}

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        if self._turns.part is None:
            return ""
        turn = f"it is the turn of {winner} in {self._turns.part}, for up to {self._turns.left:.4g} s"
        return f"{turn}; next is {second}" if second else turn

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        if self.quantum:
            return self._turns.following(view, self._place, chosen)
        others = [unit for unit in view.ready.values() if unit.id not in chosen]
        return min(others, key=lambda unit: self._place(view, unit), default=None)

    def _place(self, view: View, unit: Unit) -> tuple[float, ...]:
        return float(_before(view, unit) <= self.threshold), *self._rank(view, unit)

    def _rank(self, view: View, unit: Unit) -> tuple[float, float, int, int]:
        if not self.quantum:
            return super()._rank(view, unit)
        oldest = min(view.queue(queue).head for queue in unit.queues)  # of a part, which the view does not know
        return -self.line(unit, view.stats)[0], oldest, -unit.depth, unit.id


def _before(view: View, unit: Unit) -> int:
    """Tuples that wait before the unit, both inputs of a join together; what is left over inside it aside."""
    return sum(len(view.queue(queue)) for entry in unit.entries for queue in entry)
