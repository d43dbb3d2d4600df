"""Policies whose priority is a straight line in the wait of the head tuple: `a + b * wait`.

Such a policy gives two numbers per unit instead of a function, so that the order can be kept instead of searched.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from headgate.model import IDLE, Choice, Idle, Unit, UnitId, WorkerId
from headgate.policies.contract import Policy, View
from headgate.policies.order import Line, Order, order, settled
from headgate.stats import Stats


class Linear(Policy):
    """Highest `a + b * wait` first; among equals the oldest tuple, then the unit nearest to the output."""

    @abstractmethod
    def line(self, unit: Unit, stats: Stats) -> Line:
        """The intercept and the slope of a unit's priority."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._order: Order
        self._choices: dict[UnitId, Choice] = {}

    def changed(self, view: View) -> None:
        lines = {unit.id: self.line(unit, view.stats) for unit in view.units.values()}
        self.tally.computed += len(lines)
        self._order = self.arrange(lines, view)
        self._choices = {unit.id: Choice((unit,), self.train) for unit in view.units.values()}

    def arrange(self, lines: Mapping[UnitId, Line], view: View) -> Order:
        """The structure that keeps the units in order."""
        return order(lines, view, self.tally)

    def ready(self, view: View, unit: Unit) -> None:
        self._order.add(view, unit)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if self.schedule > 1:
            return self._several(view)
        unit = self._order.pop(view)
        return IDLE if unit is None else self._choices[unit.id]

    def _several(self, view: View) -> Choice | Idle:
        units: list[Unit] = []
        while len(units) < self.schedule and (unit := self._order.pop(view)) is not None:
            units.append(unit)
        for unit in units[1:]:
            self._order.add(view, unit)  # listed, but still ready until their turn comes
        return Choice(tuple(units), self.train) if units else IDLE

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        return {"priority": self._priority(view, unit), **super().numbers(view, unit)}

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        others = [unit for unit in view.ready.values() if unit.id not in chosen]
        return min(others, key=lambda unit: self._rank(view, unit), default=None)

    def _priority(self, view: View, unit: Unit) -> float:
        intercept, slope = settled(self.line(unit, view.stats))
        return intercept + slope * (view.now - view.oldest(unit)) if slope else intercept

    def _rank(self, view: View, unit: Unit) -> tuple[float, float, int, int]:
        return -self._priority(view, unit), view.oldest(unit), -unit.depth, unit.id
