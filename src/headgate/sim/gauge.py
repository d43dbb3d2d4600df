"""How much waits, over time: exact mean and maximum, and samples."""

from __future__ import annotations

from headgate.metrics import QueueSeries


class Gauge:
    """Follows what waits in all queues together; `tuples` and `bytes` are set by whoever changes the queues.

    What waits at a moment is what is there before idle cores take from it; the mean is over what they leave.
    """

    __slots__ = (
        "_area_bytes",
        "_area_tuples",
        "_bin",
        "_last",
        "_max_bytes",
        "_max_tuples",
        "_next",
        "_per_second",
        "_series",
        "bytes",
        "tuples",
    )

    def __init__(self, bin: float) -> None:
        self.tuples = 0
        self.bytes = 0
        self._bin = bin
        # Multiples of 0.1 drift off round times (30 * 0.1 > 3); quotients do not.
        self._per_second = round(1 / bin) if abs(1 / bin - round(1 / bin)) < 1e-9 else 0
        self._series = QueueSeries()
        self._next = 0.0
        self._last = 0.0
        self._area_tuples = self._area_bytes = 0.0
        self._max_tuples = self._max_bytes = 0

    def advance(self, now: float) -> None:
        """Time passes: what waits has been the same since the last moment."""
        while self._next < now:
            self._note()
        passed = now - self._last
        self._area_tuples += passed * self.tuples
        self._area_bytes += passed * self.bytes
        self._last = now

    def sample(self, now: float) -> None:
        """All that happens at this moment has happened; nothing has been taken yet."""
        if self.tuples > self._max_tuples:
            self._max_tuples = self.tuples
        if self.bytes > self._max_bytes:
            self._max_bytes = self.bytes
        if self._next <= now:
            self._note()

    def series(self, end: float) -> QueueSeries:
        self.advance(end)
        series = self._series
        if end > 0:
            series.mean_tuples, series.mean_bytes = self._area_tuples / end, self._area_bytes / end
        series.max_tuples, series.max_bytes = float(self._max_tuples), float(self._max_bytes)
        return series

    def _note(self) -> None:
        series = self._series
        series.time.append(self._next)
        series.tuples.append(self.tuples)
        series.bytes.append(self.bytes)
        count = len(series.time)
        self._next = count / self._per_second if self._per_second else count * self._bin
