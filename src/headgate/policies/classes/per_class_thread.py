from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from headgate.model import Choice, ClassId, Idle, Level, Unit, UnitId, WorkerId
from headgate.policies.classes.mrr import MultiCoreRoundRobin
from headgate.policies.classes.ranking import priorities
from headgate.policies.contract import Policy, Reading, View
from headgate.policies.registry import register
from headgate.policies.settings import TRAIN, Setting
from headgate.policies.two_level import TwoLevel


@register("per-class-thread")
class PerClassThread(TwoLevel):
    """Every class has one thread: of its queries one runs at a time, round robin, on all that waits.

    Classes do not hinder each other as long as there are as many cores; priorities mean nothing. With more cores than
    classes some idle, unless `split` gives the most important classes two threads. With fewer, threads take turns run
    by run, as on a fair operating system.

    >>> from headgate.policies.checks import Situation
    >>> of = {"a1": "A", "a2": "A", "b1": "B", "b2": "B"}
    >>> situation = Situation(dict.fromkeys(of, "select"), classes=of, priorities={"A": 2.0, "B": 1.0})
    >>> situation.order("per-class-thread")
    ['a1', 'b1', 'a2', 'b2']
    >>> policy = PerClassThread(split=True)
    >>> view = situation.view(policy)
    >>> policy.changed(view)
    >>> _ = policy.choose(view, worker=2)  # a third core: now class A has two threads
    >>> {str(unit): policy.part(unit) for unit in view.units.values()}
    {'a1': ('A', 0), 'a2': ('A', 1), 'b1': ('B', 0), 'b2': ('B', 0)}
    """

    source = "Al Moakar 2013, section 6.2.1 (PCT, PCT_S)"
    rule = "next class of which nothing runs, in it the next query"
    needs = frozenset({"class_priority"})
    levels = (Level.QUERY,)
    reading = Reading.LAST
    settings = (Setting("split", False, "with more cores than classes, the most important ones get two threads"),)

    split: bool

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._cores = 1  # that have asked so far
        self._threads: dict[UnitId, tuple[ClassId, int]] = {}

    def part(self, unit: Unit) -> Hashable:
        return self._threads.get(unit.id)

    def title(self, part: Hashable) -> str:
        name, thread = part if isinstance(part, tuple) else (part, 0)
        return f"class {name}'s second thread" if thread else f"class {name}'s thread"

    def following(self, view: View, waiting: Collection[Hashable], chosen: Collection[UnitId]) -> Hashable | None:
        busy = {self.part(unit) for run in view.running.values() for unit in run.units}
        busy |= {self.part(view.units[number]) for number in chosen}
        free = self._turns.peek(lambda part: part in waiting and part not in busy)
        return free if free is not None else self._turns.peek(waiting.__contains__)

    def inner(self) -> Policy:
        # One run of a thread at a time: its decisions list one query each.
        shared = {setting.name for setting in TRAIN} - {"schedule"}
        return MultiCoreRoundRobin(**{name: value for name, value in self.given.items() if name in shared})

    def changed(self, view: View) -> None:
        class_priorities = priorities(view)
        spare = self._cores - len(class_priorities)
        halved = list(class_priorities)[:spare] if self.split and spare > 0 else []
        self._threads = {}
        for name in class_priorities:
            members = [number for number in sorted(view.units) if view.units[number].payer == name]
            first = (len(members) + 1) // 2 if name in halved else len(members)
            self._threads.update({number: (name, int(place >= first)) for place, number in enumerate(members)})
        super().changed(view)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if worker >= self._cores:
            self._cores = worker + 1
            if self.split:
                self._start_over(view)
        busy = {self.part(unit) for run in view.running.values() for unit in run.units}
        held: list[Hashable] = []
        tried: list[Choice | Idle] = []

        def can_run(part: Hashable) -> bool:
            if part in busy:
                held.append(part)
                return False
            tried.append(self._ask(view, part, worker))
            return isinstance(tried[-1], Choice)

        part = self._turns.next(can_run)
        for other in held if part is None else [*held, part]:
            self._turns.wake(other)  # others of its queries may be ready
        if part is None:
            return Idle(view.now) if held else Idle()  # held: not now, but when something happens
        return tried[-1]

    def _start_over(self, view: View) -> None:
        self.changed(view)
        for unit in view.ready.values():
            self.ready(view, unit)
