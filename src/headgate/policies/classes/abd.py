from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from headgate.model import IDLE, WHOLE_QUEUE, Choice, ClassId, Idle, Level, Outcome, Run, Unit, UnitId, WorkerId
from headgate.policies.classes.frequencies import AT, EQUAL, Frequencies, inversion_setting
from headgate.policies.classes.inversion import MODULES, step
from headgate.policies.classes.ranking import priorities
from headgate.policies.classes.slice import Slice
from headgate.policies.classes.spreading import spread
from headgate.policies.contract import Policy, Reading, View
from headgate.policies.registry import register
from headgate.policies.rotation import Rotation
from headgate.policies.settings import Setting

RUNS = 2  # run overheads in a slice, where runs have one


@register("abd")
class AdaptiveBroadcastDisks(Policy):
    """Classes take turns in short equal slices, as many a round as their priority says, spread out.

    Compared with one long turn a round (`cqc`), an important class never waits long for its next slice. Inside a class
    operators go round robin, on no more tuples than fit into what is left of the slice. The slice grows where a queue
    did not fit and shrinks after a round without need. At the end of a round a class that answers later than a less
    important one gets its way: the other loses a slice of each round, or it gains one (`inversion=step`; the modules of
    `mbd` can take its place).

    >>> from headgate.policies.checks import Situation
    >>> worth = dict(zip("ABCDE", [5.0, 4.0, 3.0, 2.0, 1.0]))
    >>> of = {name: name for name in worth}
    >>> situation = Situation(dict.fromkeys(of, "select"), classes=of, priorities=worth)
    >>> policy = AdaptiveBroadcastDisks()
    >>> policy.changed(situation.view(policy))
    >>> "".join(policy.round)
    'ABCDABACEABCDAB'
    """

    source = "Al Moakar 2013, section 5.2"
    rule = "next class in the spread-out cycle, in it the next unit"
    needs = frozenset({"class_priority", "model", "run_overhead"})
    levels = (Level.OPERATOR, Level.QUERY)
    reading = Reading.LAST
    settings = (
        Setting(
            "slice",
            50e-6,
            "seconds of a turn at first; it adapts; where runs have an overhead, by default at least 2 of those",
            least=1e-9,
        ),
        inversion_setting("step", "step"),
        AT,
        EQUAL,
    )

    slice: float
    inversion: str
    at: str
    equal: bool

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.wants_answers = self.inversion != "none"
        self._frequencies = Frequencies(
            step if self.inversion == "step" else MODULES.get(self.inversion), self.at, self.equal
        )
        self._slices: Rotation[ClassId] = Rotation()
        self._inside: dict[ClassId, Rotation[UnitId]] = {}
        self._slice = Slice(self.slice)
        self._class: ClassId | None = None  # whose turn it is
        self._last: UnitId | None = None  # ran last in this turn
        self._round = 0
        self._turns = 0  # since classes were last judged
        self._priorities: dict[ClassId, float] = {}  # as they are now
        self._stale = False  # priorities are new, and wait for the end of the round

    @property
    def round(self) -> list[ClassId]:
        """The schedule: one round of classes."""
        return self._slices.slots

    @property
    def classes(self) -> list[ClassId]:
        """All classes, the most important first."""
        return list(self._inside)

    @property
    def seconds(self) -> float:
        """How long a slice is at present."""
        return self._slice.seconds

    def changed(self, view: View) -> None:
        self._priorities = priorities(view)
        members: dict[ClassId, list[UnitId]] = {name: [] for name in self._priorities}
        for number in sorted(view.units):
            members[view.units[number].payer].append(number)
        if members.keys() != self._inside.keys():
            self._frequencies.follow(self._priorities)
            self._rebuild()
        self._inside = {name: self._cycle(name, numbers) for name, numbers in members.items()}
        self._stale = True
        self._fit_overhead(view)

    def ready(self, view: View, unit: Unit) -> None:
        self._inside[unit.payer].wake(unit.id)
        self._slices.wake(unit.payer)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        self._frequencies.heard(run, outcome)
        if run.units[0].payer == self._class:
            self._slice.used += outcome.seconds

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        while True:
            if self._class is not None:
                choice = self._go_on(view, self._class)
                if choice is not None:
                    return choice
            self._class = self._slices.next(lambda name: True)
            self.tally.compared += 1
            if self._class is None:
                return IDLE
            if self._slices.rounds != self._round:
                self._end_round(view)
            else:
                self._begin_turn()

    def hear(self, query_class: ClassId, response_times: Iterable[float]) -> None:
        """Response times of a class, for `judge`; the core tells them with outcomes, run by run."""
        self._frequencies.responses.add(query_class, response_times)

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        """The next unit of the class while its slice lasts, else the first of the class whose slice is next."""
        waiting = {unit.payer for unit in view.ready.values() if unit.id not in chosen}
        name = (
            self._class if self._class in waiting and self._slice.left > 0 else self._slices.peek(waiting.__contains__)
        )
        name = self._class if name is None else name
        if name is None:
            return None
        number = self._inside[name].peek(lambda number: number in view.ready and number not in chosen)
        return None if number is None else view.units[number]

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        turn = f"it is a slice of class {winner.payer}, of {self._slice.seconds:.4g} s"
        if second is None:
            return turn
        following = "in it" if second.payer == winner.payer else f"in a slice of class {second.payer}"
        return f"{turn}; next is {second}, {following}"

    def _begin_turn(self) -> None:
        self._turns += 1
        self._last = None
        self._slice.used = 0.0

    def _go_on(self, view: View, name: ClassId) -> Choice | None:
        """The next unit of the class, if there is time for one of its tuples; else its turn is over."""
        number = self._inside[name].next(view.ready.__contains__)
        if number is None:
            return None
        unit, left = view.units[number], self._slice.left
        if self._last is not None and (left <= 0 or view.stats.model(unit).seconds(1) > left):
            self._inside[name].give_back()  # the class goes on here in its next turn
            self._slices.wake(name)
            self._grow(view, unit)
            return None
        self._last = number
        return Choice((unit,), replace(self.train or WHOLE_QUEUE, fits=max(left, 0.0)))

    def _grow(self, view: View, stopped: Unit) -> None:
        """The slice was too short for what waits before the last unit, or before the one it stopped at."""
        last = view.units.get(self._last) if self._last is not None else None
        short = last if last is not None and view.waiting(last) else stopped
        self._slice.grow(view.stats.model(short).seconds(view.waiting(short)))

    def judge(self, view: View) -> bool:
        """Let the module act on inversions; whether there is a new schedule."""
        changed = self._frequencies.judge()
        if changed:
            self.updates.append(view.now)
            self._rebuild()
        return changed

    def _end_round(self, view: View) -> None:
        """Adapt the slice and the schedule; with a new schedule the new round begins again."""
        self._round = self._slices.rounds
        self._slice.end_round()
        changed = self._stale and self._frequencies.follow(self._priorities)
        self._stale = False
        if self._turns >= len(self._slices.slots):  # else too little has been seen
            self._turns = 0
            changed |= self._frequencies.judge()
        if changed:
            self.updates.append(view.now)
            self._rebuild()
            for name in self._inside:
                self._slices.wake(name)  # those with nothing to do fall asleep again
        else:
            self._begin_turn()

    def _rebuild(self) -> None:
        self._slices = Rotation(spread(self._frequencies.of))
        self._round = self._turns = 0
        self._class = None

    def _cycle(self, name: ClassId, numbers: list[UnitId]) -> Rotation[UnitId]:
        old = self._inside.get(name)
        return old if old is not None and old.slots == numbers else Rotation(numbers)

    def _fit_overhead(self, view: View) -> None:
        """Make room for the overhead of runs, once it is known."""
        overhead = max((view.stats.run_overhead(unit) for unit in view.units.values()), default=0.0)
        if "slice" not in self.given:
            self._slice.seconds = max(self._slice.seconds, RUNS * overhead)
