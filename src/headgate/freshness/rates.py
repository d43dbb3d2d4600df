"""How often elements change, from what refreshes found: changed or not since the visit before, at irregular visits.

A visit after a gap τ finds a change with probability 1 − e^(−λτ), however many there were. The likelihood of a history
depends on every gap that ended in a change and on the sum of those that did not. Its maximum is infinite when every
visit found a change, and biased; half an unchanged visit of mean length is added, which for regular visits gives the
estimator −ln((n − X + 0.5)/(n + 0.5))/τ of Cho and Garcia-Molina 2000. The interval is where the likelihood (without
the addition) is within χ² of its maximum: open to 0 when no change was found, to infinity when every visit found one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate.freshness.curve import Floats
from headgate.model import HeadgateError

CHI_SQUARE = 3.841458820694124  # the 95 % quantile at one degree of freedom
EXTRA = 0.5  # of an unchanged visit
STEPS = 60
_Function = Callable[[Floats], Floats]
_Test = Callable[[Floats], NDArray[np.bool_]]
_LOWEST, _HIGHEST = -46.0, 46.0  # logarithms of the rate times the mean gap


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Change rates per unit of time, with 95 % intervals; NaN, from 0 to infinity, for an element never revisited."""

    rate: Floats
    low: Floats
    high: Floats
    visits: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """Visits in the form that the likelihood needs: all gaps with a change, and sums for the gaps without."""

    element: NDArray[np.intp]  # of each gap with a change
    gap: Floats
    unchanged: Floats  # time without a change, per element
    visits: NDArray[np.int64]  # gaps, per element
    changes: NDArray[np.int64]

    @classmethod
    def of(cls, element: ArrayLike, gap: ArrayLike, changed: ArrayLike, count: int | None = None) -> Histories:
        """From one row per visit: which element, how long since its last visit, whether it had changed."""
        which = np.asarray(element, dtype=np.intp)
        gaps, changes_seen = np.asarray(gap, dtype=float), np.asarray(changed, dtype=bool)
        if np.any(~(gaps > 0)):
            raise HeadgateError("a gap between two visits is not positive", hint="give each visit a later time")
        size = int(which.max(initial=-1)) + 1 if count is None else count
        return cls(
            which[changes_seen],
            gaps[changes_seen],
            np.asarray(np.bincount(which, weights=np.where(changes_seen, 0.0, gaps), minlength=size), dtype=float),
            np.bincount(which, minlength=size).astype(np.int64),
            np.bincount(which[changes_seen], minlength=size).astype(np.int64),
        )

    @property
    def mean_gap(self) -> Floats:
        total = self.unchanged + np.bincount(self.element, weights=self.gap, minlength=len(self.visits))
        return np.asarray(total / np.maximum(self.visits, 1))


def estimate(histories: Histories) -> Rates:
    """The change rate of every element.

    Ten visits, one a day, six of which found a change:

    >>> estimated = estimate(Histories.of([0] * 10, [1.0] * 10, [1] * 6 + [0] * 4))
    >>> round(float(estimated.rate[0]), 3), round(float(-np.log(4.5 / 10.5)), 3)
    (0.847, 0.847)
    >>> round(float(estimated.low[0]), 2), round(float(estimated.high[0]), 2)
    (0.36, 1.93)
    """
    scale = np.where(histories.visits > 0, histories.mean_gap, 1.0)
    rate = _where_zero(lambda x: _score(histories, x, scale, EXTRA), scale)
    plain = _where_zero(lambda x: _score(histories, x, scale, 0.0), scale)
    best = _likelihood(histories, plain)
    low = _crossing(histories, best, plain, scale, upward=False)
    high = _crossing(histories, best, plain, scale, upward=True)
    some, none = histories.visits > 0, histories.changes == 0
    return Rates(
        np.where(some, np.where(none, 0.0, rate), np.nan),
        np.where(some & ~none, low, 0.0),
        np.where(some & (histories.changes < histories.visits), high, np.inf),
        histories.visits,
    )


def _score(histories: Histories, rate: Floats, scale: Floats, extra: float) -> Floats:
    """The slope of the log-likelihood, which falls with the rate."""
    with np.errstate(over="ignore"):
        parts = histories.gap / np.expm1(rate[histories.element] * histories.gap)
    return np.bincount(histories.element, weights=parts, minlength=len(rate)) - histories.unchanged - extra * scale


def _likelihood(histories: Histories, rate: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        parts = np.log(-np.expm1(-rate[histories.element] * histories.gap))
    return np.bincount(histories.element, weights=parts, minlength=len(rate)) - rate * histories.unchanged


def _where_zero(slope: _Function, scale: Floats) -> Floats:
    """Where a falling function of the rate is 0, for all elements at once, by bisection of the logarithm."""
    low, high = np.full(len(scale), _LOWEST), np.full(len(scale), _HIGHEST)
    return _bisected(lambda x: slope(np.exp(x) / scale) > 0, low, high, scale)


def _crossing(histories: Histories, best: Floats, plain: Floats, scale: Floats, *, upward: bool) -> Floats:
    """Where the likelihood has fallen by half of χ², above or below its maximum."""
    middle = np.log(np.maximum(plain * scale, np.exp(_LOWEST)))
    edge = np.full(len(scale), _HIGHEST if upward else _LOWEST)
    low, high = (middle, edge) if upward else (edge, middle)

    def before(x: Floats) -> NDArray[np.bool_]:
        inside = _likelihood(histories, np.exp(x) / scale) > best - CHI_SQUARE / 2
        return inside if upward else ~inside

    return _bisected(before, low.copy(), high.copy(), scale)


def _bisected(before: _Test, low: Floats, high: Floats, scale: Floats) -> Floats:
    for _ in range(STEPS):
        middle = (low + high) / 2
        left = before(middle)
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return np.asarray(np.exp((low + high) / 2) / scale)
