"""Response time, emission minus arrival: of all results, of a class, or weighted by priority (Al Moakar 2013)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headgate.metrics.records.result_columns import Floats

PERCENTILES = (10, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Mean, percentiles (linear between neighbours) and maximum; None without results."""

    mean: float | None = None
    p10: float | None = None
    p25: float | None = None
    p50: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None

    def at(self, level: str) -> float | None:
        """The value at a level of `LEVELS`.

        >>> Distribution(mean=2.0, p50=1.5).at("p50")
        1.5
        """
        value: float | None = getattr(self, level)
        return value


LEVELS = ("mean", *(f"p{percentile}" for percentile in PERCENTILES), "max")


def summarise(values: Floats) -> Distribution:
    """The distribution of some response times.

    >>> d = summarise(np.array([0.01, 0.02, 0.03, 0.04]))
    >>> round(d.p50, 6), round(d.p90, 6), d.max
    (0.025, 0.037, 0.04)
    """
    if len(values) == 0:
        return Distribution()
    levels = [values.mean(), *np.percentile(values, PERCENTILES), values.max()]
    return Distribution(**{level: float(value) for level, value in zip(LEVELS, levels, strict=True)})


def weighted(classes: Mapping[str, Distribution], priorities: Mapping[str, float]) -> Distribution:
    """At every level Σ P·RT / Σ P over the classes that have results.

    >>> weighted({"a": Distribution(mean=1.0), "b": Distribution(mean=4.0)}, {"a": 2.0, "b": 1.0}).mean
    2.0
    """
    return Distribution(**{level: _weighted(classes, priorities, level) for level in LEVELS})


def _weighted(classes: Mapping[str, Distribution], priorities: Mapping[str, float], level: str) -> float | None:
    present = [(priorities[name], value) for name, times in classes.items() if (value := times.at(level)) is not None]
    total = sum(priority for priority, _ in present)
    return sum(priority * value for priority, value in present) / total if total > 0 else None
