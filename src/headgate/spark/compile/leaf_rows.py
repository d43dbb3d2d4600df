"""The input of a run: the logs, and the offsets that each leaf of the plan (a stream as one branch reads it) takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

from headgate.model import EventTime, HeadgateError
from headgate.plan.places import Place

T = TypeVar("T")


class ReadableSegment(Protocol):
    """Offsets [first, end) of a log and what is known of their rows without reading them."""

    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def late(self) -> int:
        """How many rows came after windows that they belong to had closed; `low` and `high` are of the other rows."""

    @property
    def low(self) -> int | None:
        """The smallest event time, microseconds."""

    @property
    def high(self) -> int | None:
        """The largest event time, microseconds."""

    @property
    def path(self) -> Path | None:
        """The Parquet file with exactly these rows, their offsets, arrivals and late marks; None: not sealed yet."""

    def overlaps(self, low: EventTime, high: EventTime) -> bool:
        """Whether a row that is not late may have its event time in [low, high]."""

    def inside(self, low: EventTime, high: EventTime) -> bool:
        """Whether every row that is not late has its event time in [low, high]."""


class ReadableLog(Protocol):
    """A stream's log as runs read it.

    Tables have the stream's columns, `_offset` (int64), `_arrival` (double) and `_late` (boolean).
    """

    @property
    def start(self) -> int:
        """The first offset that the log still keeps."""

    def read(self, first: int, last: int) -> pa.Table:
        """The rows at offsets [first, last), late or not: what operators without windows take."""

    def read_window(self, first: int, last: int, low: EventTime, high: EventTime) -> pa.Table:
        """Exactly those that are not late and have an event time in [low, high] microseconds: what windows take."""

    def segments(self, first: int, last: int) -> Sequence[ReadableSegment]:
        """The segments that hold these offsets, in order; sealed ones come before the others."""

    def misses(self, first: int, lows: Mapping[str, EventTime]) -> bool:
        """Whether rows from `first` on were dropped that may have these event times, by column, or later ones."""


@dataclass(frozen=True, slots=True)
class Range:
    """The new tuples of a run: offsets [first, last)."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stream as one leaf of a plan reads it in one run.

    The frontiers are those of the log at `range.first` and `range.last`: no later tuple is earlier in event time.
    None stands for a stream that has no frontier yet, infinity for one that has ended. `start` is the first offset
    that the query reads at all.
    """

    stream: str
    range: Range
    frontier_old: EventTime | None = None
    frontier_new: EventTime | None = None
    start: int = 0

    def frontier(self, new: bool) -> EventTime:
        """The frontier before or after the run."""
        frontier = self.frontier_new if new else self.frontier_old
        return -inf if frontier is None else frontier


Leaves = Mapping[Place, Leaf]  # what a run takes, by the leaf's place in the plan
Logs = Mapping[str, ReadableLog]  # by stream


def read_kept(log: ReadableLog, first: int, read: Callable[[int], T]) -> T:
    """Read a log from an offset on, or from its start if that is later; again if rows are dropped meanwhile."""
    while True:
        start = log.start
        try:
            return read(max(first, start))
        except HeadgateError:
            if log.start == start:
                raise


def check_kept(log: ReadableLog, stream: str, first: int, lows: Mapping[str, EventTime]) -> None:
    """Raise an error if the log has dropped rows from offset `first` on with event times at or after `lows`.

    Windows ask for their event times from the offset on at which the query began; most rows dropped since then have
    earlier event times and are not missed. Call it after reading, so that it holds for the rows that were read.
    """
    if first < log.start and log.misses(first, lows):
        raise HeadgateError(
            f"a run needs tuples of stream '{stream}' from offset {first} on, but its log starts at {log.start}: "
            "some of them have been dropped",
            hint="stop the query and start it anew with since='start', over what is kept",
        )
