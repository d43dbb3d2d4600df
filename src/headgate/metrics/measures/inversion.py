"""Priority inversion: a class that answers later than a less important one (Al Moakar 2013).

For neighbouring classes by falling priority, PrIR(i) = P(i)/P(i+1) · |min(0, 1 − RT(i)/RT(i+1))|. Classes of
equal priority cannot invert each other; each of them neighbours every class of the next lower priority.

Whoever wants can count it as an inversion, too, if a class answers just as late as a less important one (section
2.3.2): `equal_inverts`. The ratio is 0 all the same; what changes is which pairs and which bins are inverted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.measures.over_time import OverTime
from headgate.metrics.measures.response import LEVELS, Distribution
from headgate.metrics.records.class_order import neighbours
from headgate.metrics.records.result_columns import Floats
from headgate.model import GRACE


@dataclass(frozen=True, slots=True)
class Pair:
    """The inversion between two neighbours; None where one of them has no results. `equal`: both answer alike late."""

    above: str
    below: str
    ratio: float | None
    equal: bool = False

    def is_inverted(self, equal_inverts: bool = False) -> bool:
        """Whether the class above answers later, or, if that counts, as late.

        >>> pair = Pair("high", "low", 0.0, equal=True)
        >>> pair.is_inverted(), pair.is_inverted(equal_inverts=True)
        (False, True)
        """
        return bool(self.ratio) or (equal_inverts and self.equal)


@dataclass(frozen=True, slots=True)
class Inversion:
    """The pairs' ratios at the mean and at each percentile, their sum over all bins, and how many bins have one."""

    levels: Mapping[str, tuple[Pair, ...]]
    cumulated: float
    bins: int


def ratio(weight: float, above: Floats, below: Floats) -> Floats:
    """PrIR of response times, `weight` the quotient of priorities; NaN where it is undefined.

    >>> ratio(2.0, np.array([1.5, 0.5]), np.array([1.0, 1.0])).tolist()
    [1.0, 0.0]
    """
    quotient = np.full(len(above), np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return weight * np.maximum(0.0, quotient - 1.0)


def over_time(times: OverTime, priorities: Mapping[str, float]) -> dict[tuple[str, str], Floats]:
    """PrIR of every pair in every bin; NaN where one of the two has no results."""
    return {
        (above, below): ratio(_weight(priorities, above, below), times.response[above], times.response[below])
        for above, below in neighbours(priorities)
    }


def inverted_bins(times: OverTime, priorities: Mapping[str, float], equal_inverts: bool = False) -> NDArray[np.bool_]:
    """In which bins some class answered later than a less important one, or, if that counts, as late."""
    inverted = np.zeros(times.bins.count, dtype=bool)
    for above, below in neighbours(priorities):
        inverted |= times.response[above] > times.response[below]
        if equal_inverts:
            inverted |= np.abs(times.response[above] - times.response[below]) <= GRACE
    return inverted


def pairs(classes: Mapping[str, Distribution], priorities: Mapping[str, float], level: str) -> tuple[Pair, ...]:
    """The inversion between all neighbours at one level of the distributions, such as "p50"."""
    return tuple(_pair(classes, priorities, pair, level) for pair in neighbours(priorities))


def summarise(
    classes: Mapping[str, Distribution], times: OverTime, priorities: Mapping[str, float], equal_inverts: bool = False
) -> Inversion:
    """How much a run inverted priorities, as a whole and cumulated over its bins."""
    levels = {level: pairs(classes, priorities, level) for level in LEVELS}
    cumulated = sum(float(np.nansum(values)) for values in over_time(times, priorities).values())
    bins = int(np.count_nonzero(inverted_bins(times, priorities, equal_inverts)))
    return Inversion(levels, cumulated, bins)


def _weight(priorities: Mapping[str, float], above: str, below: str) -> float:
    return priorities[above] / priorities[below] if priorities[below] > 0 else np.nan


def _pair(
    classes: Mapping[str, Distribution], priorities: Mapping[str, float], pair: tuple[str, str], level: str
) -> Pair:
    upper, lower = classes[pair[0]].at(level), classes[pair[1]].at(level)
    if upper is None or lower is None:
        return Pair(*pair, None)
    value = float(ratio(_weight(priorities, *pair), np.array([upper]), np.array([lower]))[0])
    return Pair(*pair, None if np.isnan(value) else value, abs(upper - lower) <= GRACE)
