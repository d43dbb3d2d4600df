"""Policies whose priority depends on what waits: computed for every ready unit at every decision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from headgate.model import IDLE, Choice, Idle, Unit, UnitId, WorkerId
from headgate.policies.contract import Policy, View, sorting

Score = tuple[float, ...]


class Scored(Policy):
    """Highest score first; among equals the oldest tuple, then the unit nearest to the output."""

    @abstractmethod
    def score(self, unit: Unit, view: View) -> Score:
        """What decides, the most important number first; larger wins."""

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        ready = view.ready.values()
        if not ready:
            return IDLE
        self.tally.computed += len(ready)
        if self.schedule == 1:
            self.tally.compared += len(ready)
            return Choice((max(ready, key=lambda unit: self._rank(view, unit)),), self.train)
        self.tally.compared += sorting(len(ready))
        best = sorted(ready, key=lambda unit: self._rank(view, unit), reverse=True)
        return Choice(tuple(best[: self.schedule]), self.train)

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        score = {f"score {place}": value for place, value in enumerate(self.score(unit, view), 1)}
        return {**score, **super().numbers(view, unit)}

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        others = [unit for unit in view.ready.values() if unit.id not in chosen]
        return max(others, key=lambda unit: self._rank(view, unit), default=None)

    def _rank(self, view: View, unit: Unit) -> tuple[Score, float, int, int]:
        return self.score(unit, view), -view.oldest(unit), unit.depth, -unit.id
