"""Division for rates, where a cost of 0 means infinity."""

from __future__ import annotations

import math


def ratio(gain: float, seconds: float) -> float:
    """How much is gained per second; at no cost at all, infinitely much.

    >>> ratio(6.0, 2.0), ratio(6.0, 0.0), ratio(0.0, 0.0), ratio(-1.0, 0.0)
    (3.0, inf, 0.0, -inf)
    """
    if seconds:
        return gain / seconds
    return math.copysign(math.inf, gain) if gain else 0.0
