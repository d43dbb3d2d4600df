"""What the owner hands out: work that takes time, each piece of it answered with one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headgate.model import Level, Query, Stream
from headgate.plan.sharing import Place
from headgate.spark.machine.fragments import Chunks, FragmentView, LayoutView, Offsets, ResumePoint

WORKER, BACKGROUND, COMMIT, MAINTENANCE, FILES = "worker", "aide", "commit", "tidy", "files"  # who carries tasks out


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A piece of work; `lane` says by whom: tasks of one lane are begun in order."""

    lane: ClassVar[str] = BACKGROUND


@dataclass(frozen=True, slots=True, eq=False)
class OpenStream(Task):
    """Open a stream's log, or make it."""

    stream: Stream


@dataclass(frozen=True, slots=True, eq=False)
class CheckQuery(Task):
    """Let Spark look at a query. Answered with `CheckedQuery`."""

    query: Query
    remembered: bool = False  # from a former life


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that can run."""

    unfragmented: LayoutView
    reported: frozenset[Any] = frozenset()  # what its expressions failed on in a former life
    columns: Any = None  # of its results


@dataclass(frozen=True, slots=True, eq=False)
class FindPositions(Task):
    """Find where a query in pieces stands in its streams: the first tuples that have not gone all the way.

    Committed rows that could not be put inside yet are put there first: they have gone half the way.
    """

    resume_point: ResumePoint
    unappended: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FindUndelivered(Task):
    """Find committed results that a callback may not have been given before a crash."""

    query: str
    sink: str


@dataclass(frozen=True, slots=True, eq=False)
class Prepare(Task):
    """Bring a query into the form that a level asks for, tell a commit of it, and see what waits for it.

    `remembered` is what commits said of it before, if it is opened again in the pieces it was in.
    """

    resume_point: ResumePoint
    level: Level | None
    ends: Mapping[str, int]  # of its streams
    reopen: Mapping[str, Any] | None = None
    reopen_at: Mapping[str, int] = field(default_factory=dict)  # where it stood then, as commits write it
    commit_description: bool = False  # whether commits are told even if nothing is cut
    reported: frozenset[Any] = frozenset()  # what its expressions failed on, and dead letters tell of
    unappended: Sequence[Any] = ()  # committed rows that must be put inside first
    discard: LayoutView | None = None  # a former shape whose waiting rows nobody reads any more
    lane_name: str = BACKGROUND

    @property
    def lane(self) -> str:  # type: ignore[override]
        return self.lane_name


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """What one piece of a query takes in a run."""

    resume_point: ResumePoint
    fragment: FragmentView
    offsets: Mapping[Place, Offsets]

    @property
    def name(self) -> str:
        return self.resume_point.name


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Task):
    """Run portions as Spark jobs, each group in one where it can be. Answered with a `PortionResult` for each portion."""

    label: str
    groups: tuple[tuple[Portion, ...], ...]

    lane: ClassVar[str] = WORKER


@dataclass(frozen=True, slots=True, eq=False)
class PortionResult:
    """What came of a portion."""

    portion: Portion
    error: str = ""
    output: Any = None  # the query's results as a commit holds them; None where there are none
    size: int = 0  # bytes of them
    intermediate: Any = None  # rows for the next piece, as a commit holds them
    intermediate_count: int = 0
    chunks: Chunks = ()  # of those rows
    failures: tuple[Any, ...] = ()
    count: int = 0  # rows that it gave
    tuples: int = 0  # that it took
    arrived: int = 0  # of those, how many came from streams
    late: int = 0
    jobs: int = 0
    arrivals: Sequence[float] = ()  # of each result, or of a sample: when the last thing that it needed came
    follower_tables: tuple[Any, ...] = ()  # tables for those who follow the query


@dataclass(frozen=True, slots=True, eq=False)
class WriteCommit(Task):
    """Commit. Answered with `WrittenCommit` once it is durable."""

    run: int = 0
    units: tuple[str, ...] = ()
    positions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    intermediate: Mapping[str, Any] = field(default_factory=dict)  # rows that wait, by name
    queries: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    failures: Sequence[tuple[str, str, Any]] = ()  # (query, one of its streams, failure), to become dead letters
    follower_tables: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ended_queries: tuple[str, ...] = ()  # queries whose followers are told that there is no more

    lane: ClassVar[str] = COMMIT


@dataclass(frozen=True, slots=True)
class WrittenCommit:
    """A commit is durable."""

    number: int
    at: float
    letters: Mapping[str, Any] = field(default_factory=dict)  # dead letters by stream, as it holds them
    unappended: Mapping[str, tuple[int, Any]] = field(default_factory=dict)  # rows that could not be put inside
    error: Exception | None = None  # why


@dataclass(slots=True)
class Prepared:
    """Where a query stands now; `error` where the rest of the way could not be gone."""

    layout: LayoutView
    positions: dict[Place, int]
    fragment_log_ends: dict[str, int]  # how much waits inside, by name
    backlog: dict[Place, Chunks]  # what waits for it
    steps: list[tuple[PortionResult, WrittenCommit]] = field(
        default_factory=list
    )  # what was run and committed on the way
    letters: list[WrittenCommit] = field(default_factory=list)  # further commits with dead letters
    keys: set[Any] = field(default_factory=set)  # what expressions failed on, committed
    unappended: list[Any] = field(default_factory=list)
    description_committed: bool = False  # a commit has told of the query as it is now
    error: Exception | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Deliver(Task):
    """Bring committed results, in rising order of their commits, to a sink."""

    outbox: int
    query: str
    sink: str
    batch: Sequence[tuple[int, Any]]
    lane_name: str = FILES
    call: Any = None

    @property
    def lane(self) -> str:  # type: ignore[override]
        return self.lane_name


@dataclass(frozen=True, slots=True, eq=False)
class StoreDeadLetters(Task):
    """Bring dead letters of commits to a stream's file."""

    stream: str
    batch: Sequence[tuple[int, Any]]

    lane: ClassVar[str] = FILES


@dataclass(frozen=True, slots=True, eq=False)
class CloseSink(Task):
    """A sink gets no more."""

    outbox: int
    query: str
    lane_name: str = FILES

    @property
    def lane(self) -> str:  # type: ignore[override]
        return self.lane_name


@dataclass(frozen=True, slots=True, eq=False)
class CheckWindows(Task):
    """See whether windows inside a query in pieces can close. Answered with the leaves that can let go."""

    resume_point: ResumePoint
    entry_number: int
    ends: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Maintain(Task):
    """Merge small files, and forget commits up to a number, which the sinks have.

    Answered with the first offset of each stream that these queries may still read, if it is asked for.
    """

    upto: int
    resume_points: tuple[ResumePoint, ...] | None = None
    last: bool = False

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class DropTuples(Task):
    """Drop what is before these offsets of streams. Answered with where each stream starts now."""

    before: Mapping[str, int]

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class DiscardFragmentLogs(Task):
    """Remove rows that wait in pieces which are no more."""

    layout: LayoutView

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class RestartSpark(Task):
    """Start Spark again, if it does not live. Answered with the tables that could not be read again, and why."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a command."""

    ticket: int
    value: Any = None
    error: Exception | None = None
