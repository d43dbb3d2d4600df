"""Queue memory: what waited, in tuples and bytes (Pielech 2004)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate.metrics.columns import doubles


@dataclass(slots=True)
class QueueSeries:
    """What waited in all queues together: samples over time, and exact time-weighted means and maxima."""

    time: array[float] = field(default_factory=doubles)
    tuples: array[float] = field(default_factory=doubles)
    bytes: array[float] = field(default_factory=doubles)
    mean_tuples: float = 0.0
    max_tuples: float = 0.0
    mean_bytes: float = 0.0
    max_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Level:
    """Mean over time and maximum."""

    mean: float
    max: float


@dataclass(frozen=True, slots=True)
class Series:
    """Samples: what waited at these times."""

    time: Sequence[float]
    tuples: Sequence[float]
    bytes: Sequence[float]


@dataclass(frozen=True, slots=True)
class Queued:
    """How much waited in all queues together."""

    tuples: Level
    bytes: Level
    over_time: Series


def summarise(series: QueueSeries) -> Queued:
    """The queues of a run.

    >>> summarise(QueueSeries(mean_tuples=2.5, max_tuples=7.0)).tuples
    Level(mean=2.5, max=7.0)
    """
    return Queued(
        Level(series.mean_tuples, series.max_tuples),
        Level(series.mean_bytes, series.max_bytes),
        Series(tuple(series.time), tuple(series.tuples), tuple(series.bytes)),
    )
