"""What the policies that go by deadlines have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from math import inf
from typing import Any, ClassVar

from headgate.model import Level, QueueId, Unit, UnitId
from headgate.policies.contract import Policy, View
from headgate.policies.kept import Kept
from headgate.policies.scored import Score
from headgate.stats.cost import CostModel
from headgate.stats.ways import Way


class ByDeadline(Kept):
    """The unit that has to start soonest first.

    What is left until then shrinks for all alike, so the moment itself keeps the order.
    """

    levels: ClassVar[tuple[Level, ...]] = (Level.QUERY,)

    @abstractmethod
    def due(self, way: Way, arrival: float) -> float:
        """When something has to be done about a tuple that arrived then and has this way before it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._ways: dict[UnitId, tuple[Way, ...]] = {}
        self._models: dict[UnitId, CostModel] = {}

    def changed(self, view: View) -> None:
        super().changed(view)
        self._ways = {number: view.stats.ways(unit) for number, unit in view.units.items()}
        if self._counts_runs:
            self._models = {number: view.stats.model(unit) for number, unit in view.units.items()}

    @property
    def _counts_runs(self) -> bool:
        return "model" in self.needs

    def counts(self, unit: Unit) -> Collection[QueueId]:
        """Where the cost of a run does not count, only the heads of queues do; who gets another head is told."""
        return unit.queues if self._counts_runs else ()

    def start(self, unit: Unit, view: View) -> float:
        """The latest moment to start: what is due first, less the run's cost where that counts."""
        return self._first(unit, view)[0] - self._run_seconds(unit, view)

    def _first(self, unit: Unit, view: View) -> tuple[float, Way | None]:
        """When the first of the waiting tuples is due, and on which way. In a queue the oldest is."""
        first, urgent = inf, None
        for way in self._ways[unit.id]:
            head = view.queue(way.queue).head
            if head < inf and (due := self.due(way, head)) < first:
                first, urgent = due, way
        return first, urgent

    def _run_seconds(self, unit: Unit, view: View) -> float:
        """What the work that counts costs."""
        return self._models[unit.id].seconds(self.tuples(unit, view)) if self._counts_runs else 0.0

    def tuples(self, unit: Unit, view: View) -> float:
        """How many tuples count for the cost of a run: all that wait, for each of the unit's queries."""
        return view.waiting(unit) / len(unit.entries)

    def score(self, unit: Unit, view: View) -> Score:
        return (-round(self.start(unit, view), 9),)

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        """How long it can still wait, and what that comes from."""
        _, urgent = self._first(unit, view)
        told = {"left to wait": self.start(unit, view) - view.now}
        if urgent is not None:
            told["target"] = urgent.target
        if self._counts_runs:
            told["run"] = self._run_seconds(unit, view)
        return {**told, **Policy.numbers(self, view, unit)}
