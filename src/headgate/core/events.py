"""Events that the scheduler reacts to. Every event comes with its own `now`: the core reads no clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from headgate.model import ClassId, OperatorId, Produced, Query, QueryClass, QueryId, QueueId, Stream


class Arrived(NamedTuple):
    """Tuples of one arrival time have been appended to a stream. A named tuple: there is one per arrival."""

    stream: str
    arrival: float
    tuples: int = 1


class Frontier(NamedTuple):
    """A queue may be read up to this offset; later tuples are held. Not to be confused with the frontier of event time.

    Tuples of a window that is still open are held: they do not wait, and do not look starved.
    """

    queue: QueueId
    upto: int


@dataclass(frozen=True, slots=True)
class Declared:
    """A stream or a class is declared, or has changed; queries may refer to it from now on."""

    stream: Stream | None = None
    query_class: QueryClass | None = None


@dataclass(frozen=True, slots=True)
class Undeclared:
    """A stream or a class is gone; no query refers to it. Its name may be declared again."""

    stream: str | None = None
    query_class: ClassId | None = None


@dataclass(frozen=True, slots=True)
class QueryAdded:
    """A query starts. Its queues begin at the streams' ends, those in `backlog` with these tuples before that."""

    query: Query
    backlog: tuple[Produced, ...] = ()


@dataclass(frozen=True, slots=True)
class QueriesAdded:
    """Several queries start at once, as by one `QueryAdded` after the other; units are formed once for all."""

    queries: tuple[Query, ...]
    backlog: tuple[Produced, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryRemoved:
    """A query ends; tuples that wait for it alone are dropped."""

    name: QueryId


@dataclass(frozen=True, slots=True)
class QueryMoved:
    """A query belongs to another class from now on."""

    name: QueryId
    query_class: ClassId


@dataclass(frozen=True, slots=True)
class PriorityChanged:
    """A class has another priority from now on."""

    query_class: ClassId
    priority: float


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """Another policy decides from now on, perhaps over other groups; what waits stays."""

    policy: str
    fuse: str | None = None  # None: as before


@dataclass(frozen=True, slots=True)
class StatisticsChanged:
    """Costs, selectivities or rates change from now on; None leaves a number as it is."""

    operator: OperatorId | None = None
    cost: float | None = None
    selectivity: float | None = None
    stream: str | None = None
    rate: float | None = None


Change = (
    Declared
    | Undeclared
    | QueryAdded
    | QueriesAdded
    | QueryRemoved
    | QueryMoved
    | PriorityChanged
    | PolicyChanged
    | StatisticsChanged
)
Event = Arrived | Frontier | Change
