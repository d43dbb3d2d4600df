"""What a query has done lately: its newest results with the time each took, and how many tuples it has taken."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Any, NamedTuple

import numpy as np

from headgate.metrics.measures.latency import DroppedResults, Slice

RECENT = 10.0  # seconds that "lately" means in the status
KEPT = 50_000  # results of a query that measures are taken over
_MANY = 1000  # chunks, of runs that give few results each, before they are put together

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Committed(NamedTuple):
    """Results in the order of their commits."""

    at: Floats  # seconds since 1970
    took: Floats  # seconds from the last tuple of each to its commit

    @classmethod
    def join(cls, chunks: tuple[Committed, ...]) -> Committed:
        """All chunks as one."""
        empty = np.empty(0)
        columns = ((empty, empty), *((chunk.at, chunk.took) for chunk in chunks))
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))


class RecentResults:
    """Keeps the newest results. The arrays that it hands out are its own: nobody changes them, nobody copies them.

    >>> results = RecentResults(kept=3)
    >>> for at in (1.0, 2.0, 4.0):
    ...     results.add(at, np.array([0.5, 0.25]))
    >>> newest = Committed.join(results.chunks())
    >>> newest.at.tolist(), newest.took.tolist()
    ([2.0, 2.0, 4.0, 4.0], [0.5, 0.25, 0.5, 0.25])
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._chunks: deque[Committed] = deque()
        self._count = 0
        self._dropped = DroppedResults()

    def add(self, at: float, took: Floats) -> None:
        """Results that were committed together."""
        if not took.size:
            return
        self._chunks.append(Committed(np.full(took.size, at), took))
        self._count += took.size
        while self._count - self._chunks[0].at.size >= self._kept:
            chunk = self._chunks.popleft()
            self._count -= chunk.at.size
            self._dropped.add(chunk.at, chunk.took)
        if len(self._chunks) > _MANY:
            self._chunks = deque([Committed.join(tuple(self._chunks))])

    def chunks(self) -> tuple[Committed, ...]:
        """All that is kept, the oldest first."""
        return tuple(self._chunks)

    def dropped(self, now: float) -> tuple[Slice, ...]:
        """Counts of the results of the last ten minutes that are no longer kept."""
        return self._dropped.slices(now)

    def since(self, moment: float) -> Floats:
        """The response times of what is kept of the results from a moment on."""
        newest = Committed.join(tuple(chunk for chunk in self._chunks if chunk.at[-1] >= moment))
        return newest.took[newest.at >= moment]


class RecentCount:
    """Counts what was committed in the last `RECENT` seconds, and forgets what is older.

    >>> taken = RecentCount()
    >>> for at, count in ((100.0, 30), (105.0, 50), (112.0, 10)):
    ...     taken.add(at, count)
    >>> taken.rate(now=114.0), taken.rate(now=114.0, began=110.0)
    (6.0, 15.0)
    """

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()

    def add(self, at: float, count: int) -> None:
        if count:
            self._counts.append((at, count))
            self._forget(at)

    def rate(self, now: float, began: float = -inf) -> float:
        """How many per second there were lately; `began` is when counting began, perhaps less than `RECENT` ago."""
        self._forget(now)
        seconds = min(RECENT, now - began)
        return sum(count for _, count in self._counts) / seconds if seconds > 0 else 0.0

    def _forget(self, now: float) -> None:
        while self._counts and self._counts[0][0] <= now - RECENT:
            self._counts.popleft()
