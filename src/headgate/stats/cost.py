"""The cost model, in one place for both drivers, what-if and trains that must fit a time.

A run costs a run overhead, plus per operator call an overhead, plus per tuple a cost. In the papers the run
overhead is 0 and the call overhead microseconds; on Spark the run overhead is tens of milliseconds and a call
costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class CostModel:
    """Expected seconds of a run of one unit: `fixed + per_tuple * tuples`.

    >>> model = CostModel(fixed=0.050, per_tuple=0.0001)
    >>> round(model.seconds(1000), 6)
    0.15
    >>> model.fits(0.150)
    1000
    >>> model.fits(0.010)  # at least one tuple is always taken
    1
    """

    fixed: float
    per_tuple: float
    known: float = inf  # tuples beyond which nobody knows

    def seconds(self, tuples: float) -> float:
        return self.fixed + self.per_tuple * tuples

    def fits(self, seconds: float) -> int:
        """How many tuples a run of at most that many seconds can take."""
        fitting = 2**62 if self.per_tuple <= 0 else int((seconds - self.fixed) / self.per_tuple * (1 + 1e-12))
        return max(1, fitting if fitting < self.known else int(self.known))
