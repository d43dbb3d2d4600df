"""The confidence interval of a mean over runs with different seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

# Student's t at 97.5 % for 1 … 9 degrees of freedom; from 10 on the expansion below is within 0.001 of it.
_FEW = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622)


class Band(NamedTuple):
    """A mean, and half the width of its 95 % confidence interval; 0 where there is one run only."""

    mean: float
    half: float


def band(values: Sequence[float]) -> Band:
    """The mean of runs that differ in their seed alone.

    >>> Band(*(round(number, 3) for number in band([1.0, 2.0, 3.0])))
    Band(mean=2.0, half=2.484)
    >>> band([5.0])
    Band(mean=5.0, half=0.0)
    """
    if len(values) < 2:
        return Band(fmean(values), 0.0)
    return Band(fmean(values), student(len(values) - 1) * stdev(values) / len(values) ** 0.5)


def student(freedom: int) -> float:
    """Student's t for a two-sided interval of 95 %.

    >>> [round(student(freedom), 3) for freedom in (1, 9, 10, 30)]
    [12.706, 2.262, 2.228, 2.042]
    """
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
