"""What the engine must know of a plan and its pieces, and where a query stands in them. No Spark, no files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from headgate.model import EventTime, Level, Query, QueueId, Source
from headgate.plan.sharing import Place

Chunks = tuple[tuple[float, int], ...]  # (arrival, how many)
Offsets = tuple[int, int]  # [first, last)


class FragmentView(Protocol):
    """A part of a plan that runs by itself: from its last operator down to streams or to results of other pieces."""

    @property
    def place(self) -> Place: ...
    @property
    def leaves(self) -> Mapping[Place, Source]:
        """What it reads, by the place in the query's plan."""

    @property
    def held(self) -> tuple[Place, ...]:
        """Leaves whose every tuple waits for a window to close."""

    @property
    def feeds_name(self) -> str | None:
        """Under which name its results wait for another piece; None: they are the query's."""


class LayoutView(Protocol):
    """A query in pieces, each after those that feed it."""

    @property
    def fragments(self) -> tuple[Any, ...]: ...
    @property
    def level(self) -> Level | None:
        """None: it is whole."""

    @property
    def whole(self) -> bool: ...
    @property
    def leaves(self) -> Mapping[Place, Source]: ...
    def cut(self) -> dict[str, Any] | None:
        """What a commit must tell so that it can be opened again."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a query stands, at one moment: what tasks are given of it."""

    query: Query
    unfragmented: LayoutView  # the query in one piece
    layout: LayoutView
    starts: Mapping[Place, int] = field(default_factory=dict)
    positions: Mapping[Place, int] = field(default_factory=dict)
    until: Mapping[Place, int] = field(default_factory=dict)
    queues: Mapping[Place, QueueId] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.query.name


class StreamFacts(Protocol):
    """What logs and plans say, from memory and at once. Facts never change: a log only grows."""

    def start(self, stream: str) -> int:
        """The smallest offset that can still be read."""

    def end(self, stream: str) -> int:
        """The offset that the next tuple will get."""

    def frontier(self, stream: str, offset: int) -> EventTime:
        """How far event time has come with the tuples before an offset; -inf before the first."""

    def ended(self, stream: str) -> bool:
        """Whether the source has ended."""

    def require(self, stream: str, offset: int) -> None:
        """Refuse an offset that the log has not reached."""

    def window_key(self, resume_point: ResumePoint) -> Hashable:
        """What whole queries have in common whose windows close together."""

    def closed(self, resume_point: ResumePoint, frontiers: Mapping[str, EventTime]) -> tuple[EventTime, ...]:
        """The last ends of the windows that have closed when the streams of a whole query have come so far."""

    def can_close(self, resume_point: ResumePoint, fragment: FragmentView, ends: Mapping[str, int]) -> bool:
        """Whether a window ends between where a whole query stands and these ends."""


def key(place: Place) -> str:
    """A place as commits write it.

    >>> key((0, 1))
    '0.1'
    """
    return ".".join(map(str, place))


def keyed(offsets: Mapping[Place, int]) -> dict[str, int]:
    """Offsets by place, as commits write them."""
    return {key(place): offset for place, offset in offsets.items()}


def query_description(resume_point: ResumePoint, done: bool = False) -> dict[str, Any]:
    """What a commit says of a query: what it is, how it is cut, from where it reads."""
    query = resume_point.query
    description: dict[str, Any] = {
        "sql": query.sql,
        "class": query.query_class,
        "sink": query.sink or "parquet",
        "starts": keyed(resume_point.starts),
    }
    if resume_point.until:
        description["until"] = keyed(resume_point.until)
    if done:
        description["done"] = True
    if (cut := resume_point.layout.cut()) is not None:
        description["cut"] = cut
    return description
