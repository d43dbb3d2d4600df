"""What the state machine needs to know about fragments, layouts and stream logs, as interfaces without Spark and files.

Also the resume point of a query, and how commits describe queries and positions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from headgate.model import EventTime, Level, Query, QueueId, Source
from headgate.plan.places import Place
from headgate.spark.machine.definitions import definition

Chunks = tuple[tuple[float, int], ...]  # (arrival time, number of tuples)
Offsets = tuple[int, int]  # [first, last)


class FragmentView(Protocol):
    """A part of a plan that runs by itself: its root operator, down to streams or to the logs of other fragments."""

    @property
    def place(self) -> Place: ...
    @property
    def leaves(self) -> Mapping[Place, Source]:
        """The streams and fragment logs that it reads, by their places in the query's plan."""

    @property
    def held(self) -> tuple[Place, ...]:
        """Leaves all of whose tuples wait until a window closes."""

    @property
    def feeds_name(self) -> str | None:
        """The fragment log that its results go to; None if they are the query's results."""


class LayoutView(Protocol):
    """How a query is cut: its fragments, each after those that feed it."""

    @property
    def fragments(self) -> tuple[Any, ...]: ...
    @property
    def level(self) -> Level | None:
        """The level at which it is cut; None if it is whole."""

    @property
    def whole(self) -> bool: ...
    @property
    def leaves(self) -> Mapping[Place, Source]: ...
    def cut(self) -> dict[str, Any] | None:
        """What a commit must store so that the fragments can be opened again; None if it is whole."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A query with its layout and committed positions at one moment: what tasks are told about it."""

    query: Query
    unfragmented: LayoutView  # the query as one fragment
    layout: LayoutView  # as it is cut now
    starts: Mapping[Place, int] = field(default_factory=dict)  # offsets from which it reads at all
    positions: Mapping[Place, int] = field(default_factory=dict)  # offsets of the first tuples not taken yet
    until: Mapping[Place, int] = field(default_factory=dict)  # offsets at which a one-time query ends
    queues: Mapping[Place, QueueId] = field(default_factory=dict)
    ends: float | None = None  # when it is stopped, in seconds since the epoch

    @property
    def name(self) -> str:
        return self.query.name


@dataclass(frozen=True, slots=True)
class RememberedQuery:
    """What commits from before the start say about a query."""

    description: Mapping[str, Any] = field(default_factory=dict)
    positions: Mapping[str, int] = field(default_factory=dict)
    unappended: tuple[Any, ...] = ()  # (fragment log, commit, rows) that are not in the log yet
    first_undelivered: int | None = None  # the first commit whose results its callback may lack

    @property
    def has_begun(self) -> bool:
        """Whether it has a place in its streams; otherwise its start lay ahead."""
        return "starts" in self.description


class StreamFacts(Protocol):
    """Questions about logs and plans that are answered from memory. The answers stay true, since logs only grow."""

    def start(self, stream: str) -> int:
        """The smallest offset that can still be read."""

    def end(self, stream: str) -> int:
        """The offset that the next tuple will get."""

    def frontier(self, stream: str, offset: int) -> EventTime:
        """The event-time frontier that the tuples before an offset have reached; -inf before the first."""

    def ended(self, stream: str) -> bool:
        """Whether the source has ended."""

    def require(self, stream: str, offset: int) -> None:
        """Refuse an offset that the log has not reached."""

    def window_key(self, resume_point: ResumePoint) -> Hashable:
        """A key that is equal for whole queries whose windows close at the same time."""

    def folds(self, resume_point: ResumePoint) -> bool:
        """Whether runs of a whole query have something to do for tuples of open windows: fold them into panes."""

    def closed(self, resume_point: ResumePoint, frontiers: Mapping[str, EventTime]) -> tuple[EventTime, ...]:
        """The ends of the last closed windows of a whole query when its streams have reached these frontiers."""

    def can_close(self, resume_point: ResumePoint, fragment: FragmentView, ends: Mapping[str, int]) -> bool:
        """Whether a window of a whole query ends between its positions and these ends of its streams."""


@lru_cache(maxsize=1000)
def key(place: Place) -> str:
    """A place in the form that commits store.

    >>> key((0, 1))
    '0.1'
    """
    return ".".join(map(str, place))


def keyed(offsets: Mapping[Place, int]) -> dict[str, int]:
    """Offsets by place, in the form that commits store."""
    return {key(place): offset for place, offset in offsets.items()}


def query_description(resume_point: ResumePoint, *, done: bool = False, paused: bool = False) -> dict[str, Any]:
    """The description of a query that commits store: what was declared, its layout, and where it starts."""
    description: dict[str, Any] = {**definition(resume_point.query), "starts": keyed(resume_point.starts)}
    if resume_point.ends is not None:
        description["ends"] = resume_point.ends
    if resume_point.until:
        description["until"] = keyed(resume_point.until)
    if done:
        description["done"] = True
    if paused:
        description["paused"] = True
    if (cut := resume_point.layout.cut()) is not None:
        description["cut"] = cut
    return description
