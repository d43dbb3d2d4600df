"""The newest results of a query, as the measures want them: when each was committed, and how long it took."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

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

    def add(self, at: float, took: Floats) -> None:
        """Results that were committed together."""
        if not took.size:
            return
        self._chunks.append(Committed(np.full(took.size, at), took))
        self._count += took.size
        while self._count - self._chunks[0].at.size >= self._kept:
            self._count -= self._chunks.popleft().at.size
        if len(self._chunks) > _MANY:
            self._chunks = deque([Committed.join(tuple(self._chunks))])

    def chunks(self) -> tuple[Committed, ...]:
        """All that is kept, the oldest first."""
        return tuple(self._chunks)
