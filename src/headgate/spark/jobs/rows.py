"""What a run is given: the logs, and for every leaf of a plan the offsets it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from headgate.spark.jobs.spans import Moment


class Part(Protocol):
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

    def overlaps(self, low: Moment, high: Moment) -> bool:
        """Whether a row in time may have its event time in [low, high]."""

    def inside(self, low: Moment, high: Moment) -> bool:
        """Whether every row in time has."""


class Rows(Protocol):
    """A stream's log. Tables hold the stream's columns, `_offset` (int64), `_arrival` (double), `_late` (boolean)."""

    @property
    def start(self) -> int:
        """The first offset that is still kept."""

    def read(self, first: int, last: int) -> pa.Table:
        """The rows at offsets [first, last), late or not: what operators without windows take."""

    def read_window(self, first: int, last: int, low: Moment, high: Moment) -> pa.Table:
        """Those in time whose event time lies in [low, high] microseconds, exactly those: what windows take."""

    def segments(self, first: int, last: int) -> Sequence[Part]:
        """The parts that hold them, in order; sealed ones come before the others."""


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
    frontier_old: Moment | None = None
    frontier_new: Moment | None = None
    start: int = 0

    def frontier(self, new: bool) -> Moment:
        """The frontier before or after the run."""
        found = self.frontier_new if new else self.frontier_old
        return -inf if found is None else found
