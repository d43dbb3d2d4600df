"""The records of a history.

Times are seconds on the driver's clock: since 1970 on Spark, since the beginning in the simulator. `Setting.origin` is
the time that people count from, when the driver began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headgate.history.decision_line import mentions, why_of_line
from headgate.model import WaitingUnit, Why

VERSION = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """The results that a run gave to one query, by the arrivals of the tuples which they are of.

    For the result of a window that is the tuple that closed it; its own tuples came `window` seconds before.
    """

    count: int
    mean_arrival: float
    oldest_arrival: float  # of the result that took longest
    released: float | None = None  # when its window closed, so that the tuples could be taken; None: none held them
    window: float = 0.0  # seconds that the result that took longest waited for its window, before that arrival
    mean_window: float = 0.0  # likewise, the mean of all


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a run when it begins."""

    id: int
    worker: int
    unit: str
    query_class: str
    queries: tuple[str, ...]
    tuples: int
    oldest: float  # arrival of the oldest tuple that it takes
    began: float
    predicted: float | None = None  # seconds from its beginning to its evaluation, by the cost model
    released: float | None = None  # when the window closed whose tuples it takes
    takes: tuple[tuple[int, int, int], ...] = ()  # (queue, first, behind the last)
    decision: int = 0  # its number, from 1; several runs may come of one
    recorded_why: Why | bytes | None = field(default=None, compare=False, repr=False)  # bytes: its line

    @property
    def why(self) -> Why | None:
        """The decision for it; None if that is not known."""
        return _why(self.recorded_why, self.id)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: it began, was evaluated (its worker was free again), and ended (its results were committed)."""

    id: int
    worker: int
    unit: str
    query_class: str
    queries: tuple[str, ...]
    tuples: int
    oldest: float  # arrival of the oldest tuple that it took
    began: float
    evaluated: float
    ended: float
    predicted: float | None = None  # seconds from its beginning to its evaluation, by the cost model
    jobs: float = 0.0
    read: float = 0.0  # tuples
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by query; those without results are missing
    commit: int | None = None  # number of its last commit
    cancelled: bool = False  # for something more important: its tuples were taken again
    error: str | None = None
    takes: tuple[tuple[int, int, int], ...] = ()  # (queue, first, behind the last)
    operators: tuple[tuple[int, int, int], ...] = ()  # (operator, tuples in, tuples out)
    decision: int = 0  # its number, from 1; several runs may come of one
    recorded_why: Why | bytes | None = field(default=None, compare=False, repr=False)  # bytes: its line
    unfinished: bool = False  # it had not ended when the record did: `evaluated` and `ended` are then that time

    @classmethod
    def of_start(cls, start: RunStart, evaluated: float, ended: float, **more: Any) -> RunRecord:
        """A run of which the start is known, and what is known besides."""
        known = {one.name: getattr(start, one.name) for one in fields(start) if one.name != "released"}
        return cls(**{**known, "evaluated": evaluated, "ended": ended, **more})

    @property
    def why(self) -> Why | None:
        """The decision for it; None if that is not known."""
        return _why(self.recorded_why, self.id)

    def passed_over(self, query: str) -> WaitingUnit | None:
        """The unit of a query that was ready when this run was chosen."""
        recorded = self.recorded_why
        if isinstance(recorded, bytes) and not mentions(recorded, query):  # far quicker than to decode it
            return None
        why = self.why
        return None if why is None else next((unit for unit in why.waiting if query in unit.queries), None)

    @property
    def seconds(self) -> float:
        """How long a worker was busy with it."""
        return self.evaluated - self.began

    @property
    def results(self) -> int:
        return sum(answer.count for answer in self.answers.values())


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Tuples that came to a stream, up to a time."""

    at: float
    stream: str
    chunks: tuple[tuple[float, int], ...]  # (arrival, how many)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A query's sink has taken all results up to a commit."""

    at: float
    query: str
    commit: int
    seconds: float | None = None  # that the sink took for it; None: not recorded
    size: int | None = None  # bytes


@dataclass(frozen=True, slots=True)
class Setting:
    """What was scheduled from a time on: the first line of a trace of it (streams, queries, classes, policy, costs)."""

    at: float
    origin: float
    header: Mapping[str, Any]
    version: int = VERSION  # of the lines that follow


Record = RunRecord | RunStart | Arrivals | Delivery | Setting


def moment_of(record: Record) -> float:
    """When a record is written."""
    if isinstance(record, RunRecord):
        return record.ended
    return record.began if isinstance(record, RunStart) else record.at


def _why(recorded: Why | bytes | None, run: int) -> Why | None:
    return why_of_line(recorded, run) if isinstance(recorded, bytes) else recorded
