"""Slowdown: response time over the query's ideal processing time (Sharaf et al. 2006)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.metrics.records.result_columns import Floats


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Mean, worst case, and the ℓ2 norm that weighs the one against the other; None without results."""

    mean: float | None = None
    max: float | None = None
    l2: float | None = None


def summarise(values: Floats) -> Slowdown:
    """The slowdown of some results; NaN, where it is undefined, does not count.

    >>> summarise(np.array([3.0, 4.0])).l2
    5.0
    """
    defined = values[~np.isnan(values)]
    if len(defined) == 0:
        return Slowdown()
    return Slowdown(float(defined.mean()), float(defined.max()), float(np.sqrt(np.dot(defined, defined))))
