"""What a run is given: the logs, and for every leaf of a plan the offsets it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

from headgate.model import EventTime, HeadgateError

Found = TypeVar("Found")


class LogPart(Protocol):
    """Offsets [first, end) of a log and what is known of their rows without reading them."""

    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def late(self) -> int:
        """How many of the rows came after windows that they belong to had closed; the times below are of the others."""

    @property
    def low(self) -> int | None:
        """The smallest event time, microseconds."""

    @property
    def high(self) -> int | None: ...
    @property
    def path(self) -> Path | None:
        """The Parquet file with exactly these rows, their offsets, arrivals and marks; None: not sealed yet."""

    def overlaps(self, low: EventTime, high: EventTime) -> bool:
        """Whether a row in time may have its event time in [low, high]."""

    def inside(self, low: EventTime, high: EventTime) -> bool:
        """Whether every row in time has."""


class Rows(Protocol):
    """A stream's log. Tables hold the stream's columns, `_offset` (int64), `_arrival` (double), `_late` (boolean)."""

    @property
    def start(self) -> int:
        """The first offset that is still kept."""

    def read(self, first: int, last: int) -> pa.Table:
        """The rows at offsets [first, last), late or not: what operators without windows take."""

    def read_window(self, first: int, last: int, low: EventTime, high: EventTime) -> pa.Table:
        """Those in time whose event time lies in [low, high] microseconds, exactly those: what windows take."""

    def segments(self, first: int, last: int) -> Sequence[LogPart]:
        """The parts that hold them, in order; sealed ones come before the others."""

    def misses(self, first: int, lows: Mapping[str, EventTime]) -> bool:
        """Whether rows from `first` on are not kept any more that may have these event times, by column, or later."""


@dataclass(frozen=True, slots=True)
class Range:
    """The new tuples of a run: offsets [first, last)."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stream as one leaf of a plan reads it in one run.

    The frontiers are those of the log at `range.first` and `range.last`: no later tuple is earlier in event time.
    None stands for a stream that has none yet, infinity for one that has ended. `start` is the offset from which
    the query reads at all.
    """

    stream: str
    range: Range
    frontier_old: EventTime | None = None
    frontier_new: EventTime | None = None
    start: int = 0

    def frontier(self, new: bool) -> EventTime:
        """The frontier before or after the run."""
        found = self.frontier_new if new else self.frontier_old
        return -inf if found is None else found


def read_kept(log: Rows, first: int, read: Callable[[int], Found]) -> Found:
    """Read a log from an offset on, or from where it starts by now: more may be dropped while we look."""
    while True:
        start = log.start
        try:
            return read(max(first, start))
        except HeadgateError:
            if log.start == start:
                raise


def check_kept(log: Rows, stream: str, first: int, lows: Mapping[str, EventTime]) -> None:
    """Refuse rows of a log that are no longer there: those from an offset on with these event times, or later.

    Windows ask for their event times from the offset on at which the query began; most that has been dropped since
    had earlier ones. Asked after rows have been read, it answers for them.
    """
    if first < log.start and log.misses(first, lows):
        raise HeadgateError(
            f"a run needs tuples of stream '{stream}' from offset {first} on, but its log starts at {log.start}: "
            "some of them have been dropped",
            hint="stop the query and start it anew with since='start', over what is kept",
        )
