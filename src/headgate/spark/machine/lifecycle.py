"""The life of a query: its states, the table of transitions between them, and what the engine knows of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.model import HeadgateError, OperatorId, Query, QueueId
from headgate.plan.sharing import Place
from headgate.spark.machine.fragments import Chunks, FragmentView, LayoutView, ResumePoint

if TYPE_CHECKING:
    from headgate.spark.machine.outbox import Outbox

KEPT = 100_000  # response times that percentiles are taken from
_CHUNKS = 1000


class QueryState(StrEnum):
    """Where a query is in its life. In a passing state the engine waits for an answer, never for the user."""

    CHECKING = "checking"  # Spark looks at its SQL (passing)
    SCHEDULED = "scheduled"  # its start lies ahead
    CUTTING = "cutting"  # it is brought into the form that the policy's level asks for, to run next (passing)
    RUNNING = "running"
    WAITING = "waiting"  # its sink has too much to take still
    PAUSED = "paused"
    SUSPENDED = "suspended"  # something failed; `resume` tries again
    DONE = "done"  # a one-time query that has read all
    STOPPED = "stopped"  # it is being removed (passing), then it is gone


TRANSIENT = frozenset({QueryState.CHECKING, QueryState.CUTTING, QueryState.STOPPED})

_S = QueryState
TRANSITIONS: Mapping[QueryState, frozenset[QueryState]] = {
    _S.CHECKING: frozenset({_S.SCHEDULED, _S.CUTTING, _S.DONE, _S.PAUSED, _S.SUSPENDED, _S.STOPPED}),
    _S.SCHEDULED: frozenset({_S.CHECKING, _S.CUTTING, _S.DONE, _S.STOPPED}),
    _S.CUTTING: frozenset({_S.RUNNING, _S.CHECKING, _S.PAUSED, _S.SUSPENDED, _S.WAITING, _S.STOPPED}),
    _S.RUNNING: frozenset({_S.CHECKING, _S.CUTTING, _S.WAITING, _S.PAUSED, _S.SUSPENDED, _S.DONE, _S.STOPPED}),
    _S.WAITING: frozenset({_S.CHECKING, _S.CUTTING, _S.PAUSED, _S.SUSPENDED, _S.STOPPED}),
    _S.PAUSED: frozenset({_S.CHECKING, _S.CUTTING, _S.WAITING, _S.SUSPENDED, _S.STOPPED}),
    _S.SUSPENDED: frozenset({_S.CHECKING, _S.CUTTING, _S.PAUSED, _S.WAITING, _S.STOPPED}),
    _S.DONE: frozenset({_S.CHECKING, _S.SUSPENDED, _S.STOPPED}),
    _S.STOPPED: frozenset({_S.CUTTING, _S.PAUSED, _S.SUSPENDED, _S.WAITING, _S.SCHEDULED, _S.DONE}),  # not removed
}

POSSIBLE: Mapping[str, frozenset[QueryState]] = {  # the states in which each command can be given
    "pause": frozenset({_S.RUNNING, _S.WAITING, _S.PAUSED, _S.SUSPENDED}),
    "resume": frozenset({_S.PAUSED, _S.SUSPENDED, _S.WAITING, _S.SCHEDULED, _S.RUNNING, _S.DONE}),
    "replace": frozenset({_S.RUNNING, _S.WAITING, _S.PAUSED, _S.SUSPENDED, _S.SCHEDULED}),
    "move": frozenset(QueryState) - TRANSIENT,
    "stop": frozenset(QueryState) - TRANSIENT,
}


def check_possible(command: str, name: str, state: QueryState) -> None:
    """Refuse a command that does not fit the state of a query.

    >>> check_possible("pause", "fire", QueryState.DONE)
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: query 'fire' is done: it cannot pause now; possible: move, resume, stop
    """
    if state not in POSSIBLE[command]:
        fitting = sorted(each for each, states in POSSIBLE.items() if state in states)
        hint = f"possible: {', '.join(fitting)}" if fitting else "wait until that is over"
        raise HeadgateError(f"query '{name}' is {state}: it cannot {command} now", hint=hint)


@dataclass(frozen=True, slots=True)
class Transition:
    """One line of the journal."""

    at: float
    query: str
    before: str
    after: str
    reason: str


class Times:
    """The newest response times. What is handed out are the same arrays: nobody changes them, nobody copies them.

    >>> times = Times(kept=3)
    >>> for start in (0.0, 2.0, 4.0):
    ...     times.add(np.array([start, start + 1.0]))
    >>> np.concatenate(times.chunks()).tolist()
    [2.0, 3.0, 4.0, 5.0]
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._chunks: deque[np.ndarray[Any, np.dtype[np.float64]]] = deque()
        self._count = 0

    def add(self, times: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        if not len(times):
            return
        self._chunks.append(times)
        self._count += len(times)
        while self._count - len(self._chunks[0]) >= self._kept:
            self._count -= len(self._chunks.popleft())
        if len(self._chunks) > _CHUNKS:  # runs that give one result each
            self._chunks = deque([np.concatenate(self._chunks)])

    def chunks(self) -> tuple[np.ndarray[Any, np.dtype[np.float64]], ...]:
        """All of them, the oldest first."""
        return tuple(self._chunks)


@dataclass(slots=True)
class Tally:
    """What a query has done since the engine started."""

    runs: int = 0
    jobs: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    dead_letters: int = 0
    late: int = 0  # tuples that its windows passed over
    times: Times = field(default_factory=lambda: Times())


@dataclass(slots=True, eq=False)
class Life:
    """A query in the engine. Only the owner changes it; what others are given is a `ResumePoint`."""

    query: Query
    state: QueryState = QueryState.CHECKING
    error: str = ""
    unfragmented: LayoutView | None = None  # the query in one piece; None until Spark has checked it
    layout: LayoutView | None = None  # as it is now
    starts: dict[Place, int] = field(default_factory=dict)  # the offsets of the streams from which it reads at all
    positions: dict[Place, int] = field(default_factory=dict)  # what is committed: in streams, and in what waits inside
    until: dict[Place, int] = field(default_factory=dict)  # of a one-time query: where its streams end for it
    fragment_log_ends: dict[str, int] = field(default_factory=dict)  # how much waits, or has waited, inside, by name
    queues: dict[Place, QueueId] = field(default_factory=dict)
    bases: dict[QueueId, int] = field(default_factory=dict)  # the log's offset at the core's 0
    operators: dict[OperatorId, FragmentView] = field(default_factory=dict)
    entered: bool = False  # the scheduler knows it
    under_way: int = 0  # runs of it that have not ended; of a query in pieces there may be several at a time
    entry_number: int = 0  # tells one entering from another
    arrived_meanwhile: dict[str, list[Chunks]] = field(
        default_factory=dict
    )  # what has come while it was being prepared
    checking_windows: bool = False  # somebody looks whether windows inside can close
    check_windows_again: bool = False
    reopen_from: Any = None  # what commits say of it, if it must be opened again before it goes on
    awaits_spark: bool = False  # it failed only because Spark died: it goes on when Spark is back
    failures: int = 0  # commits that failed in a row
    skipped: int = 0  # tuples that it did not read, to catch up
    columns: Any = None  # of its results: (name, type)
    description_committed: bool = False  # a commit has told of what a command under way makes of it
    reported: set[Any] = field(default_factory=set)  # what its expressions failed on, as long as it may be read again
    unappended: list[Any] = field(default_factory=list)  # committed rows that could not be put inside yet
    tally: Tally = field(default_factory=Tally)
    outbox: Outbox | None = None
    when_idle: Callable[[], None] | None = None  # what happens once the run under way has ended
    deferred: deque[Callable[[], None]] = field(default_factory=deque)  # commands that wait until it is at rest

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def busy(self) -> bool:
        """Whether a run of it is under way."""
        return self.under_way > 0

    @property
    def settled(self) -> bool:
        """Whether a command can change it: nothing of it is under way."""
        return not self.busy and self.state not in TRANSIENT

    @property
    def fragments(self) -> tuple[FragmentView, ...]:
        return () if self.layout is None else self.layout.fragments

    def resume_point(self) -> ResumePoint:
        """As others may see it: a copy."""
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
        )

    def end(self, stream: str, ends: Mapping[str, int]) -> int:
        """How much there is of a stream, or of what waits inside."""
        return self.fragment_log_ends[stream] if stream in self.fragment_log_ends else ends[stream]

    @property
    def has_read_all(self) -> bool:
        """Whether a one-time query has read all that it was to read."""
        if not self.until or self.layout is None:
            return False
        for place, source in self.layout.leaves.items():
            inside = self.fragment_log_ends.get(source.stream)
            if self.positions[place] < (self.until[place] if inside is None else inside):
                return False
        return True

    def forget_reported(self, starts: Mapping[str, int]) -> None:
        """Let go of failures whose tuples are in no log any more: they cannot be met again."""
        self.reported = {key for key in self.reported if all(starts.get(stream, 0) <= at for stream, at in key[0])}

    def report(self, keys: set[Any]) -> None:
        """Failures are committed: those not told before count."""
        self.tally.dead_letters += len(keys - self.reported)
        self.reported |= keys
