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
    rule = "highest P·W, or the class whose turn is overdue"
    needs = frozenset({"class_priority"})
    levels = (Level.QUERY, Level.OPERATOR)
    usual_train = WHOLE_QUEUE
    usual_isolation = MappingProxyType({"slice": "auto", "preempt": "class", "keep": "auto"})

    settings = (Setting("patience", 5.0, "seconds after which a class that waits gets a turn for certain", least=0.0),)

    patience: float

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._turns: dict[ClassId, float] = {}  # when a run of each class last began, or since when it waits
        self._units: dict[UnitId, float] = {}  # likewise of each unit

    def changed(self, view: View) -> None:
        self._units = {number: turn for number, turn in self._units.items() if number in view.units}

    def ready(self, view: View, unit: Unit) -> None:
        self._turns.setdefault(unit.payer, view.now)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice = self._overdue(view) or super().choose(view, worker)
        if isinstance(choice, Choice):
            for unit in choice.units:
                self._turns[unit.payer] = self._units[unit.id] = view.now
        return choice

    def _overdue(self, view: View) -> Choice | None:
        """A turn for the class that has waited for one longest, if that is too long."""
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
        return Choice((min(units, key=lambda unit: (self._units.get(unit.id, 0.0), unit.id)),), self.train)

    def score(self, unit: Unit, view: View) -> Score:
        return (max(view.stats.class_priority(unit), 1e-9) * (view.now - view.oldest(unit)),)
