"""Policies that each break one rule, to see that the checks notice. None of them is registered for good."""

from __future__ import annotations

from random import Random
from typing import Any

from headgate.model import IDLE, Choice, Idle, Unit, Why, WorkerId
from headgate.policies.contract import Policy, View
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.settings import Setting
from headgate.stats import Stats


class Sound(Linear):
    """Breaks no rule.

    >>> 1 + 1
    2
    """

    source = "nobody 2000"
    rule = "highest S/C"
    needs = frozenset({"output_rate"})

    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.output_rate(unit), 0.0


class SoundByClass(Sound):
    """Reads a statistic that is not one of units.

    >>> 1 + 1
    2
    """

    needs = frozenset({"class_priority"})

    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.class_priority(unit), 0.0


class ChoosesTheBlocked(Sound):
    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        return Choice((view.units[min(view.units)],)) if view.ready else IDLE


class NeverIdle(Sound):
    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice = super().choose(view, worker)
        return choice if isinstance(choice, Choice) else Choice((view.units[0],))


class ForgetsTheWoken(Sound):
    def changed(self, view: View) -> None:
        super().changed(view)
        self._seen: set[int] = set()

    def ready(self, view: View, unit: Unit) -> None:
        if unit.id not in self._seen:
            super().ready(view, unit)
        self._seen.add(unit.id)


class FirstCandidate(Policy):
    source, rule = "nobody 2000", "the first"

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        return next((Choice((unit,)) for unit in view.ready.values()), IDLE)


class Unseeded(Policy):
    source, rule = "nobody 2000", "chance"
    _shared = Random(0)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        ready = sorted(view.ready.values(), key=lambda unit: unit.id)
        return Choice((self._shared.choice(ready),)) if ready else IDLE


class ListsAll(Sound):
    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        ready = sorted(view.ready.values(), key=lambda unit: unit.id)
        return Choice(tuple(ready)) if ready else IDLE


class Undeclared(Sound):
    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.output_rate(unit) * stats.class_priority(unit), 0.0


class Unread(Sound):
    needs = frozenset({"output_rate", "ideal_time"})


class Meddles(Sound):
    def line(self, unit: Unit, stats: Stats) -> Line:
        whole: Any = stats.output_rate
        whole.__self__._measured.operators[unit.calls[0]].cost += 1.0
        return super().line(unit, stats)


class Unpicklable(Sound):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.key = lambda unit: unit.id


class CountsInItsName(Sound):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.given.setdefault("calls", 0)


class Undocumented(Sound):
    pass


class Unbounded(Sound):
    """Takes any number, because it declares a bound and does not keep it."""

    settings = (Setting("speed", 1.0, "how fast", least=0.0),)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{name: value for name, value in settings.items() if name != "speed"})


class ExplainsAnother(Sound):
    def explain(self, view: View, choice: Choice) -> Why:
        return Why(str(self), self.rule, "somebody else")


class DisturbedByQuestions(Sound):
    def explain(self, view: View, choice: Choice) -> Why:
        self._order.pop(view)
        return super().explain(view, choice)
