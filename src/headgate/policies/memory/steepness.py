from __future__ import annotations

import math


def steepness(released: float, seconds: float) -> float:
    """How fast something is got rid of; at no cost at all, infinitely fast.

    >>> steepness(6.0, 2.0), steepness(6.0, 0.0), steepness(0.0, 0.0), steepness(-1.0, 0.0)
    (3.0, inf, 0.0, -inf)
    """
    if seconds:
        return released / seconds
    return math.copysign(math.inf, released) if released else 0.0
