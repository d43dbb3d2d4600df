"""A run's time, split over the queries that shared it: nothing inside one Spark job can be timed by itself."""

from __future__ import annotations

from collections.abc import Sequence

RESULT = 5.0  # what a result costs in tuples taken: 1.5 to 9 in three runs of benchmarks/weights.py (aggregates)


def split(seconds: float, overhead: float, work: Sequence[tuple[int, int]]) -> list[float]:
    """Each query's seconds, given the tuples that each took and the results that each gave.

    What every run costs, whatever is in it, they bear alike; the rest goes by what each did.

    >>> split(1.0, 0.5, [(100, 0), (50, 50)])
    [0.375, 0.625]
    >>> split(0.5, 2.0, [(1, 1)])
    [0.5]
    """
    fixed = min(seconds, overhead)
    weights = [taken + RESULT * given for taken, given in work]
    total = sum(weights) or 1.0
    return [fixed / len(work) + (seconds - fixed) * weight / total for weight in weights]
