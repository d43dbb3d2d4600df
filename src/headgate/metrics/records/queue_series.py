"""How much waited in a run's queues over time."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from headgate.metrics.records.result_columns import doubles


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
