"""The life of a query: its states, the transitions between them, and everything that the engine tracks about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, Any

from headgate.model import ConflictError, OperatorId, Query, QueueId
from headgate.plan.places import Place
from headgate.spark.machine.commit_pace import CommitPace
from headgate.spark.machine.definitions import definition
from headgate.spark.machine.followed_target import FollowedTarget
from headgate.spark.machine.interfaces import (
    Chunks,
    FragmentView,
    LayoutView,
    RememberedQuery,
    ResumePoint,
    query_description,
)
from headgate.spark.machine.recent_results import RecentCount, RecentResults

if TYPE_CHECKING:
    from headgate.spark.machine.messages import AddQuery
    from headgate.spark.machine.outbox import Outbox


class QueryState(StrEnum):
    """The state of a query. In a transient state the engine waits for the answer to a task, never for the user."""

    CHECKING = "checking"  # Spark is analysing its SQL (transient)
    SCHEDULED = "scheduled"  # its start time lies ahead
    CUTTING = "cutting"  # it is being cut or joined as the policy's level demands, to run next (transient)
    RUNNING = "running"
    WAITING = "waiting"  # its outbox is full, or a failed commit is about to be repeated
    PAUSED = "paused"
    SUSPENDED = "suspended"  # something failed; `resume` tries again
    DONE = "done"  # a one-time query that has read everything
    INCOMPLETE = "incomplete"  # from before the start: it waits for its callback or a table, or cannot start again
    STOPPED = "stopped"  # it is being removed (transient)


TRANSIENT = frozenset({QueryState.CHECKING, QueryState.CUTTING, QueryState.STOPPED})

_S = QueryState
TRANSITIONS: Mapping[QueryState, frozenset[QueryState]] = {
    _S.CHECKING: frozenset({_S.SCHEDULED, _S.CUTTING, _S.DONE, _S.PAUSED, _S.SUSPENDED, _S.INCOMPLETE, _S.STOPPED}),
    _S.SCHEDULED: frozenset({_S.CHECKING, _S.CUTTING, _S.PAUSED, _S.DONE, _S.INCOMPLETE, _S.STOPPED}),
    _S.CUTTING: frozenset({_S.RUNNING, _S.CHECKING, _S.PAUSED, _S.SUSPENDED, _S.WAITING, _S.INCOMPLETE, _S.STOPPED}),
    _S.RUNNING: frozenset({_S.CHECKING, _S.CUTTING, _S.WAITING, _S.PAUSED, _S.SUSPENDED, _S.DONE, _S.STOPPED}),
    _S.WAITING: frozenset({_S.CHECKING, _S.CUTTING, _S.PAUSED, _S.SUSPENDED, _S.STOPPED}),
    _S.PAUSED: frozenset({_S.CHECKING, _S.CUTTING, _S.WAITING, _S.SUSPENDED, _S.STOPPED}),
    _S.SUSPENDED: frozenset({_S.CHECKING, _S.CUTTING, _S.PAUSED, _S.WAITING, _S.STOPPED}),
    _S.DONE: frozenset({_S.CHECKING, _S.SUSPENDED, _S.STOPPED}),
    _S.INCOMPLETE: frozenset({_S.CHECKING, _S.STOPPED}),
    # The commit that removes it may fail: then it returns to its former state.
    _S.STOPPED: frozenset({_S.CUTTING, _S.PAUSED, _S.SUSPENDED, _S.WAITING, _S.SCHEDULED, _S.DONE, _S.INCOMPLETE}),
}

POSSIBLE: Mapping[str, frozenset[QueryState]] = {  # the states in which each command is allowed
    "pause": frozenset({_S.RUNNING, _S.WAITING, _S.PAUSED, _S.SUSPENDED}),
    "resume": frozenset({_S.PAUSED, _S.SUSPENDED, _S.WAITING, _S.SCHEDULED, _S.RUNNING, _S.DONE, _S.INCOMPLETE}),
    "replace": frozenset({_S.RUNNING, _S.WAITING, _S.PAUSED, _S.SUSPENDED, _S.SCHEDULED}),
    "move": frozenset(QueryState) - TRANSIENT - {_S.INCOMPLETE},
    "stop": frozenset(QueryState) - TRANSIENT,
}


def check_possible(command: str, name: str, state: QueryState) -> None:
    """Refuse a command that the state of a query does not allow.

    >>> check_possible("pause", "fire", QueryState.DONE)
    Traceback (most recent call last):
    headgate.model.errors.ConflictError: query 'fire' is done: it cannot pause now; possible: move, resume, stop
    """
    if state not in POSSIBLE[command]:
        allowed = sorted(other for other, states in POSSIBLE.items() if state in states)
        hint = f"possible: {', '.join(allowed)}" if allowed else "wait until that is over"
        raise ConflictError(f"query '{name}' is {state}: it cannot {command} now", hint=hint)


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of a query's state, one line of the journal; "" stands for no state, before adding and after removal."""

    at: float
    query: str
    before: str
    after: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Counters of a query since the engine started."""

    runs: int = 0
    cancelled: int = 0  # runs that gave way to something more important
    jobs: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    newly_taken: RecentCount = field(default_factory=RecentCount)  # those of `tuples_in` that were taken lately
    late: int = 0  # tuples that came too late for its windows
    target: FollowedTarget | None = None  # if one counts for it
    recent: RecentResults = field(default_factory=RecentResults)
    pace: CommitPace = field(default_factory=CommitPace)
    classes: list[tuple[float, str]] = field(default_factory=list)  # those it has been in: (from when, which)


DEATHS = 2  # of Java in a row while a query ran, before it runs alone


@dataclass(slots=True)
class Suspicion:
    """Whether a query makes Java die. One that ran at two deaths in a row runs alone, with nothing beside it.

    If Java dies then, too, the query is to blame. If not, it runs with the others again, at first after one run alone,
    and each time that it comes to this after four times as many.

    >>> suspicion = Suspicion()
    >>> suspicion.java_died(), suspicion.java_died(), suspicion.runs_alone
    (False, False, True)
    >>> suspicion.java_died()
    True
    """

    deaths: int = 0  # in a row, without a run that was committed in between
    alone: int = 0  # runs that it still has alone
    times: int = 0  # that it has come to this

    @property
    def runs_alone(self) -> bool:
        return self.alone > 0

    def java_died(self) -> bool:
        """Count a death during a run of it; True if it is to blame."""
        self.deaths += 1
        if self.runs_alone:
            return True
        if self.deaths >= DEATHS:
            self.alone, self.times = 4**self.times, self.times + 1
        return False

    def committed(self) -> None:
        """A run of it has ended well."""
        self.alone = max(0, self.alone - 1)
        if not self.alone:
            self.deaths = 0


@dataclass(slots=True, eq=False)
class Life:
    """Everything that the machine tracks about one query. Only the owner changes it; tasks get a `ResumePoint`."""

    query: Query
    state: QueryState = QueryState.CHECKING
    error: str = ""
    state_since: float = -inf  # when it came to its state
    added: float = -inf  # when it came to this engine: it has let no tuple wait before, however old that is
    unfragmented: LayoutView | None = None  # the query as one fragment; None until Spark has checked it
    layout: LayoutView | None = None  # as it is cut now
    starts: dict[Place, int] = field(default_factory=dict)  # the stream offsets from which it reads at all
    positions: dict[Place, int] = field(default_factory=dict)  # committed, in streams and in fragment logs
    until: dict[Place, int] = field(default_factory=dict)  # of a one-time query: the offsets at which it ends
    backfill: dict[Place, int] = field(default_factory=dict)  # where kept tuples end that it reads first, until it has
    fragment_log_ends: dict[str, int] = field(default_factory=dict)  # by fragment log
    queues: dict[Place, QueueId] = field(default_factory=dict)
    bases: dict[QueueId, int] = field(default_factory=dict)  # the log offset that is position 0 of the core's queue
    operators: dict[OperatorId, FragmentView] = field(default_factory=dict)
    entered: bool = False  # the scheduler has it
    under_way: int = 0  # its active runs; a fragmented query may have several
    writing: int = 0  # commits under way that describe it
    entry_number: int = 0  # counts preparations, to recognise answers that are outdated
    arrived_meanwhile: dict[str, list[Chunks]] = field(default_factory=dict)  # by stream, during preparation
    checking_windows: bool = False  # a `CheckWindows` task is under way
    check_windows_again: bool = False  # once that has ended
    reopen_from: RememberedQuery | None = None  # if its fragments must be opened again before it runs
    from_before: bool = False  # commits from before the start mention it
    may_become: tuple[Query, ...] = ()  # other definitions that a command under way may give it, or back to it
    added_by: AddQuery | None = None  # the command to repeat if it could not start
    begins: float | None = None  # when it starts, if that lies ahead
    ends: float | None = None  # when it is stopped; both in seconds since the epoch
    paused: bool = False  # commits say that it is paused
    awaits_spark: bool = False  # it failed only because Spark died: it continues when Spark is back
    suspicion: Suspicion = field(default_factory=Suspicion)  # that it makes Java die
    stopping: bool = False  # a command to stop it waits until its active runs have ended
    failures: int = 0  # consecutive commits that failed
    skipped: int = 0  # tuples skipped because of its lag limit
    columns: Any = None  # of its results
    description_committed: bool = False  # a commit holds what a command under way has changed
    reported: set[Any] = field(default_factory=set)  # keys of failures that are dead letters already
    unappended: list[Any] = field(default_factory=list)  # (fragment log, commit, rows) not in the log yet
    tally: Tally = field(default_factory=Tally)
    outbox: Outbox | None = None
    when_idle: Callable[[], None] | None = None  # called once its active runs have ended
    deferred: deque[Callable[[], None]] = field(default_factory=deque)  # commands that wait until it is settled

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def busy(self) -> bool:
        """Whether it has active runs."""
        return self.under_way > 0

    @property
    def settled(self) -> bool:
        """Whether nothing of it is under way, so that a command can change it."""
        return not self.busy and not self.writing and self.state not in TRANSIENT

    @property
    def is_known(self) -> bool:
        """Whether Spark has accepted it, now or before the engine was started."""
        return self.unfragmented is not None or self.from_before

    @property
    def fragments(self) -> tuple[FragmentView, ...]:
        return () if self.layout is None else self.layout.fragments

    def resume_point(self) -> ResumePoint:
        """A copy of what tasks need to know."""
        assert self.layout is not None
        assert self.unfragmented is not None
        return ResumePoint(
            self.query,
            self.unfragmented,
            self.layout,
            dict(self.starts),
            dict(self.positions),
            dict(self.until),
            dict(self.queues),
            self.ends,
        )

    def description(self, *, done: bool = False, paused: bool = False) -> dict[str, Any]:
        """What commits should say about it: what was declared, and where it stands if it has begun."""
        if self.layout is None:
            times = {"begins": self.begins, "ends": self.ends}
            return definition(self.query) | {key: time for key, time in times.items() if time is not None}
        description = query_description(self.resume_point(), done=done, paused=paused)
        if self.reopen_from is not None and "cut" in self.reopen_from.description:
            description["cut"] = self.reopen_from.description["cut"]  # its fragments are not open yet
        return description

    def end(self, stream: str, ends: Mapping[str, int]) -> int:
        """The end of a stream, given `ends`, or of a fragment log."""
        return self.fragment_log_ends[stream] if stream in self.fragment_log_ends else ends[stream]

    @property
    def has_read_all(self) -> bool:
        """Whether a one-time query has read everything up to `until`."""
        if not self.until or self.layout is None:
            return False
        for place, source in self.layout.leaves.items():
            log_end = self.fragment_log_ends.get(source.stream)
            if self.positions[place] < (self.until[place] if log_end is None else log_end):
                return False
        return True

    def forget_reported(self, starts: Mapping[str, int]) -> None:
        """Forget failures whose tuples have been dropped from the logs: they cannot occur again."""
        self.reported = {key for key in self.reported if all(starts.get(stream, 0) <= at for stream, at in key[0])}

    def report(self, keys: set[Any]) -> None:
        """Remember committed failures, so that each is one dead letter."""
        self.reported |= keys
