"""Response times lately: over the last 10 s, minute and ten minutes.

Drivers keep the newest results one by one (`spark.machine.recent_results`). What is dropped from there before ten
minutes are over is counted in buckets of response times, 5 % wide, so that a query takes bounded memory whatever its
rate: means stay exact, percentiles are at most 2.5 % off, and the window begins up to a second late, that of ten
minutes up to 10 s.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Counts = np.ndarray[Any, np.dtype[np.int64]]

WINDOWS = {"last_10_s": 10.0, "last_minute": 60.0, "last_10_minutes": 600.0}
PERCENTILES = (50, 95, 99)
_FINE, _COARSE = 1.0, 10.0  # seconds whose dropped results are counted together: in the last minute, and before
_MANY = 4096  # dropped results to count at once, since counting a few takes as long
_SHORTEST = 1e-4  # seconds; what takes less is counted as this
_STEP = 1.05  # from one bucket to the next
BUCKETS = 420  # up to 21 hours


@dataclass(frozen=True, slots=True)
class Latency:
    """How many results there were, and what they took; None without results."""

    count: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class Slice(NamedTuple):
    """The dropped results of one stretch of time, by how long they took."""

    began: float
    counts: Counts  # by bucket
    total: float  # seconds that they took together


class DroppedResults:
    """Counts results that are no longer kept one by one, as long as they belong to the last ten minutes.

    >>> dropped = DroppedResults()
    >>> dropped.add(np.full(1000, 100.5), np.full(1000, 0.5))
    >>> latency = latencies(np.array([106.0]), np.array([0.5]), dropped.slices(107.0), now=107.0)["last_minute"]
    >>> latency.count, latency.mean
    (1001, 0.5)
    """

    def __init__(self) -> None:
        self._uncounted: list[tuple[Floats, Floats]] = []
        self._size = 0
        self._fine: deque[Slice] = deque()
        self._coarse: deque[Slice] = deque()

    def add(self, at: Floats, took: Floats) -> None:
        """Results and when they came, none before those added before."""
        self._uncounted.append((at, took))
        self._size += at.size
        if self._size >= _MANY:
            self._count()

    def slices(self, now: float) -> tuple[Slice, ...]:
        """What belongs to the last ten minutes, the oldest first."""
        self._count()
        self._forget(now)
        return (*self._coarse, *self._fine)

    def _count(self) -> None:
        if not self._size:
            return
        at, took = (np.concatenate(column) for column in zip(*self._uncounted, strict=True))
        self._uncounted, self._size = [], 0
        seconds, first = np.unique(np.floor(at / _FINE), return_index=True)
        for second, times in zip(seconds.tolist(), np.split(took, first[1:]), strict=True):
            part = Slice(second * _FINE, np.bincount(bucket(times), minlength=BUCKETS), float(times.sum()))
            _append(self._fine, part, _FINE)
        self._forget(float(at[-1]))

    def _forget(self, now: float) -> None:
        while self._fine and self._fine[0].began < now - WINDOWS["last_minute"]:
            _append(self._coarse, self._fine.popleft(), _COARSE)
        while self._coarse and self._coarse[0].began < now - WINDOWS["last_10_minutes"]:
            self._coarse.popleft()


def _append(slices: deque[Slice], part: Slice, length: float) -> None:
    """Add to the last slice if it is not over by then, else as a new one."""
    if slices and part.began < slices[-1].began + length:
        last = slices.pop()
        part = Slice(last.began, last.counts + part.counts, last.total + part.total)
    slices.append(part)


def latencies(at: Floats, took: Floats, dropped: tuple[Slice, ...], now: float) -> dict[str, Latency]:
    """Response times over each of `WINDOWS`, from the results that are kept and the counts of those that are not.

    >>> times = latencies(np.array([1.0, 50.0, 58.0]), np.array([3.0, 2.0, 1.0]), (), now=60.0)
    >>> {name: (latency.count, latency.mean) for name, latency in times.items()}
    {'last_10_s': (2, 1.5), 'last_minute': (3, 2.0), 'last_10_minutes': (3, 2.0)}
    """
    return {
        name: _latency(took[at >= now - length], [part for part in dropped if part.began >= now - length])
        for name, length in WINDOWS.items()
    }


def _latency(took: Floats, dropped: list[Slice]) -> Latency:
    if not dropped:
        if not took.size:
            return Latency()
        return Latency(took.size, float(took.mean()), *map(float, np.percentile(took, PERCENTILES)))
    counts = np.bincount(bucket(took), minlength=BUCKETS) + sum(part.counts for part in dropped)
    return of_counts(counts, float(took.sum()) + sum(part.total for part in dropped))


def of_counts(counts: Counts, total: float) -> Latency:
    """What results took that are only counted, by bucket, and the seconds that they took together.

    >>> of_counts(np.bincount(bucket(np.array([0.1, 0.1, 0.2])), minlength=BUCKETS), 0.4).count
    3
    """
    count = int(counts.sum())
    if not count:
        return Latency()
    places = np.searchsorted(np.cumsum(counts), np.ceil(np.array(PERCENTILES) / 100 * count), side="left")
    return Latency(count, total / count, *map(float, _SHORTEST * _STEP ** places.astype(np.float64)))


def bucket(took: Floats) -> Counts:
    """The number of the bucket of each response time, whose middle is the time that it stands for."""
    numbers = np.rint(np.log(np.maximum(took, _SHORTEST) / _SHORTEST) / np.log(_STEP))
    found: Counts = np.minimum(numbers, BUCKETS - 1).astype(np.int64)
    return found
