"""One element's freshness as a function of how often it changes between two refreshes.

An element that changes at rate λ and is refreshed f times a period, at equal distances, changes `ratio` = λ/f times in
between. On average it is fresh for the share `freshness(ratio)` of the time (fixed order, Carney 2005, section 2.2.2).
One more refresh is worth p/λ · `gain(ratio)`; the optimum asks for the ratio at a given gain, `ratio_at_gain`, which is
−1 − W₋₁(−(1 − gain)/e) with Lambert's W.

With t = √(−2 ln(1 − gain)) that ratio solves ratio − ln(1 + ratio) = t²/2, an analytic function of t. Doubles below 1
reach no further than t = 8.6, so one table of Taylor polynomials holds the function to the last digits: no iteration,
no branch, and nothing is lost for ratios near 0.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

NODES_PER_UNIT = 32
LAST_NODE = 9 * NODES_PER_UNIT
DEGREE = 6  # the nearest singularity is 2√π away from 0: (1/64 / 3.5)^7 is below the precision of doubles
SMALL = 0.5  # below, differences such as 1 − e^−x(1 + x) lose digits
RARE = 0.02  # a freshness whose ratio is 50: e^−50 is nothing beside 1
_SERIES = 18


def freshness(ratio: ArrayLike) -> Floats:
    """The share of time that a copy is fresh, by changes per refresh.

    >>> freshness([0.0, 1.0, np.inf]).round(4).tolist()
    [1.0, 0.6321, 0.0]
    """
    values = np.asarray(ratio, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        at_ratio = -np.expm1(-values) / values
    return np.where(values == 0, 1.0, at_ratio)


def gain(ratio: ArrayLike) -> Floats:
    """What one more refresh is worth, 1 − e^−r (1 + r): nothing for a fresh copy, 1 for one that is never refreshed.

    >>> gain([0.0, 1e-8, 1.0, np.inf]).tolist()
    [0.0, 4.999999966666667e-17, 0.26424111765711533, 1.0]
    """
    values = np.asarray(ratio, dtype=float)
    small = np.minimum(values, SMALL)
    large = np.maximum(values, SMALL)
    with np.errstate(invalid="ignore"):
        direct = np.where(np.isinf(large), 1.0, -np.expm1(-large) - large * np.exp(-large))
    return np.where(values < SMALL, small * small * np.polynomial.polynomial.polyval(small, _gain_series()), direct)


def ratio_at_gain(wanted: Floats) -> Floats:
    """The ratio whose gain is `wanted`; infinite, no refresh at all, from 1 on.

    >>> ratio_at_gain(gain([1e-9, 0.3, 4.0])).round(12).tolist()
    [1e-09, 0.3, 4.0]
    >>> ratio_at_gain(np.array([1.0, 2.0])).tolist()
    [inf, inf]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        place = np.sqrt(-2.0 * np.log1p(-wanted))
    none = ~(wanted < 1.0)
    place[none] = 0.0
    ratios = ratio_at_place(place)
    ratios[none] = np.inf
    return ratios


def ratio_at_freshness(wanted: ArrayLike) -> Floats:
    """The most changes per refresh that keep a copy as fresh as wanted: 0 for freshness 1, infinite for 0.

    >>> ratio_at_freshness(freshness([1e-12, 0.5, 30.0])).round(9).tolist()
    [0.0, 0.5, 30.0]
    """
    share = np.asarray(wanted, dtype=float)
    with np.errstate(divide="ignore", over="ignore"):
        rare = 1.0 / share  # exact where the copy changes so often that it is never fresh at the next refresh
    inner = np.clip(share, RARE, 1.0 - 1e-16)
    lowest = -np.log(inner)  # F lies between e^−r and 1/r
    ratio = np.where(inner > 0.5, 2.0 * lowest, 1.0 / inner)
    for _ in range(60):  # Newton on a convex function, from the right first
        better = np.maximum(ratio + (freshness(ratio) - inner) * ratio * ratio / gain(ratio), lowest)
        done = np.abs(better - ratio) <= 1e-15 * ratio
        ratio = better
        if done.all():
            break
    return np.where(share >= 1.0, 0.0, np.where(share < RARE, rare, ratio))


def ratio_at_place(place: Floats) -> Floats:
    """The ratio at t, from the Taylor polynomial of the nearest node."""
    node = (place * NODES_PER_UNIT + 0.5).astype(np.intp)
    step = place - node * (1.0 / NODES_PER_UNIT)
    coefficients = _table()
    ratios: Floats = coefficients[DEGREE].take(node)
    for row in reversed(coefficients[:DEGREE]):
        ratios *= step
        ratios += row.take(node)
    return ratios


@cache
def _gain_series() -> Floats:
    """Coefficients of gain(r)/r²: (−1)^k (k − 1)/k! from k = 2 on."""
    coefficients, factorial = [], 1.0
    for power in range(2, _SERIES):
        factorial *= power
        coefficients.append((-1) ** power * (power - 1) / factorial)
    return np.array(coefficients)


@cache
def _table() -> Floats:
    """Taylor coefficients at every node, the constants first."""
    start = _series_at_zero(48)
    nodes = np.arange(LAST_NODE + 1) / NODES_PER_UNIT
    near = np.polynomial.polynomial.polyval(np.minimum(nodes, 1.0), start)
    table = np.zeros((DEGREE + 1, len(nodes)))
    table[0] = np.where(nodes <= 1.0, near, _solved(np.maximum(nodes, 1.0)))
    table[:, 0] = start[: DEGREE + 1]
    for order in range(DEGREE):
        _continue(table[:, 1:], nodes[1:], order)
    return table


def _continue(table: Floats, nodes: Floats, order: int) -> None:
    """The next coefficient from ratio · ratio' = t (1 + ratio), whose left side is a product of series."""
    right = nodes * table[order] + (table[order - 1] if order else nodes) + (order == 1)
    lower_orders = sum(
        (table[i] * (order - i + 1) * table[order - i + 1] for i in range(1, order + 1)), np.zeros_like(nodes)
    )
    table[order + 1] = (right - lower_orders) / (table[0] * (order + 1))


def _series_at_zero(terms: int) -> Floats:
    """The same series around t = 0, t + t²/3 + t³/36 − …, where the constant is 0."""
    coefficients = np.zeros(terms)
    coefficients[1] = 1.0
    for order in range(2, terms):
        lower_orders = sum(coefficients[i] * (order - i + 1) * coefficients[order - i + 1] for i in range(2, order))
        coefficients[order] = (coefficients[order - 1] - lower_orders) / (order + 1)
    return coefficients


def _solved(place: Floats) -> Floats:
    """The ratio at t ≥ 1, by Newton's method."""
    half = place * place / 2
    ratio = half + np.log1p(place + half)
    for _ in range(6):
        ratio -= (ratio - np.log1p(ratio) - half) * (1.0 + ratio) / ratio
    return ratio
