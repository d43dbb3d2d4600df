"""Exponential averages, with which statistics are measured."""

from __future__ import annotations

from dataclasses import dataclass

OLD_VALUE_WEIGHT = 0.875  # Pielech 2004


@dataclass(slots=True)
class ExponentialAverage:
    """An average in which the old value weighs `weight` and the new one the rest; the first value stands alone.

    >>> average = ExponentialAverage()
    >>> average.add(8.0), average.add(16.0)
    (8.0, 9.0)
    """

    value: float | None = None
    weight: float = OLD_VALUE_WEIGHT

    def add(self, value: float) -> float:
        self.value = value if self.value is None else self.weight * self.value + (1 - self.weight) * value
        return self.value


@dataclass(slots=True)
class ExponentialLine:
    """A straight line `fixed + slope * n` fitted to (n, seconds), older pairs forgotten.

    While all n are equal the two cannot be told apart; then the fixed part is taken as known.

    >>> line = ExponentialLine(fixed=0.0)
    >>> for n in (10, 20, 10, 40):
    ...     line.add(n, 3.0 + 2.0 * n)
    >>> round(line.fixed, 9), round(line.slope, 9)
    (3.0, 2.0)
    """

    fixed: float = 0.0
    slope: float = 0.0
    weight: float = OLD_VALUE_WEIGHT
    _n: float = 0.0
    _t: float = 0.0
    _nn: float = 0.0
    _nt: float = 0.0
    _pairs: int = 0

    def add(self, n: float, seconds: float) -> None:
        old = self.weight if self._pairs else 0.0
        self._pairs += 1
        self._n = old * self._n + (1 - old) * n
        self._t = old * self._t + (1 - old) * seconds
        self._nn = old * self._nn + (1 - old) * n * n
        self._nt = old * self._nt + (1 - old) * n * seconds
        spread = self._nn - self._n * self._n
        if spread > 1e-6 * self._nn:
            slope = max(0.0, (self._nt - self._n * self._t) / spread)
            self.fixed = max(0.0, self._t - slope * self._n)
        self.slope = max(0.0, (self._t - self.fixed) / self._n) if self._n else self.slope
