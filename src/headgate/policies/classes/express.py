from __future__ import annotations

from math import inf
from types import MappingProxyType
from typing import Any

from headgate.model import WHOLE_QUEUE, Choice, ClassId, Idle, Level, Unit, UnitId, WorkerId
from headgate.policies.contract import View
from headgate.policies.registry import register
from headgate.policies.scored import Score, Scored
from headgate.policies.settings import Setting


@register("express")
class Express(Scored):
    """The longest wait first, counted by the priority of its class; classes are kept apart by default.

    A tuple that waits for a second in a class of priority 60 counts as much as one that waits for six in a class of 10.
    A class that waits gets a turn after `patience` seconds for certain, and in it the unit whose turn was longest ago.
    A unit that waits as long gets one, too: one turn for each more important class that waits goes by score in between.
    By default a worker is kept for the highest class, and runs of others are short, and cancelled if that is worth it.

    >>> from headgate.policies.checks import Situation
    >>> of, worth = {"alarm": "gold", "report": "tin"}, {"gold": 6.0, "tin": 1.0}
    >>> queries, heads = dict.fromkeys(of, "select"), {"alarm": 0.5, "report": 0.0}
    >>> Situation(queries, classes=of, priorities=worth, heads=heads, now=0.55).order("express")  # 6 · 0.05 < 1 · 0.55
    ['report', 'alarm']
    >>> Situation(queries, classes=of, priorities=worth, heads=heads, now=0.7).order("express")  # 6 · 0.2 > 1 · 0.7
    ['alarm', 'report']
    """

    source = "Headgate: docs/policies-classes.md"
    rule = "highest P·W, or the class or unit whose turn is overdue"
    needs = frozenset({"class_priority"})
    levels = (Level.QUERY, Level.OPERATOR)
    usual_train = WHOLE_QUEUE
    usual_isolation = MappingProxyType({"slice": "auto", "preempt": "class", "keep": "auto"})

    settings = (Setting("patience", 5.0, "seconds after which a class or a query that waits gets a turn", least=0.0),)

    patience: float

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._turns: dict[ClassId, float] = {}  # when a run of each class last began, or since when it waits
        self._units: dict[UnitId, float] = {}  # when a run of each unit last began
        self._by_score = 0  # turns for which classes competed since the last one of an overdue unit

    def changed(self, view: View) -> None:
        self._units = {number: turn for number, turn in self._units.items() if number in view.units}

    def ready(self, view: View, unit: Unit) -> None:
        self._turns.setdefault(unit.payer, view.now)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        unit = self._of_overdue_class(view)
        if unit is None and (unit := self._overdue(view)) is not None:
            self._by_score = 0
        choice = Choice((unit,), self.train) if unit else super().choose(view, worker)
        if isinstance(choice, Choice):
            chosen = choice.units[0].payer
            if unit is None and any(other.payer != chosen for other in view.ready.values()):
                self._by_score += 1  # a kept worker, for which the highest class alone is ready, does not count
            for one in choice.units:
                self._turns[one.payer] = self._units[one.id] = view.now
        return choice

    def _of_overdue_class(self, view: View) -> Unit | None:
        """A unit of the class that has waited for a turn longest, if that is too long."""
        waiting = {unit.payer for unit in view.ready.values()}
        if absent := self._turns.keys() - waiting:
            # A class keeps its place while a worker is kept from it, or while what it waits for is running.
            absent -= {unit.payer for unit in view.units.values() if view.oldest(unit) < inf}
            for name in absent:
                del self._turns[name]
        turns = {name: self._turns.setdefault(name, view.now) for name in waiting}
        overdue = [(turn, name) for name, turn in turns.items() if view.now - turn > self.patience]
        if not overdue:
            return None
        _, name = min(overdue)
        units = [unit for unit in view.ready.values() if unit.payer == name]
        return min(units, key=lambda unit: (self._units.get(unit.id, 0.0), unit.id))

    def _overdue(self, view: View) -> Unit | None:
        """The unit that has waited for a turn longest, if that is too long and enough turns have gone by score.

        Otherwise nothing but the longest wait would count once everything waits too long, whatever the priorities are.
        """
        ready = view.ready
        waits = [(max(view.oldest(unit), self._units.get(unit.id, 0.0)), number) for number, unit in ready.items()]
        since, number = min(waits, default=(inf, -1))
        if view.now - since <= self.patience:
            return None
        unit, priority = ready[number], view.stats.class_priority
        above = {other.payer for other in ready.values() if priority(other) > priority(unit)}
        return unit if self._by_score >= len(above) else None

    def score(self, unit: Unit, view: View) -> Score:
        return (max(view.stats.class_priority(unit), 1e-9) * (view.now - view.oldest(unit)),)
