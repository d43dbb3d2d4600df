"""Policies that go through units in a cycle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from headgate.model import IDLE, Choice, Idle, Outcome, Run, Unit, UnitId, WorkerId
from headgate.policies.contract import Policy, View
from headgate.policies.quantum import fitting
from headgate.policies.rotation import Rotation


class Cyclic(Policy):
    """Runs units in the order of a cyclic schedule, each turn one run or, with a quantum, what fits into it."""

    @abstractmethod
    def build(self, view: View) -> Sequence[Unit]:
        """One round: the units in order; a unit may have several slots."""

    def lasts(self, view: View, unit: Unit) -> float:
        """Seconds a turn lasts; 0: one run."""
        return 0.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._turns: Rotation[UnitId] = Rotation()
        self._credit: dict[UnitId, float] = {}  # seconds left of the turns under way

    def changed(self, view: View) -> None:
        slots = [unit.id for unit in self.build(view)]
        if slots != self._turns.slots:  # else only statistics are new, and starting over would starve the last
            self._turns = Rotation(slots)
            self._credit = {}

    def ready(self, view: View, unit: Unit) -> None:
        self._turns.wake(unit.id)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        for unit in run.units:
            if unit.id in self._credit:
                self._credit[unit.id] -= outcome.seconds

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if self._credit and (choice := self._go_on(view)) is not None:
            return choice
        turns = [view.units[number] for number in self._next(view)]
        if not turns:
            return IDLE
        if seconds := self.lasts(view, turns[0]):
            self._credit[turns[0].id] = seconds
            return Choice((turns[0],), fitting(self.train, seconds))
        return Choice(tuple(turns), self.train)

    def _go_on(self, view: View) -> Choice | None:
        """Another run in a turn that is not over: there is time left, and something has come meanwhile."""
        running = {unit.id for run in view.running.values() for unit in run.units}
        self._credit = {
            number: left
            for number, left in self._credit.items()
            if left > 0 and (number in view.ready or number in running)
        }
        for number, left in self._credit.items():
            if number in view.ready:
                return Choice((view.units[number],), fitting(self.train, left))
        return None

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        for number in self._credit:
            if number in view.ready and number not in chosen:
                return view.units[number]
        following = self._turns.peek(lambda number: number in view.ready and number not in chosen)
        return None if following is None else view.units[following]

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        left = self._credit.get(winner.id)
        lasts = f", for up to {left:.4g} s" if left else ""
        return f"it is the turn of {winner} in the cycle{lasts}" + (f"; next is {second}" if second else "")

    def _next(self, view: View) -> Iterator[UnitId]:
        """The next in the cycle that can run, as many as a decision lists."""
        seen: set[UnitId] = set()
        for _ in range(self.schedule):
            number = self._turns.next(view.ready.__contains__)
            self.tally.compared += 1
            if number is None or number in seen:
                return
            seen.add(number)
            yield number
