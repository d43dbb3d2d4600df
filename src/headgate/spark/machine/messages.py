"""What the owner is told: commands of callers, answers to tasks, and that time has passed.

A command that is to be answered carries a ticket: the reply names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headgate.model import Query, QueryClass, Stream
from headgate.spark.machine.fragments import Chunks
from headgate.spark.machine.tasks import Task


@dataclass(frozen=True, slots=True)
class Answer:
    """A task is over: what came of it, or why nothing did."""

    task: Task
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """A stream's log has grown up to `end`; the tuples since its former end came in these chunks."""

    stream: str
    end: int
    chunks: Chunks


@dataclass(frozen=True, slots=True)
class TimePassed:
    """It may be time for something."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something that a caller asks for."""

    ticket: int


@dataclass(frozen=True, slots=True)
class DeclareStream(Command):
    """There is a stream that queries may read."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class DeclareTable(Command):
    """There is a stored table that queries may read."""

    name: str


@dataclass(frozen=True, slots=True)
class DeclareClass(Command):
    """There is a class that queries may be in; the same one again changes nothing."""

    query_class: QueryClass


@dataclass(frozen=True, slots=True)
class AddQuery(Command):
    """Check a query and start it, or let it wait until `start`; it is stopped at `end` (seconds since the epoch)."""

    query: Query
    start: float | None = None
    end: float | None = None
    lane: str = "files"  # who serves its sink
    behind: float = 0.0  # seconds that its sink may be behind, to take more at once
    call: Any = None  # what its sink calls, if it calls something


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Let a query take nothing until it is resumed."""

    name: str


@dataclass(frozen=True, slots=True)
class Resume(Command):
    """Let a query go on where it stands, first with what its sink has not taken."""

    name: str


@dataclass(frozen=True, slots=True)
class Replace(Command):
    """Other SQL for a query: it goes on in each stream where the old one stood."""

    query: Query


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """End a query for good; its results stay."""

    name: str


@dataclass(frozen=True, slots=True)
class Move(Command):
    """Put a query into another class."""

    name: str
    query_class: str


@dataclass(frozen=True, slots=True)
class SetPolicy(Command):
    """Let another policy decide."""

    policy: str
    fuse: str | None = None


@dataclass(frozen=True, slots=True)
class SetPriority(Command):
    """Let a class be more or less important."""

    query_class: str
    priority: float


@dataclass(frozen=True, slots=True)
class Drain(Command):
    """Answered when nothing waits and nothing runs."""


@dataclass(frozen=True, slots=True)
class IsDrained(Command):
    """Whether nothing waits and nothing runs."""


@dataclass(frozen=True, slots=True)
class WaitForRoom(Command):
    """Answered when no query's lag limit holds a stream's source back."""

    stream: str


@dataclass(frozen=True, slots=True)
class FindLaggingQuery(Command):
    """Which query's lag limit holds a stream's source back, if one does."""

    stream: str


@dataclass(frozen=True, slots=True)
class CancelWait(Command):
    """The caller does not wait for an answer any more: that of the command with this ticket is not needed."""


@dataclass(frozen=True, slots=True)
class Describe(Command):
    """One query, as it is now."""

    name: str


@dataclass(frozen=True, slots=True)
class DescribeAll(Command):
    """Everything, as it is now."""


@dataclass(frozen=True, slots=True)
class SparkDied:
    """Spark does not answer any more."""

    reason: str


@dataclass(frozen=True, slots=True)
class Close(Command):
    """Let what is under way end, bring results to their sinks, and take nothing more."""

    patience: float = field(default=10.0)  # seconds that sinks get


Message = Answer | Appended | TimePassed | SparkDied | Command
