"""What streams hold, as a list: what the real logs must agree with."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from headgate.model import Stream

WATERMARK = 2.0  # seconds
NAMES = ("a", "b", "c")
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])


def stream(name: str) -> Stream:
    columns = (("k", "bigint"), ("v", "bigint"), ("ts", "timestamp"))
    return Stream(name=name, schema=columns, event_time="ts", watermark=WATERMARK)


class Tuple(NamedTuple):
    """One tuple; its event time in microseconds."""

    k: int
    v: int
    ts: int
    late: bool = False


class Given(NamedTuple):
    """An append as it was asked for; without rows the stream's end."""

    rows: tuple[tuple[int, int, int | None], ...]
    arrival: float

    @property
    def table(self) -> pa.Table:
        columns = [pa.array([row[at] for row in self.rows], one.type) for at, one in enumerate(SCHEMA)]
        return pa.Table.from_arrays(columns, schema=SCHEMA)


@dataclass
class StreamModel:
    """A stream as those know it who have appended to it."""

    tuples: list[Tuple | None] = field(default_factory=list)  # None: the stream's end
    reach: list[float] = field(default_factory=list)  # the frontier behind each tuple, once its append is whole
    unsure: list[Given] = field(default_factory=list)  # appends since the last that counts: one of them may count

    @property
    def end(self) -> int:
        return len(self.tuples)

    @property
    def ended(self) -> bool:
        return None in self.tuples

    def frontier(self, offset: int) -> float:
        """How far event time has come with the appends that lie before an offset; -inf before the first."""
        return self.reach[offset - 1] if offset else -math.inf

    def kept(self, given: Given) -> list[Tuple | None]:
        """What an append leaves here: rows without an event time, and those of a far future, are rejected."""
        if not given.rows:
            return [] if self.ended else [None]
        now, bound = self.frontier(self.end), given.arrival * 1e6 + 3600e6
        return [Tuple(k, v, ts, ts < now) for k, v, ts in given.rows if ts is not None and ts <= bound]

    def add(self, given: Given) -> None:
        """An append counts."""
        kept = self.kept(given)
        before = self.frontier(self.end)
        times = [each.ts for each in kept if each is not None and not each.late]
        after = max([before, *(time - WATERMARK * 1e6 for time in times)])
        if kept == [None]:
            after = math.inf
        self.tuples += kept
        self.reach += [before] * (len(kept) - 1) + [after] if kept else []
        self.unsure = []
