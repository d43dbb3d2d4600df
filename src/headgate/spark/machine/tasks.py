"""Tasks, the output of the state machine: work that takes time. Each task is answered with one `Answer` message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headgate.model import HeadgateError, Level, Query, Stream
from headgate.plan.places import Place
from headgate.spark.machine.interfaces import Chunks, FragmentView, LayoutView, Offsets, ResumePoint

HIGHEST_POOL, OTHER_POOL = "headgate-highest", "headgate-others"  # as spark/jvm/pools.xml describes them
# The lanes: each is a queue of tasks with threads of its own.
WORKER, BACKGROUND, COMMIT, MAINTENANCE, FILES = "worker", "background", "commit", "maintenance", "files"
KILL = "kill"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Work for another thread. The threads of a `lane` start its tasks in order."""

    lane: ClassVar[str] = BACKGROUND


class RunCancelledError(HeadgateError):
    """The run was cancelled: the engine closes, its queries are stopped, or something more important came.

    Nothing of it is committed, so its tuples are taken again.
    """


@dataclass(frozen=True, slots=True, eq=False)
class CancelRuns(Task):
    """Cancel the Spark jobs of all active runs, and start no further ones: the engine is closing."""


@dataclass(frozen=True, slots=True, eq=False)
class CancelRun(Task):
    """Cancel the Spark jobs of one run, and start none of it that has not begun."""

    label: str


@dataclass(frozen=True, slots=True, eq=False)
class OpenStream(Task):
    """Open a stream's log, or create it; a `fresh` one has nothing of a dropped stream of its name.

    Commits know that one from before was read up to the offset `reached`: if its log does not reach that far, or cannot
    be read, the answer is the error for which the stream is refused.
    """

    stream: Stream
    fresh: bool = False
    reached: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RetireStream(Task):
    """Take nothing more for a dropped stream, and end its source, after maintenance that may be using its log."""

    stream: str

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class RemoveStream(Task):
    """Remove the files of a dropped stream, after dead letters that were being stored."""

    stream: str

    lane: ClassVar[str] = FILES


@dataclass(frozen=True, slots=True, eq=False)
class CheckQuery(Task):
    """Let Spark analyse a query. Answered with `CheckedQuery`."""

    query: Query
    remembered: bool = False  # it has begun before the engine was opened: dead letters of its name are its own
    is_new: bool = False  # results of its name, if there are any, are those of a former query


@dataclass(frozen=True, slots=True, eq=False)
class CheckQueries(Task):
    """Let Spark analyse several queries. Answered with a `CheckedQuery` or an error for each."""

    checks: tuple[CheckQuery, ...]


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that can run."""

    unfragmented: LayoutView
    reported: frozenset[Any] = frozenset()  # keys of failures that are dead letters already
    columns: Any = None  # of its results


@dataclass(frozen=True, slots=True, eq=False)
class FindPositions(Task):
    """Find the first offset of each stream whose tuples have not passed all fragments of a query.

    Committed intermediate rows that are not in their fragment logs yet are appended first, since they count too.
    """

    resume_point: ResumePoint
    unappended: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FindUndelivered(Task):
    """Find committed results that a callback may not have received before a crash."""

    query: str
    sink: str


@dataclass(frozen=True, slots=True, eq=False)
class Prepare(Task):
    """Cut or join a query as a level demands, write its description to a commit, and collect its backlog."""

    resume_point: ResumePoint
    level: Level | None
    ends: Mapping[str, int]  # of its streams
    reopen: Mapping[str, Any] | None = None  # its committed description, if its fragments must be opened again
    reopen_at: Mapping[str, int] = field(default_factory=dict)  # its committed positions, by `key(place)`
    commit_description: bool = False  # write its description to a commit even if its layout stays
    reported: frozenset[Any] = frozenset()  # keys of failures that are dead letters already
    unappended: Sequence[Any] = ()  # committed intermediate rows that must go into their fragment logs first
    discard: LayoutView | None = None  # a former layout whose fragment logs nothing reads any more
    lane_name: str = BACKGROUND

    @property
    def lane(self) -> str:  # type: ignore[override]
        return self.lane_name


@dataclass(frozen=True, slots=True, eq=False)
class PrepareTogether(Task):
    """Prepare queries that need not be cut or joined, with one commit. Answered with a `Prepared` for each."""

    tasks: tuple[Prepare, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """The offsets that one fragment of a query takes in a run."""

    resume_point: ResumePoint
    fragment: FragmentView
    offsets: Mapping[Place, Offsets]

    @property
    def name(self) -> str:
        return self.resume_point.name


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Task):
    """Run portions as Spark jobs, if possible one job for each group. Answered with a `PortionResult` for each."""

    label: str
    groups: tuple[tuple[Portion, ...], ...]
    pool: str = ""  # of Spark's own scheduling of tasks; none: the default one
    limit: float | None = None  # seconds that a job may take, if that is less than usual

    lane: ClassVar[str] = WORKER


@dataclass(frozen=True, slots=True, eq=False)
class WarmUp(Task):
    """Run the jobs of units on made-up rows and drop the results. Answered with the number of units that were run."""

    label: str
    groups: tuple[tuple[ResumePoint, ...], ...]  # by unit, the most important first
    limit: float  # seconds
    progress: Callable[[int, int], object]  # is told how many jobs are done, and of how many


@dataclass(frozen=True, slots=True, eq=False)
class PortionResult:
    """The result of evaluating one portion."""

    portion: Portion
    error: str = ""
    output: Any = None  # the query's results as a commit stores them; None if there are none
    size: int = 0  # bytes of `output`
    intermediate: Any = None  # rows for the next fragment, as a commit stores them
    intermediate_count: int = 0
    chunks: Chunks = ()  # when the tuples behind the intermediate rows arrived
    failures: tuple[Any, ...] = ()
    count: int = 0  # rows produced
    tuples: int = 0  # tuples taken
    arrived: int = 0  # tuples taken from streams, not from other fragments
    late: int = 0
    jobs: int = 0
    jobs_share: float = 0.0  # of the jobs: one of several queries counts once for all of them
    rows_read: float = 0.0  # by these jobs, its share
    arrivals: Any = ()  # of each result or of a sample: when the last tuple that it needed arrived, as numpy has it
    own_arrivals: Any = ()  # likewise, of the last tuple in it, where that is not the one that closed its window
    follower_tables: tuple[Any, ...] = ()  # results for those who follow the query


@dataclass(frozen=True, slots=True, eq=False)
class WriteCommit(Task):
    """Write a commit. Answered with `WrittenCommit` once it is durable."""

    run: int = 0
    units: tuple[str, ...] = ()
    positions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    intermediate: Mapping[str, Any] = field(default_factory=dict)  # rows for other fragments, by fragment log
    queries: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)  # descriptions; None: removed
    catalog: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # other declarations, by kind and name
    failures: Sequence[tuple[str, str, Any]] = ()  # (query, one of its streams, failure), to become dead letters
    follower_tables: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ended_queries: tuple[str, ...] = ()  # queries whose followers get no more results

    lane: ClassVar[str] = COMMIT


@dataclass(frozen=True, slots=True)
class WrittenCommit:
    """A durable commit."""

    number: int
    at: float
    letters: Mapping[str, Any] = field(default_factory=dict)  # dead letters by stream, as the commit stores them
    unappended: Mapping[str, tuple[int, Any]] = field(default_factory=dict)  # rows that their fragment log refused
    error: Exception | None = None  # why it refused them


@dataclass(slots=True)
class Prepared:
    """A query's layout and positions after `Prepare`; with an `error`, those that it had reached by then."""

    layout: LayoutView
    positions: dict[Place, int]
    fragment_log_ends: dict[str, int]
    backlog: dict[Place, Chunks]  # tuples that wait for it
    steps: list[tuple[PortionResult, WrittenCommit]] = field(default_factory=list)  # runs committed meanwhile
    letters: list[WrittenCommit] = field(default_factory=list)  # further commits with dead letters
    keys: set[Any] = field(default_factory=set)  # of failures that became dead letters meanwhile
    unappended: list[Any] = field(default_factory=list)
    description_committed: bool = False  # a commit holds its description as it is now
    error: Exception | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Deliver(Task):
    """Deliver committed results to a sink, in ascending order of their commits."""

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
    """Append committed dead letters to a stream's dead-letter file."""

    stream: str
    batch: Sequence[tuple[int, Any]]

    lane: ClassVar[str] = FILES


@dataclass(frozen=True, slots=True, eq=False)
class CloseSink(Task):
    """Close a sink that gets no more results."""

    outbox: int
    query: str
    lane_name: str = FILES

    @property
    def lane(self) -> str:  # type: ignore[override]
        return self.lane_name


@dataclass(frozen=True, slots=True, eq=False)
class CheckWindows(Task):
    """Check whether windows of a fragmented query can close. Answered with the leaves whose tuples need not wait."""

    resume_point: ResumePoint
    entry_number: int
    ends: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Maintain(Task):
    """Merge small result files, and drop commits up to number `upto` from the commit log.

    What is kept for runs of queries with other `layouts` is forgotten. Answered with the first offset of each stream
    that the queries at `resume_points` may still read, if given.
    """

    upto: int
    resume_points: tuple[ResumePoint, ...] | None = None
    layouts: tuple[LayoutView, ...] = ()
    last: bool = False

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class DropTuples(Task):
    """Drop the tuples of streams before these offsets. Answered with the new start of each stream."""

    before: Mapping[str, int]

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class DiscardFragmentLogs(Task):
    """Delete the fragment logs of a layout that is no longer used."""

    layout: LayoutView

    lane: ClassVar[str] = MAINTENANCE


@dataclass(frozen=True, slots=True, eq=False)
class RestartSpark(Task):
    """Start Spark again, if it is dead. Answered with the tables that could not be read again, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class KillSpark(Task):
    """End Spark's Java process, if it is ours: what it does cannot be stopped otherwise, or its cluster is lost."""

    reason: str

    lane: ClassVar[str] = KILL  # of its own: all others may be waiting for Java


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a command."""

    ticket: int
    value: Any = None
    error: Exception | None = None
