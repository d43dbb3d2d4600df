"""Policies that draw lots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from random import Random
from typing import Any

from headgate.model import IDLE, WHOLE_QUEUE, Choice, Idle, Unit, UnitId, WorkerId
from headgate.policies.classes.tickets import Tickets, at_least
from headgate.policies.contract import Policy, View


class Drawing(Policy):
    """Draws among the units that can run, by their tickets; a run takes all that waits."""

    @abstractmethod
    def tickets(self, view: View) -> Mapping[UnitId, float]:
        """How many tickets each unit has."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.train = self.train or WHOLE_QUEUE
        self._random = Random(0)
        self._lots = Tickets({})

    def seed(self, seed: int) -> None:
        self._random = Random(seed)

    def changed(self, view: View) -> None:
        self._lots = Tickets(at_least(self.tickets(view)))
        self.tally.computed += len(view.units)

    def ready(self, view: View, unit: Unit) -> None:
        self._lots.enter(unit.id)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        units: list[Unit] = []
        while len(units) < self.schedule and (unit := self._draw(view)) is not None:
            units.append(unit)
        for unit in units[1:]:
            self._lots.enter(unit.id)  # listed, but still ready until their turn comes
        return Choice(tuple(units), self.train) if units else IDLE

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        return {"tickets": self._lots.of(unit.id), **super().numbers(view, unit)}

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        """Of the others the one with most tickets: it was the likeliest."""
        others = (unit for number, unit in view.ready.items() if number not in chosen)
        return min(others, key=lambda unit: (-self._lots.of(unit.id), unit.id), default=None)

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        whole = sum(self._lots.of(number) for number in view.ready)
        drawn = f"{winner} was drawn, with {self._lots.of(winner.id):.4g} of {whole:.4g} tickets"
        return f"{drawn}; of the others {second} has most" if second else drawn

    def _draw(self, view: View) -> Unit | None:
        while (number := self._lots.draw(self._random)) is not None:
            self.tally.compared += 1
            self._lots.leave(number)
            if number in view.ready:
                return view.units[number]
        return None
