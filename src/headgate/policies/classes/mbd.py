from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any

from headgate.model import (
    IDLE,
    WHOLE_QUEUE,
    Choice,
    ClassId,
    HeadgateError,
    Idle,
    Level,
    Outcome,
    QueryId,
    Run,
    Unit,
    UnitId,
    WorkerId,
)
from headgate.policies.classes.frequencies import AT, EQUAL, Frequencies, inversion_setting
from headgate.policies.classes.inversion import MODULES
from headgate.policies.classes.ranking import first_known, priorities
from headgate.policies.classes.shares import query_priorities
from headgate.policies.classes.spreading import spread
from headgate.policies.contract import Policy, Reading, View
from headgate.policies.registry import register
from headgate.policies.rotation import Rotation
from headgate.policies.settings import Setting


@register("mbd")
class MultiCoreBroadcastDisks(Policy):
    """Queries take turns on all cores, as often as their class's priority and their share of its cost say, spread out.

    A query has its class's priority times its share of the class's cost, so a class gets what its priority says however
    many queries it has. A run takes all that waits, through to the output. A slot that comes while its query runs is
    not lost: the worker runs the query once more. Fractions of a slot are drawn. `inversion` watches response times
    and changes how often classes run until important ones answer first. `update=off` leaves the schedule as it is when
    priorities or classes change, as without the document's priority detection (`_UP`).

    >>> from headgate.policies.checks import Situation
    >>> queries = {"alarm": "select, cost=2ms", "map": "select, cost=1ms", "report": "select, cost=1ms"}
    >>> of, worth = {"alarm": "gold", "map": "gold", "report": "tin"}, {"gold": 6.0, "tin": 1.0}
    >>> policy = MultiCoreBroadcastDisks()
    >>> view = Situation(queries, classes=of, priorities=worth).view(policy)
    >>> policy.changed(view)
    >>> [str(view.units[number]) for number in policy.round]
    ['alarm', 'map', 'alarm', 'report', 'alarm', 'map', 'alarm']
    """

    source = "Al Moakar 2013, section 6.1; affinity: section 7.3"
    rule = "next query in the spread-out cycle"
    needs = frozenset({"class_priority", "query_cost"})
    levels = (Level.QUERY,)
    reading = Reading.LAST
    settings = (
        inversion_setting("none"),
        AT,
        EQUAL,
        Setting(
            "adapt",
            "none",
            "new statistics change the schedule: s beyond the threshold, sa at an inversion",
            choices=("none", "s", "sa"),
        ),
        Setting("threshold", 0.1, "with adapt=s: the share by which a query's cost must have moved", least=0.0),
        Setting("update", "on", "whether priorities that change later are followed", choices=("on", "off")),
        Setting(
            "affinity", 0, "slots to look ahead for a query that this worker ran last; the document has 10", least=0
        ),
    )

    inversion: str
    at: str
    equal: bool
    adapt: str
    threshold: float
    update: str
    affinity: int

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.adapt == "sa" and self.inversion == "none":
            raise HeadgateError("adapt=sa acts on inversions", hint="add inversion=dsp, or write adapt=s")
        self.train = self.train or WHOLE_QUEUE
        self.wants_answers = self.inversion != "none"
        self._random = Random(0)
        self._frequencies = Frequencies(MODULES.get(self.inversion), self.at, self.equal)
        self._costs: dict[QueryId, float] = {}  # by which the schedule was made
        self._latest: dict[QueryId, float] = {}  # as they are now, where new ones may change the schedule
        self._priorities: dict[ClassId, float] = {}  # as they are now, or as they were at first
        self._known: dict[ClassId, float] = {}  # as they were at first
        self._units: dict[UnitId, tuple[QueryId, ...]] = {}
        self._payers: dict[UnitId, ClassId] = {}  # by which the schedule was made
        self._turns: Rotation[UnitId] = Rotation()
        self._fractions: dict[UnitId, float] = {}
        self._again: set[UnitId] = set()  # whose slot came while they ran
        self._ran: dict[WorkerId, UnitId] = {}  # what each worker ran last
        self._home: dict[UnitId, WorkerId] = {}  # where each was run last
        self._round = 0
        self._taken = 0  # turns since classes were last judged
        self._stale = False  # numbers are new, and wait for the end of the round
        self._turn = ""  # why the last choice was made

    @property
    def round(self) -> list[UnitId]:
        """The schedule: one round of units."""
        return self._turns.slots

    @property
    def fractions(self) -> Mapping[UnitId, float]:
        """What each unit has beyond whole slots."""
        return self._fractions

    @property
    def random_state(self) -> tuple[int, ...]:
        """The state of the generator that draws fractions."""
        state: tuple[int, ...] = self._random.getstate()[1]
        return state

    @property
    def frequencies(self) -> Mapping[ClassId, int]:
        """How often classes run, the most important first."""
        return self._frequencies.of

    def seed(self, seed: int) -> None:
        self._random = Random(seed)

    def changed(self, view: View) -> None:
        """New queries get slots at once; new priorities, classes and costs at the end of the round."""
        units = {number: unit.queries for number, unit in view.units.items()}
        if self.adapt != "none" or units != self._units:  # else nobody asks for them
            self._latest = {name: view.stats.query_cost(name) for queries in units.values() for name in queries}
        self._priorities = priorities(view) if self.update == "on" else first_known(view, self._known)
        self.tally.computed += len(units)
        self._stale = True
        if units != self._units:
            self._units = units
            self._frequencies.follow(self._priorities)
            self._costs = {name: self._costs.get(name, cost) for name, cost in self._latest.items()}
            self._rebuild(view)
            self._again, self._ran, self._home = set(), {}, {}

    def ready(self, view: View, unit: Unit) -> None:
        self._turns.wake(unit.id)

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        self._frequencies.heard(run, outcome)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        number, self._turn = self._once_more(view, worker), "a slot of it came while it ran"
        if number is None:
            number, self._turn = (
                self._at_home(view, worker),
                "this worker ran it last, and one of its next slots is near",
            )
        if number is None:
            number, self._turn = self._next(view), "its slot has come"
        if number is None:
            return IDLE
        self._ran[worker] = number
        self._home[number] = worker
        self._turns.wake(number)  # its next slot may come while it runs
        return Choice((view.units[number],), self.train)

    def hear(self, query_class: ClassId, response_times: Iterable[float]) -> None:
        """Response times of a class, for `judge`; the core tells them with outcomes, run by run."""
        self._frequencies.responses.add(query_class, response_times)

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        number = self._turns.peek(lambda number: number in view.ready and number not in chosen)
        return None if number is None else view.units[number]

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        own = self._turns.slots.count(winner.id)
        slots = f"{own} of {len(self._turns.slots)} slots of a round are of {winner}"
        return f"{self._turn}, {slots}" + (f"; next is {second}" if second else "")

    def _once_more(self, view: View, worker: WorkerId) -> UnitId | None:
        """What the worker has just run, if a slot of it came meanwhile."""
        number = self._ran.get(worker)
        if number is None or number not in self._again:
            return None
        self._again.discard(number)
        return number if number in view.ready else None

    def _at_home(self, view: View, worker: WorkerId) -> UnitId | None:
        """A query that stands in one of the next slots and was run last by this worker."""
        for number in self._turns.ahead(self.affinity) if self.affinity else ():
            if self._home.get(number) == worker and number in view.ready:
                self._turns.take(number)
                if self._drawn(number):
                    return number
                self._turns.wake(number)
        return None

    def _next(self, view: View) -> UnitId | None:
        busy = {unit.id for run in view.running.values() for unit in run.units}
        while True:
            number = self._turns.next(lambda number: number in view.ready or number in busy)
            self.tally.compared += 1
            if number is None:
                return None
            self._taken += 1
            if self._turns.rounds != self._round and self._end_round(view):
                continue
            if number not in view.ready:
                self._again.add(number)
            elif self._drawn(number):
                return number
            else:
                self._turns.wake(number)

    def _drawn(self, number: UnitId) -> bool:
        """Whether the slot counts: of a priority of 2.3, the first of three slots counts in 3 rounds of 10."""
        fraction = self._fractions[number]
        return not fraction or not self._turns.first or self._random.random() < fraction

    def _end_round(self, view: View) -> bool:
        """Take up what is new; whether that makes a new schedule."""
        self._round = self._turns.rounds
        changed = self._stale and self._follow(view)
        self._stale = False
        if self._taken >= len(self._turns.slots):  # else too little has been seen
            self._taken = 0
            if self._frequencies.judge():
                changed = True
                if self.adapt == "sa":
                    self._costs = self._latest
        if changed:
            self.updates.append(view.now)
            self._rebuild(view)
        return changed

    def judge(self, view: View) -> bool:
        """Let the module act on inversions; whether there is a new schedule."""
        changed = self._frequencies.judge()
        if changed:
            self.updates.append(view.now)
            self._rebuild(view)
        return changed

    def _follow(self, view: View) -> bool:
        """Take up priorities and classes, and costs where they have moved far enough."""
        changed = self._frequencies.follow(self._priorities)
        changed |= self.update == "on" and self._payers != _payers(view)
        if self.adapt == "s" and any(self._moved(name) for name in self._latest):
            self._costs = self._latest
            changed = True
        return changed

    def _moved(self, name: QueryId) -> bool:
        return abs(self._latest[name] - self._costs[name]) > self.threshold * self._costs[name]

    def _rebuild(self, view: View) -> None:
        self._payers = _payers(view)
        shares = query_priorities(view.units.values(), self._frequencies.of, self._costs)
        self._fractions = {number: share % 1.0 for number, share in shares.items()}
        self._turns = Rotation(spread({number: math.ceil(shares[number]) for number in sorted(shares)}))
        self._round = 0
        for number in view.ready:
            self._turns.wake(number)


def _payers(view: View) -> dict[UnitId, ClassId]:
    return {number: unit.payer for number, unit in view.units.items()}
