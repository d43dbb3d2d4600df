"""Queue memory: what waited, in tuples and bytes (Pielech 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.metrics.records.queue_series import QueueSeries


@dataclass(frozen=True, slots=True)
class MeanAndMax:
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

    tuples: MeanAndMax
    bytes: MeanAndMax
    over_time: Series


def summarise(series: QueueSeries) -> Queued:
    """The queues of a run.

    >>> summarise(QueueSeries(mean_tuples=2.5, max_tuples=7.0)).tuples
    MeanAndMax(mean=2.5, max=7.0)
    """
    return Queued(
        MeanAndMax(series.mean_tuples, series.max_tuples),
        MeanAndMax(series.mean_bytes, series.max_bytes),
        Series(tuple(series.time), tuple(series.tuples), tuple(series.bytes)),
    )
