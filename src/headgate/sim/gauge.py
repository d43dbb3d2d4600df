"""Measures the length of all queues over time: exact mean and maximum, and samples."""

from __future__ import annotations

from headgate.metrics import QueueSeries
from headgate.sim.limits import check_bins


class Gauge:
    """Follows what waits in all queues together.

    What waits at a moment is what is there before idle cores take from it; the mean is over what they leave. The
    area under the curve is the sum of change × (end − moment) over all changes, so nothing is done between changes.
    """

    __slots__ = (
        "_bin",
        "_bytes_moment",
        "_max_bytes",
        "_max_tuples",
        "_per_second",
        "_series",
        "_tuples_moment",
        "bytes",
        "next_sample",
        "tuples",
    )

    def __init__(self, bin: float) -> None:
        self.tuples = 0
        self.bytes = 0
        self._tuples_moment = 0.0  # Σ change × moment
        self._bytes_moment = 0.0
        self.next_sample = 0.0
        self._bin = bin
        # Multiples of 0.1 drift off round times (30 * 0.1 > 3); quotients do not.
        self._per_second = round(1 / bin) if abs(1 / bin - round(1 / bin)) < 1e-9 else 0
        self._series = QueueSeries()
        self._max_tuples = self._max_bytes = 0

    def change(self, tuples: int, bytes: int, now: float) -> None:
        """Tuples and bytes that wait grow (or shrink) by these numbers now."""
        self.tuples += tuples
        self.bytes += bytes
        self._tuples_moment += tuples * now
        self._bytes_moment += bytes * now
        if self.tuples > self._max_tuples:
            self._max_tuples = self.tuples
        if self.bytes > self._max_bytes:
            self._max_bytes = self.bytes

    def take(self, tuples: int, tuples_moment: float, bytes: int, bytes_moment: float) -> None:
        """Cores have taken these tuples and bytes; the moments are sums of number × time."""
        self.tuples -= tuples
        self.bytes -= bytes
        self._tuples_moment -= tuples_moment
        self._bytes_moment -= bytes_moment

    def sample_before(self, now: float) -> None:
        """Nothing has changed up to now: note the samples due before."""
        if now - self.next_sample > self._bin:
            check_bins(now, self._bin)
        while self.next_sample < now:
            self.sample()

    def sample(self) -> None:
        """Note what waits at the next sample's time."""
        series = self._series
        series.time.append(self.next_sample)
        series.tuples.append(self.tuples)
        series.bytes.append(self.bytes)
        count = len(series.time)
        self.next_sample = count / self._per_second if self._per_second else count * self._bin

    def series(self, end: float) -> QueueSeries:
        self.sample_before(end)
        series = self._series
        if end > 0:
            series.mean_tuples = (self.tuples * end - self._tuples_moment) / end
            series.mean_bytes = (self.bytes * end - self._bytes_moment) / end
        series.max_tuples, series.max_bytes = float(self._max_tuples), float(self._max_bytes)
        return series
