"""A stream log as a plain list, with which the real one must agree."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pyarrow as pa
from tests.spark.store.builders import DELAY

Row = tuple[int, int, float, bool] | None  # id, event time, arrival, late; None: the stream's end


@dataclass
class NaiveLog:
    rows: list[Row] = field(default_factory=list)
    batches: dict[str, tuple[int, int]] = field(default_factory=dict)
    start: int = 0
    ends: list[int] = field(default_factory=list)  # of the appends
    ahead: float = math.inf  # microseconds

    def frontier(self, offset: int) -> int | float | None:
        if None in self.rows[:offset]:
            return math.inf
        settled = max((end for end in self.ends if end <= offset), default=0)
        return max((row[1] - DELAY for row in self.rows[:settled] if row and not row[3]), default=None)

    def append(self, given: pa.Table, arrival: float, batch: str | None) -> tuple[int, int, list[int]]:
        """First, last and the ids of the rejected."""
        if batch is not None and batch in self.batches:
            return (*self.batches[batch], [])
        frontier, first, rejected = self.frontier(len(self.rows)), len(self.rows), []
        for number, time in zip(given["id"].to_pylist(), given["ts"].cast(pa.int64()).to_pylist(), strict=True):
            if time is None or time > arrival * 1e6 + self.ahead:
                rejected.append(number)
            else:
                self.rows.append((number, time, arrival, frontier is not None and time < frontier))
        self.ends.append(len(self.rows))
        if batch is not None:
            self.batches[batch] = (first, len(self.rows))
        return first, len(self.rows), sorted(rejected)

    def finish(self) -> None:
        if None not in self.rows:
            self.rows.append(None)

    def read(self, first: int, last: int) -> list[tuple[int, int, bool]]:
        """Ids, offsets and marks."""
        numbered = enumerate(self.rows[first:last], start=first)
        return [(row[0], offset, row[3]) for offset, row in numbered if row]

    def window(self, first: int, last: int, low: float, high: float) -> list[tuple[int, int, bool]]:
        """Those in time and inside."""
        times = {row[0]: row[1] for row in self.rows if row}
        return [row for row in self.read(first, last) if not row[2] and low <= times[row[0]] <= high]

    def arrivals(self, first: int, last: int) -> list[tuple[float, int]]:
        chunks: list[tuple[float, int]] = []
        for row in self.rows[first:last]:
            if row and chunks and chunks[-1][0] == row[2]:
                chunks[-1] = (row[2], chunks[-1][1] + 1)
            elif row:
                chunks.append((row[2], 1))
        return chunks
