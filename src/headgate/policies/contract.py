"""What a policy is, and what it may see.

A policy decides the next run. It is asked by the scheduling core, which is driven by the simulator or by the engine:
a policy can not tell them apart. It sees the network's units and queues through a `View` and the statistics that it
declares in `needs`, and nothing else.

There are five kinds, by how they decide: `Linear`, `Scored`, `Kept`, `Cyclic` and `TwoLevel`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import nsmallest
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from headgate.model import (
    Choice,
    Idle,
    Level,
    Outcome,
    Queue,
    QueueId,
    Run,
    Spec,
    Train,
    Unit,
    UnitId,
    WaitingUnit,
    Why,
    WorkerId,
)
from headgate.model.isolation import Isolation
from headgate.plan.network import Network
from headgate.policies.settings import ISOLATION, TRAIN, Setting, level_setting, read_isolation, read_train
from headgate.policies.still_view import StillView
from headgate.stats import Stats

MOST_TOLD = 8  # units that a decision tells of, beside the one that was chosen
MOST_UPDATES = 10_000  # times of new schedules that are kept
Cut = Callable[[Level], Sequence[Unit]]  # the units of a level


class View(Protocol):
    """What a policy may read of the scheduler."""

    @property
    def now(self) -> float:
        """The time of the decision, in seconds; arrivals are times too, so a wait is now - arrival."""

    @property
    def units(self) -> Mapping[UnitId, Unit]:
        """All units, ready or not, by number."""

    @property
    def ready(self) -> Mapping[UnitId, Unit]:
        """Units for which something waits and nothing running shares an operator."""

    @property
    def running(self) -> Mapping[WorkerId, Run]:
        """The runs under way, by worker."""

    @property
    def stats(self) -> Stats:
        """The statistics that the policy declares in `needs`."""

    def queue(self, number: QueueId) -> Queue:
        """What waits before one input of an operator; a unit's own are in `unit.queues`."""

    def waiting(self, unit: Unit) -> int:
        """How many tuples wait in the unit's queues."""

    def oldest(self, unit: Unit) -> float:
        """Arrival of the oldest tuple in the unit's queues; inf if none waits."""

    def only(self, keep: Callable[[Unit], bool]) -> View:
        """The same view with some units only: the inner level of two-level policies."""


@dataclass(slots=True)
class Tally:
    """The work of deciding so far; the simulator may charge for its growth.

    One rule for all policies: count what the algorithm does, whatever Python does for it.

    * computed: one for every priority that is computed; one that depends on nothing that waits is computed when
      statistics are new. Sums over several queues are taken as kept from one change of a queue to the next; where they
      are computed anew (`slope-slack, order=sorted`), every queue that is read counts one.
    * compared: the base-2 logarithm of the entries, rounded up, for putting something into a heap of priorities and
      again for taking it out; n times that for sorting n (`sorting`); n for finding the best of n; and one look for
      going on to the first of places whose order is fixed beforehand: the next slot of a cycle, the best rank, the
      best bucket.
    """

    computed: int = 0
    compared: int = 0


def sorting(entries: int) -> int:
    """How many comparisons sorting takes.

    >>> sorting(0), sorting(1), sorting(1000)
    (0, 1, 10000)
    """
    return entries * entries.bit_length()


class Reading(StrEnum):
    """How a policy decides about sources, where those are units."""

    RULE = "rule"  # as about all others
    LAST = "last"  # on one core they are read only when nothing else can run (Al Moakar 2013, section 2.2.1)
    OWN = "own"  # by a rule for them, whatever the workload says


class Policy(ABC):
    """Decides the next run.

    A subclass is registered under a name (`registry.register`), names its document in `source`, and writes an
    example into its docstring that runs. Settings arrive as keyword arguments, already read and checked.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    needs: frozenset[str] = frozenset()  # an instance may need more, by its settings
    levels: ClassVar[tuple[Level, ...]] = (Level.QUERY, Level.OPERATOR)  # the first is the default
    settings: ClassVar[tuple[Setting, ...]] = ()  # its own; level and train settings come on top
    usual_train: ClassVar[Train | None] = None  # where none is given; None: the driver's default
    usual_isolation: ClassVar[Mapping[str, Any]] = MappingProxyType({})  # other defaults of slice, preempt, keep
    rule: ClassVar[str] = ""  # what wins, in a few words

    level: Level
    train: Train | None
    isolation: Isolation
    schedule: int
    reading: Reading = Reading.RULE
    wants_answers: bool = False  # drivers tell response times (`Outcome.answered`) only where they are wanted

    def __init__(self, **settings: Any) -> None:
        self.given = dict(settings)
        values = {setting.name: setting.default for setting in self.all_settings()}
        for setting in self.all_settings():
            if setting.name in settings:
                values[setting.name] = setting.read(settings[setting.name])
        Spec(self.name, settings).only(values)
        self.level = Level(values.pop("level"))
        own = {setting.name for setting in self.settings}
        common = {setting.name: setting.default if setting.name in own else values[setting.name] for setting in TRAIN}
        self.schedule = common.pop("schedule")
        self.train = read_train(common) or self.usual_train
        apart = {
            setting.name: setting.default if setting.name in own else values[setting.name] for setting in ISOLATION
        }
        self.isolation = read_isolation(apart)
        for setting in self.settings:
            setattr(self, setting.name, values[setting.name])
        self.tally = Tally()
        self.updates: deque[float] = deque(maxlen=MOST_UPDATES)  # when it made itself a new schedule, if it has one

    @classmethod
    def all_settings(cls) -> tuple[Setting, ...]:
        """Its own and the common ones; an own one takes the place of a common one of the same name."""
        own = {setting.name for setting in cls.settings}
        usual = cls.usual_isolation
        apart = [replace(one, default=usual[one.name]) if one.name in usual else one for one in ISOLATION]
        common = (*TRAIN, *apart)
        return (*cls.settings, level_setting(cls.levels), *(setting for setting in common if setting.name not in own))

    def __repr__(self) -> str:
        return f"<policy {self}>"

    def __str__(self) -> str:
        return str(Spec(self.name, self.given))

    def seed(self, seed: int) -> None:
        """Start the policy's own randomness; only policies that draw have one."""

    def succeed(self, former: Policy) -> None:
        """Take over what another policy has learned that decided until now; called before `changed`."""

    def check(self, network: Network) -> None:
        """Refuse a network that lacks what the policy decides by; nothing has changed yet, and nothing will."""

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        """Units of the policy's own making, where they depend on statistics; None: those of its level.

        A policy that makes its own is asked again whenever statistics are new, one that does not when the network
        changes. `cut` makes the units of a level as they are made for policies that do not say.
        """
        return None

    def changed(self, view: View) -> None:
        """Units, statistics or priorities are new: compute afresh. `ready` is then called for every ready unit."""

    def ready(self, view: View, unit: Unit) -> None:
        """A unit has become ready, or an older tuple has come before it."""

    def grown(self, view: View, queues: Iterable[QueueId]) -> None:
        """More waits in some queues, where something may have waited already. Told to policies that override it."""

    @property
    def wants_growth(self) -> bool:
        """Whether `grown` does anything; if not, nobody has to list the queues for it."""
        return type(self).grown is not Policy.grown

    def finished(self, view: View, run: Run, outcome: Outcome) -> None:
        """A run has ended."""

    @abstractmethod
    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        """What this worker runs next. The core carries it out: a unit that is returned is not ready any more."""

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        """What `explain` tells of a unit."""
        oldest = view.oldest(unit)
        return {
            "wait": view.now - oldest if math.isfinite(oldest) else 0.0,
            "waiting": float(view.waiting(unit)),
            **{need: value for need in sorted(self.needs) if (value := _number(view.stats, need, unit)) is not None},
        }

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        """Which unit would have been next; None if no other can run. Must change nothing.

        A policy that neither compares units nor lets them take turns leaves it at the one that has waited longest.
        """
        others = (unit for number, unit in view.ready.items() if number not in chosen)
        return min(others, key=lambda unit: (view.oldest(unit), unit.id), default=None)

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        """The decision in words, where numbers do not say it: whose turn it is, and whose is next."""
        return ""

    def explain(self, view: View, choice: Choice) -> Why:
        """The decision in numbers; to be asked before the decision is carried out."""
        view = StillView(view)
        winner = choice.units[0]
        chosen = {unit.id for unit in choice.units}
        second = self.runner_up(view, chosen) or Policy.runner_up(self, view, chosen)
        return Why(
            str(self),
            self.rule,
            str(winner),
            self.numbers(view, winner),
            str(second) if second else None,
            self.numbers(view, second) if second else {},
            self.reason(view, winner, second),
            tuple(self._waiting(view, chosen, second)),
        )

    def _waiting(self, view: View, chosen: Collection[UnitId], second: Unit | None) -> Iterator[WaitingUnit]:
        """Units that were ready and not chosen, the runner-up and those that have waited longest first."""
        others = [unit for number, unit in view.ready.items() if number not in chosen]
        for unit in nsmallest(MOST_TOLD, others, key=lambda unit: (unit is not second, view.oldest(unit))):
            yield WaitingUnit(
                str(unit), unit.payer, unit.queries, view.waiting(unit), view.oldest(unit), self.numbers(view, unit)
            )


def _number(stats: Stats, need: str, unit: Unit) -> float | None:
    try:
        value = getattr(stats, need)(unit)
    except KeyError:  # a statistic of a query or a class, not of a unit
        return None
    return float(value) if isinstance(value, int | float) else None
