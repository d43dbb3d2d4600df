"""The multiplier at which a plan uses the whole bandwidth: one root search, whoever evaluates the plan.

The bandwidth that a plan uses falls as the multiplier rises. The search is Newton's in logarithms of both, because the
use is close to a power of the multiplier, kept inside a bracket that halves when Newton is slow. Where the use jumps
between two neighbouring doubles (an element that changes very often is worth its first refresh at one price, and at the
next double above it nothing), the bracket's two ends are the answer: a mixture of their plans uses the bandwidth
exactly, and both satisfy the optimality conditions to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

TOLERANCE = 1e-12  # of the bandwidth; sums over millions of elements are not more exact than 1e-13
MOST_STEPS = 300
FACTOR = 16.0  # how far to look for the other end of the bracket


class Use(NamedTuple):
    """What a plan uses at some multiplier, and by how much that changes with the multiplier's logarithm."""

    bandwidth: float
    slope: float


@dataclass(frozen=True, slots=True)
class Multiplier:
    """The multiplier that the search found: one double, or (where the use jumps) two neighbouring ones.

    `mix` is the share of the plan at the lower end.
    """

    lower: float
    upper: float
    mix: float
    steps: int


def find_multiplier(
    use: Callable[[float], Use], bandwidth: float, ceiling: float, start: float, tolerance: float = TOLERANCE
) -> Multiplier:
    """The multiplier whose plan uses `bandwidth`; at `ceiling`, plans use less.

    >>> multiplier = find_multiplier(lambda price: Use(1 / price, -1 / price), 4.0, ceiling=10.0, start=1.0)
    >>> multiplier.lower, multiplier.steps
    (0.25, 2)
    """
    bracket = _Bracket(bandwidth, ceiling)
    price = min(start, ceiling)
    for step in range(1, MOST_STEPS + 1):
        used = use(price)
        if abs(used.bandwidth - bandwidth) <= tolerance * bandwidth:
            return Multiplier(price, price, 1.0, step)
        bracket.narrow(price, used.bandwidth)
        if bracket.closed():
            break
        price = bracket.next(price, used)
    return Multiplier(bracket.lower, bracket.upper, bracket.mix(), step)


class _Bracket:
    """Where the multiplier can still be."""

    def __init__(self, bandwidth: float, ceiling: float) -> None:
        self.bandwidth = bandwidth
        self.lower, self.upper = 0.0, math.inf
        self._ceiling = ceiling
        self._used_lower, self._used_upper = math.inf, 0.0
        self._miss = math.inf

    def narrow(self, price: float, used: float) -> None:
        if used >= self.bandwidth:
            self.lower, self._used_lower = price, used
        else:
            self.upper, self._used_upper = price, used

    def closed(self) -> bool:
        return self.lower > 0 and math.nextafter(self.lower, math.inf) >= self.upper

    def mix(self) -> float:
        return (self.bandwidth - self._used_upper) / (self._used_lower - self._used_upper)

    def next(self, price: float, used: Use) -> float:
        """Newton's next price if it lies in the bracket and the last one has come closer, else the middle."""
        miss = math.log(self.bandwidth / used.bandwidth) if used.bandwidth > 0 else math.inf
        newton = self._newton(price, used, miss)
        slow = abs(miss) > 0.5 * self._miss
        self._miss = abs(miss)
        if self.lower < newton < self.upper and not slow:
            return newton
        self._miss = math.inf
        return self._middle()

    def _newton(self, price: float, used: Use, miss: float) -> float:
        if not (math.isfinite(miss) and used.slope < 0 and math.isfinite(used.slope)):
            return math.nan
        step = miss * used.bandwidth / used.slope
        return price * math.exp(max(-50.0, min(50.0, step)))

    def _middle(self) -> float:
        """The middle in logarithms; a step outwards where one end is not known yet."""
        if self.lower == 0.0:
            return self.upper / FACTOR
        if math.isinf(self.upper):
            return min(self.lower * FACTOR, self._ceiling) if self.lower < self._ceiling else self.lower * FACTOR
        middle = self.lower * math.sqrt(self.upper / self.lower)
        return middle if self.lower < middle < self.upper else math.nextafter(self.lower, math.inf)
