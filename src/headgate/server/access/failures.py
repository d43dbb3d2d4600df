"""How often an address has presented a wrong token lately."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from headgate.server.networks import network

WINDOW = 60.0  # seconds
MOST_ADDRESSES = 10_000  # those with the newest failures are remembered


class Failures:
    """Counts failures for each address within the last minute.

    A right token is never refused because of the failures of others behind the same address: trying secrets of 256 bits
    is hopeless at any rate, so this only keeps a loop of wrong requests from costing much.

    >>> failures = Failures(2, clock=lambda: 0.0)
    >>> failures.add("192.0.2.1"), failures.add("192.0.2.1"), failures.add("192.0.2.1")
    (0, 0, 60)
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, address: str) -> int:
        """Count a failure; returns in how many seconds the address may fail again, 0 if it may now."""
        now, key = self._clock(), network(address)
        times = self._times.setdefault(key, deque())
        self._times.move_to_end(key)
        while times and times[0] <= now - WINDOW:
            times.popleft()
        if len(times) >= self._most:
            return max(1, math.ceil(times[0] + WINDOW - now))
        times.append(now)
        if len(self._times) > MOST_ADDRESSES:
            self._times.popitem(last=False)
        return 0
