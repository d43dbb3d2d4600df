from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from headgate.model.errors import HeadgateError


@dataclass(frozen=True, slots=True)
class QoS:
    """Utility of a result as a piecewise-linear function of its latency in seconds.

    >>> graph = QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]])
    >>> graph.utility(0.25), graph.utility(1.25), graph.utility(9.0)
    (1.0, 0.5, 0.0)
    >>> graph.deadline
    0.5
    """

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, points: Sequence[Sequence[float]]) -> QoS:
        pairs = tuple((float(latency), float(utility)) for latency, utility in points)
        if not pairs or any(b[0] < a[0] for a, b in pairwise(pairs)):
            raise HeadgateError(
                "a QoS graph needs points of rising latency",
                hint="write qos = [[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]]",
            )
        if any(latency < 0 or not 0 <= utility <= 1 for latency, utility in pairs):
            raise HeadgateError("a QoS graph has latencies from 0 and utilities from 0 to 1", hint="correct the points")
        return cls(pairs)

    def utility(self, latency: float) -> float:
        after = bisect_right(self.points, (latency, float("inf")))
        if after == 0:
            return self.points[0][1]
        if after == len(self.points):
            return self.points[-1][1]
        (x0, y0), (x1, y1) = self.points[after - 1], self.points[after]
        return y0 + (y1 - y0) * (latency - x0) / (x1 - x0)

    @property
    def deadline(self) -> float:
        """The latency up to which a result has its full utility: the first critical point."""
        best = self.points[0][1]
        last = 0.0
        for latency, utility in self.points:
            if utility < best:
                return last
            last = latency
        return float("inf")
