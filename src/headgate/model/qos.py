"""QoS graphs: what a result is worth by its latency."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose

from headgate.model.errors import HeadgateError

# A response time is a difference of sums of floats: a nanosecond decides neither a deadline nor a step of a graph.
GRACE = 1e-9


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
        after = self._after(latency)
        if after == 0:
            return self.points[0][1]
        if after == len(self.points):
            return self.points[-1][1]
        (x0, y0), (x1, y1) = self.points[after - 1], self.points[after]
        return y0 + (y1 - y0) * (latency - x0) / (x1 - x0)

    def fall(self, latency: float) -> float:
        """How much utility a second longer costs there; 0 where the graph is level or rises.

        >>> graph = QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.25]])
        >>> graph.fall(0.2), graph.fall(0.5), graph.fall(2.0)
        (0.0, 0.5, 0.0)
        """
        return max(0.0, -self._slope(self._after(latency)))

    def slack(self, latency: float) -> float:
        """Seconds to the next critical point, where the slope changes or the graph drops; inf behind the last.

        >>> graph = QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.25]])
        >>> graph.slack(0.25), graph.slack(0.5), graph.slack(2.0)
        (0.25, 1.5, inf)
        """
        after = self._after(latency)
        here = self._slope(after)
        for place in range(after, len(self.points)):
            if self._drops(place) or not isclose(self._slope(place + 1), here, abs_tol=1e-12):
                return self.points[place][0] - latency
        return float("inf")

    def _after(self, latency: float) -> int:
        """The place of the first point beyond a latency."""
        return bisect_right(self.points, (latency, float("inf")))

    def _slope(self, place: int) -> float:
        """The slope of the stretch that ends at a point; there is none before the first and behind the last."""
        if not 0 < place < len(self.points) or self._drops(place - 1):
            return 0.0
        (x0, y0), (x1, y1) = self.points[place - 1], self.points[place]
        return (y1 - y0) / (x1 - x0)

    def _drops(self, place: int) -> bool:
        """Whether the next point stands right above or below this one."""
        return place + 1 < len(self.points) and self.points[place + 1][0] == self.points[place][0]

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
