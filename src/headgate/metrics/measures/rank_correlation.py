"""Spearman's rank correlation: whether two lists of values put the same things in the same order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.metrics.records.result_columns import Floats


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """1 for the same order, -1 for the opposite one, about 0 for orders that have nothing to do with each other.

    Equal values share the mean of their ranks. None where one of the lists has no order: fewer than two values, or all
    of them equal.

    >>> rank_correlation([0.1, 0.5, 9.0], [3.0, 4.0, 5.0]), rank_correlation([1.0, 2.0, 3.0], [3.0, 1.0, 2.0])
    (1.0, -0.5)
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values and {len(second)} values cannot be compared")
    one, other = (_ranks(values) - (len(values) - 1) / 2 for values in (first, second))
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / spread if spread else None


def _ranks(values: Sequence[float]) -> Floats:
    """The place of each value from the smallest on; equal ones have the mean of their places."""
    found = np.asarray(values, dtype=np.float64)
    below = (found[None, :] < found[:, None]).sum(axis=1)
    equal = (found[None, :] == found[:, None]).sum(axis=1)
    ranks: Floats = below + (equal - 1) / 2
    return ranks
