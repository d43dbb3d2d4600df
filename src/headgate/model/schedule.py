"""What the scheduler and its drivers exchange: units, choices, runs, outcomes.

Runs and outcomes are named tuples, not dataclasses: one of each is made per decision, and a frozen dataclass takes
several times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

OperatorId = int
QueueId = int
UnitId = int
WorkerId = int
QueryId = str  # a query's name
ClassId = str  # a class's name


class Level(StrEnum):
    """How large a piece of the network a unit is."""

    OPERATOR = "operator"
    SEGMENT = "segment"
    PATH = "path"
    QUERY = "query"
    SHARED = "shared"
    GROUP = "group"
    SOURCE = "source"  # the reading of a stream, at whatever level the others are


class Queue(Protocol):
    """A position before an operator and the tuples that wait beyond it."""

    id: QueueId
    head: float  # arrival of the oldest waiting tuple, inf if none

    @property
    def nbytes(self) -> int: ...

    @property
    def mean(self) -> float:
        """Mean arrival of the waiting tuples; inf if none waits."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """What a policy chooses between: a connected piece of the network with its queues."""

    id: UnitId
    level: Level
    calls: tuple[OperatorId, ...]  # default order: every operator after those that feed it
    queues: tuple[QueueId, ...]  # all queues inside, entries first, so that leftovers drain
    entries: tuple[tuple[QueueId, ...], ...]  # the entry queues of each query: a train is counted per query
    queries: tuple[QueryId, ...]  # several: shared set or fused group
    payer: ClassId  # the highest of their classes
    depth: int = 0  # how many operators stand before it
    name: str = ""
    inside: frozenset[OperatorId] = field(init=False, repr=False)  # its calls, for who asks whether one is among them

    def __post_init__(self) -> None:
        object.__setattr__(self, "inside", frozenset(self.calls))

    def __str__(self) -> str:
        return self.name or f"{self.level}-{self.id}"


@dataclass(frozen=True, slots=True)
class Train:
    """How many waiting tuples one run takes; without settings the whole queue.

    `fraction` of the waiting tuples, all of them where that is not more than `threshold`; `at_most` tuples;
    as many as the cost model `fits` into that many seconds. At least one is always taken.

    >>> Train(fraction=0.3, threshold=50).size(1000), Train(fraction=0.3, threshold=50).size(100)
    (300, 100)
    >>> Train(at_most=10).size(1000)
    10
    """

    at_most: int | None = None
    fraction: float = 1.0
    threshold: int = 0
    fits: float | None = None

    def size(self, waiting: int) -> int:
        """How many of the waiting tuples to take, `fits` aside: that needs the cost model."""
        count = waiting
        if self.fraction < 1.0:
            share = self.fraction * waiting
            count = int(share) if share > self.threshold or not self.threshold else waiting
        if self.at_most is not None and count > self.at_most:
            count = self.at_most
        return max(1, count)


WHOLE_QUEUE = Train()
ONE_TUPLE = Train(at_most=1)


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy's decision: these units, each on such a train.

    `together` makes them one run; otherwise they run one after another before the policy is asked again.
    `calls` replaces the units' default order of operator calls (a traversal); of units that run one after another
    each makes those of its own operators.
    """

    units: tuple[Unit, ...]
    train: Train | None = None  # None: the scheduler's default
    together: bool = False
    calls: tuple[OperatorId, ...] = ()


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing to run, until something happens or until that time."""

    until: float = float("inf")


IDLE = Idle()


# What a run takes from one queue: (queue, first, behind the last). A plain tuple, for the same reason as above.
Take = tuple[QueueId, int, int]


class Run(NamedTuple):
    """One decision carried out."""

    id: int
    worker: WorkerId
    units: tuple[Unit, ...]
    takes: tuple[Take, ...]
    calls: tuple[OperatorId, ...]
    began: float

    @property
    def tuples(self) -> int:
        """How many tuples it takes, from all queues together."""
        return sum([behind - first for _, first, behind in self.takes])  # a list: a group takes from many queues


class OperatorOutcome(NamedTuple):
    """What one operator did in a run; `seconds` is None where the driver cannot tell."""

    operator: OperatorId
    tuples_in: int
    tuples_out: int
    seconds: float | None = None


class Produced(NamedTuple):
    """Tuples a run put before an operator outside its units, by their arrival times in rising chunks."""

    queue: QueueId
    chunks: tuple[tuple[float, int], ...]  # (arrival, how many)


class Answered(NamedTuple):
    """Results that a run gave to a query, by how long each took since its arrival."""

    query: QueryId
    response_times: tuple[float, ...]


class Work(NamedTuple):
    """What a run did, as far as the driver can tell; its cost is explained by that."""

    jobs: float  # Spark jobs
    read: float  # tuples read by them, also those of windows that earlier runs took
    results: float


class Taken(NamedTuple):
    """When the tuples of a run came."""

    oldest: float  # arrival of the oldest one
    released: float | None = None  # when the newest of them could be taken, if a window held them until then


class Outcome(NamedTuple):
    """What became of a run; `answered` is told only to policies that want it."""

    run: Run
    seconds: float
    error: str | None = None
    operators: tuple[OperatorOutcome, ...] = ()
    produced: tuple[Produced, ...] = ()
    answered: tuple[Answered, ...] = ()
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class WaitingUnit:
    """A unit that was ready at a decision, and was not chosen."""

    unit: str
    query_class: ClassId
    queries: tuple[QueryId, ...]
    tuples: int
    oldest: float  # arrival of its oldest tuple
    numbers: dict[str, float] = field(default_factory=dict)  # by which the policy compares it


@dataclass(frozen=True, slots=True)
class Why:
    """A decision in numbers: the winner's and the runner-up's, and others that waited (not all, if they are many)."""

    policy: str
    rule: str
    winner: str
    numbers: dict[str, float] = field(default_factory=dict)
    runner_up: str | None = None
    runner_up_numbers: dict[str, float] = field(default_factory=dict)
    reason: str = ""  # in words, where numbers do not say it: whose turn it was, and whose is next
    waiting: tuple[WaitingUnit, ...] = ()

    def __str__(self) -> str:
        def shown(name: str, numbers: dict[str, float]) -> str:
            return f"{name} ({', '.join(f'{key} {value:.6g}' for key, value in numbers.items())})"

        beaten = f" over {shown(self.runner_up, self.runner_up_numbers)}" if self.runner_up else ", the only one ready"
        return f"{self.policy}: {shown(self.winner, self.numbers)}{beaten} by {self.rule}"
