"""Messages, the input of the state machine: commands of callers, answers to tasks, and news such as an append.

A command carries a ticket, which its reply repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from headgate.model import Query, QueryClass, Stream
from headgate.spark.machine.interfaces import Chunks
from headgate.spark.machine.tasks import Task


@dataclass(frozen=True, slots=True)
class Answer:
    """A task has ended, with a value or with an error."""

    task: Task
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """A stream's log has grown up to offset `end`; `chunks` says when the new tuples arrived."""

    stream: str
    end: int
    chunks: Chunks


@dataclass(frozen=True, slots=True)
class Lingering:
    """A run that was cancelled and goes on: Spark does not end its tasks or, without tasks, the planning of its job."""

    queries: tuple[str, ...]
    seconds: float  # since it was cancelled
    tasks: int  # each holds a core


@dataclass(frozen=True, slots=True)
class SparkSeen:
    """What Spark was found to do; told every few seconds."""

    lingering: tuple[Lingering, ...] = ()
    cores: int = 0  # of a local master; 0 on a cluster
    without_executors: float = 0.0  # seconds that a cluster has had no executor
    had_executors: bool = False  # since this Spark was started
    silent: float = 0.0  # seconds that Java has not answered


@dataclass(frozen=True, slots=True)
class TimePassed:
    """A timer may be due."""


@dataclass(frozen=True, slots=True)
class Command:
    """A request of a caller."""

    ticket: int


@dataclass(frozen=True, slots=True)
class DeclareStream(Command):
    """Declare a stream that queries may read; `entry` is what the catalog keeps of it.

    One from before the start was read up to the offset `reached` at least, 0 if nobody has read it.
    """

    stream: Stream
    entry: Mapping[str, Any] = field(default_factory=dict)
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class DeclareTable(Command):
    """Declare a stored table that queries may read; `entry` is what the catalog keeps of it.

    One that was lost or could not be stored may be declared again: queries that waited for it go on. Until then it is
    `absent`.
    """

    name: str
    entry: Mapping[str, Any] = field(default_factory=dict)
    absent: bool = False


@dataclass(frozen=True, slots=True)
class DeclareClass(Command):
    """Declare a query class; declaring the same one again changes nothing.

    `entry` is what the catalog keeps of it, if that is not all: an older format did not store its priority.
    """

    query_class: QueryClass
    entry: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AddQuery(Command):
    """Check a query and start it, now or at `start`; stop it at `end`. Both are in seconds since the epoch."""

    query: Query
    start: float | None = None
    end: float | None = None
    lane: str = "files"  # the lane that delivers to its sink
    behind: float = 0.0  # seconds that results may wait, so that several commits share a file
    call: Any = None  # the function that its sink calls, if any
    lacks: tuple[str, ...] = ()  # what a query from before the start waits for, as "its callback" or "table 'rooms'"


@dataclass(frozen=True, slots=True)
class AddQueries(Command):
    """Check queries and start them together: all or, if one is refused, none; or each that is not refused, if `apart`.

    The tickets of these commands do not count.
    """

    queries: tuple[AddQuery, ...]
    apart: bool = False


@dataclass(frozen=True, slots=True)
class CheckNewQuery(Command):
    """Check a query as `AddQuery` does, and start nothing. Answered with a `CheckedPlan`."""

    query: Query
    query_class: QueryClass | None = None  # its class, if starting the query would create that


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Stop a query from taking tuples until it is resumed; `reason` says why, if nobody asked for it by name."""

    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Command):
    """Continue a query from its committed positions, after its sink has taken what it refused before."""

    name: str


@dataclass(frozen=True, slots=True)
class Replace(Command):
    """Give a query new SQL; it continues in each stream at the old query's position."""

    query: Query


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """Remove a query for good; its results stay."""

    name: str


@dataclass(frozen=True, slots=True)
class Move(Command):
    """Put a query into another class."""

    name: str
    query_class: str


@dataclass(frozen=True, slots=True)
class SetPolicy(Command):
    """Change the scheduling policy."""

    policy: str
    fuse: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeClass(Command):
    """Change a query class; `changes` has the new values of those fields that change."""

    query_class: str
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DropStream(Command):
    """Remove a stream for good, with its tuples and dead letters; no query may read it."""

    name: str


@dataclass(frozen=True, slots=True)
class DropTable(Command):
    """Remove a table; no query may read it."""

    name: str


@dataclass(frozen=True, slots=True)
class DropClass(Command):
    """Remove a query class; no query may be in it."""

    name: str


@dataclass(frozen=True, slots=True)
class Warm(Command):
    """Run the jobs of all queries on made-up rows, so that the first real ones are quick."""

    limit: float  # seconds
    progress: Callable[[int, int], object]  # is told how many jobs are done, and of how many


@dataclass(frozen=True, slots=True)
class Begin(Command):
    """Start runs, after everything that the directory remembers has been declared."""


@dataclass(frozen=True, slots=True)
class Drain(Command):
    """Wait until no tuple is waiting and no run is active."""


@dataclass(frozen=True, slots=True)
class IsDrained(Command):
    """Ask whether no tuple is waiting and no run is active."""


@dataclass(frozen=True, slots=True)
class WaitForRoom(Command):
    """Wait until no query's lag limit holds back the source of a stream."""

    stream: str


@dataclass(frozen=True, slots=True)
class FindLaggingQuery(Command):
    """Ask which query's lag limit holds back the source of a stream, if one does."""

    stream: str


@dataclass(frozen=True, slots=True)
class CancelWait(Command):
    """The caller no longer waits for the reply to the command with this ticket."""


@dataclass(frozen=True, slots=True)
class Describe(Command):
    """Ask for the current state of one query."""

    name: str


@dataclass(frozen=True, slots=True)
class DescribePlan(Command):
    """Ask what was measured of a query's operators, and which queries share its jobs. Answered with a `PlanView`."""

    name: str


@dataclass(frozen=True, slots=True)
class DescribeNetwork(Command):
    """Ask for all queries as they are scheduled. Answered with a `NetworkView`."""


@dataclass(frozen=True, slots=True)
class DescribeAll(Command):
    """Ask for the current state of the whole engine."""


@dataclass(frozen=True, slots=True)
class DescribeCosts(Command):
    """Ask for what runs cost by what was measured. Answered with a `CostView`."""


@dataclass(frozen=True, slots=True)
class SparkDied:
    """Spark no longer answers."""

    reason: str


@dataclass(frozen=True, slots=True)
class Close(Command):
    """Shut down: let active runs end, deliver committed results, and accept nothing more."""

    patience: float = field(default=10.0)  # seconds that sinks get to take what waits for them
    run_patience: float = inf  # seconds that active runs get to end before they are cancelled


Message = Answer | Appended | TimePassed | SparkDied | SparkSeen | Command
