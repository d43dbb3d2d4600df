"""What a run is given: the logs, and for every leaf of a plan the offsets it takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Protocol

import pyarrow as pa

from headgate.spark.jobs.spans import Moment


class Rows(Protocol):
    """A stream's log. Tables hold the stream's columns, `_offset` (int64) and `_arrival` (double)."""

    @property
    def start(self) -> int:
        """The first offset that is still kept."""

    def read(self, first: int, last: int) -> pa.Table:
        """The rows at offsets [first, last)."""

    def read_window(self, first: int, last: int, low: Moment, high: Moment) -> pa.Table:
        """Those of them whose event time lies in [low, high] microseconds: exactly those."""


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
