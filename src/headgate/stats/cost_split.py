"""How the duration of a run is split over the queries that shared it, since one Spark job cannot be timed in parts."""

from __future__ import annotations

from collections.abc import Sequence

RESULT = 5.0  # a result costs as much as so many tuples: 1.5 to 9 in three runs of benchmarks/weights.py (aggregates)


def split(seconds: float, overhead: float, work: Sequence[tuple[int, int]]) -> list[float]:
    """The seconds of each query, given its (tuples taken, results produced).

    The fixed overhead of a run is shared equally, the rest in proportion to the work of each query.

    >>> split(1.0, 0.5, [(100, 0), (50, 50)])
    [0.375, 0.625]
    >>> split(0.5, 2.0, [(1, 1)])
    [0.5]
    """
    fixed = min(seconds, overhead)
    weights = [taken + RESULT * given for taken, given in work]
    total = sum(weights) or 1.0
    return [fixed / len(work) + (seconds - fixed) * weight / total for weight in weights]
