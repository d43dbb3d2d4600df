"""Response times lately: over the last 10 s, minute and ten minutes.

Drivers keep the newest results one by one (`spark.machine.recent_results`). What is dropped from there before ten
minutes are over is counted in classes of response times, 5 % wide, so that a query of any rate takes bounded memory:
counts and means stay exact, and percentiles are exact or at most 2.5 % off.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Counts = np.ndarray[Any, np.dtype[np.int64]]

WINDOWS = {"last_10_s": 10.0, "last_minute": 60.0, "last_10_minutes": 600.0}
LONGEST = max(WINDOWS.values())
SLICE = 10.0  # seconds whose dropped results are counted together
_PERCENTILES = (50, 95, 99)
_SHORTEST = 1e-4  # seconds; what takes less is counted as this
_STEP = 1.05
_CLASSES = 420  # up to a day


@dataclass(frozen=True, slots=True)
class Latency:
    """How many results there were, and what they took; None without results."""

    count: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class Slice(NamedTuple):
    """Results that were dropped: those of one stretch of time by how long they took."""

    began: float
    counts: Counts
    total: float  # seconds that they took together


class DroppedResults:
    """Counts results that are no longer kept one by one, as long as they belong to the last ten minutes.

    >>> dropped = DroppedResults()
    >>> dropped.add(100.0, np.full(1000, 0.5))
    >>> latency = latencies(np.array([106.0]), np.array([0.5]), dropped.slices(107.0), now=107.0)["last_minute"]
    >>> latency.count, latency.mean
    (1001, 0.5)
    """

    def __init__(self) -> None:
        self._slices: deque[Slice] = deque()

    def add(self, at: float, took: Floats) -> None:
        """Results that came at a time, not before those added before."""
        counts = np.bincount(_class_of(took), minlength=_CLASSES)
        total = float(took.sum())
        if self._slices and at < self._slices[-1].began + SLICE:
            last = self._slices.pop()
            self._slices.append(Slice(last.began, last.counts + counts, last.total + total))
        else:
            self._slices.append(Slice(at, counts, total))
        self._forget(at)

    def slices(self, now: float) -> tuple[Slice, ...]:
        """What belongs to the last ten minutes, the oldest first."""
        self._forget(now)
        return tuple(self._slices)

    def _forget(self, now: float) -> None:
        while self._slices and self._slices[0].began < now - LONGEST:
            self._slices.popleft()


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
        return Latency(took.size, float(took.mean()), *map(float, np.percentile(took, _PERCENTILES)))
    counts = np.bincount(_class_of(took), minlength=_CLASSES) + sum(part.counts for part in dropped)
    count = int(counts.sum())
    total = float(took.sum()) + sum(part.total for part in dropped)
    places = np.searchsorted(np.cumsum(counts), np.ceil(np.array(_PERCENTILES) / 100 * count), side="left")
    return Latency(count, total / count, *map(float, _time_of(places)))


def _class_of(took: Floats) -> Counts:
    """The number of the class of each response time."""
    with np.errstate(divide="ignore"):
        numbers = np.rint(np.log(took / _SHORTEST) / np.log(_STEP))
    found: Counts = np.clip(numbers, 0, _CLASSES - 1).astype(np.int64)
    return found


def _time_of(numbers: Counts) -> Floats:
    """The response time in the middle of a class."""
    times: Floats = _SHORTEST * _STEP ** numbers.astype(np.float64)
    return times
