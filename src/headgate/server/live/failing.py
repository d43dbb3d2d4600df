"""Which queries have lost tuples lately: an expression that fails makes a dead letter, and the query runs on."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

OVER = 60.0  # seconds that are looked back
STEP = 5.0  # seconds between two counts that are kept


class FailingTuples:
    """Counts of dead letters by query, kept for a minute.

    >>> failing = FailingTuples()
    >>> failing.since_a_minute(100.0, {"hot": 5}), failing.since_a_minute(110.0, {"hot": 8, "new": 1})
    ({}, {'hot': 3, 'new': 1})
    >>> failing.since_a_minute(200.0, {"hot": 8, "new": 1})
    {}
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[float, dict[str, int]]] = deque()  # the oldest first

    def since_a_minute(self, now: float, counts: Mapping[str, int]) -> dict[str, int]:
        """How many more dead letters queries have than a minute ago, for those that have any."""
        if not self._kept or now >= self._kept[-1][0] + STEP:
            self._kept.append((now, {name: count for name, count in counts.items() if count}))
        while len(self._kept) > 1 and self._kept[1][0] <= now - OVER:
            self._kept.popleft()
        before = self._kept[0][1]
        more = {name: count - before.get(name, 0) for name, count in counts.items() if count}
        return {name: count for name, count in more.items() if count > 0}
