"""The response times of classes since they were last judged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from headgate.model import ClassId

MOST = 10_000  # response times of a class that are kept
LEVELS = ("mean", "p75", "p90")


class Responses:
    """Response times by class: their mean, or the percentile that is asked for.

    >>> seen = Responses("p75")
    >>> seen.add("gold", [4.0, 1.0, 2.0, 3.0])
    >>> seen.add("tin", [])
    >>> seen.means()
    {'gold': 3.0}
    """

    def __init__(self, at: str = "mean") -> None:
        self.at = at
        self._times: dict[ClassId, deque[float]] = {}

    def add(self, query_class: ClassId, times: Iterable[float]) -> None:
        self._times.setdefault(query_class, deque(maxlen=MOST)).extend(times)

    def means(self) -> dict[ClassId, float]:
        """The response time of every class that has answered; the nearest-rank percentile."""
        return {name: self._value(times) for name, times in self._times.items() if times}

    def forget(self) -> None:
        self._times.clear()

    def _value(self, times: deque[float]) -> float:
        if self.at == "mean":
            return sum(times) / len(times)
        share = int(self.at.removeprefix("p"))
        return sorted(times)[-(-share * len(times) // 100) - 1]
