"""Bandwidth reserved for elements whose rates or accesses have changed since the plan was made.

Carney 2005, section 6.2.4 asks for it as future work. The fixed plan is made with (1 − split) of the bandwidth. When an
element's access or change rate has moved, the split's bandwidth is given to such elements, on top of what they have,
so that perceived freshness with today's numbers is largest: the exact plan again, with the fixed frequencies as floors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements
from headgate.freshness.exact import check_bandwidth, freshness_at, plan
from headgate.model import HeadgateError

SPLIT = 0.1
THRESHOLD = 0.2  # how far a number must have moved, relative to the larger of old and new


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """What the dynamic part does: more refreshes per period for some elements, and what that gives."""

    rows: NDArray[np.intp]  # of the elements that moved
    extra: Floats  # for every element of the table
    gain: float  # in perceived freshness with today's numbers


def fixed_share(bandwidth: float, split: float) -> float:
    """The bandwidth of the fixed plan."""
    check_bandwidth(bandwidth)
    if not 0 <= split < 1:
        raise HeadgateError(f"split must be a share below 1, found {split:g}", hint="write for example 0.1")
    return (1.0 - split) * bandwidth


def respond(
    before: Elements,
    now: Elements,
    frequency: Floats,
    bandwidth: float,
    *,
    split: float = SPLIT,
    threshold: float = THRESHOLD,
) -> Moved:
    """Give the split's bandwidth to the elements that moved since the fixed plan was made.

    >>> before = Elements.of(change_rate=[1, 1, 1], access=[1, 1, 1])
    >>> now = Elements.of(change_rate=[1, 1, 5], access=[1, 1, 1])
    >>> fixed = plan(before, fixed_share(3.0, 0.1)).frequency
    >>> respond(before, now, fixed, 3.0).extra.round(3).tolist()
    [0.0, 0.0, 0.3]
    """
    fixed_share(bandwidth, split)
    if len(before) != len(now):
        raise HeadgateError(f"there were {len(before)} elements, now {len(now)}", hint="plan anew")
    rows = np.flatnonzero(
        _moved(before.change_rate, now.change_rate, threshold) | _moved(before.access, now.access, threshold)
    )
    extra = np.zeros(len(now))
    useful = rows[(now.change_rate[rows] > 0) & (now.access[rows] > 0)]
    if split > 0 and len(useful):
        some = Elements.of(now.change_rate[useful], now.access[useful], now.size[useful])
        taken = frequency[useful]
        budget = split * bandwidth + float(some.size @ taken)
        extra[useful] = plan(some, budget, at_least=taken).frequency - taken
    return Moved(rows, extra, _perceived(now, frequency + extra) - _perceived(now, frequency))


def _moved(before: Floats, now: Floats, threshold: float) -> NDArray[np.bool_]:
    return np.abs(now - before) > threshold * np.maximum(before, now)


def _perceived(elements: Elements, frequency: Floats) -> float:
    return float(elements.access @ freshness_at(elements.change_rate, frequency))
