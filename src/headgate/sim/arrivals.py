"""When tuples arrive: `at`, `constant`, `poisson`, `onoff`, `steps`, `trace`."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headgate.sim.limits import MOST_PERIODS, MOST_TUPLES, too_many_periods
from headgate.sim.recorded_times import recorded_times
from headgate.workload.arrivals import read_arrivals
from headgate.workload.settings import Settings

Times = npt.NDArray[np.float64]


class Arrivals(ABC):
    """A process of arrival times; `batch` tuples arrive at each."""

    batch: int = 1

    @property
    @abstractmethod
    def rate(self) -> float:
        """Tuples per second in the long run; 0 where there is no long run."""

    @abstractmethod
    def expected(self, duration: float) -> float:
        """How many arrival times are to be expected in [0, duration), without drawing them."""

    @abstractmethod
    def times(self, duration: float, random: np.random.Generator) -> Times:
        """Rising arrival times in [0, duration)."""

    def blocks(self, duration: float, random: np.random.Generator, size: int) -> Iterator[Times]:
        """The same times, about so many at a time; a process that cannot do so draws all of them first."""
        times = self.times(duration, random)
        yield from (times[begin : begin + size] for begin in range(0, len(times), size))


@dataclass(frozen=True)
class At(Arrivals):
    """At given times."""

    moments: tuple[float, ...]
    batch: int = 1

    @property
    def rate(self) -> float:
        span = max(self.moments, default=0.0) - min(self.moments, default=0.0)
        return self.batch * (len(self.moments) - 1) / span if span else 0.0

    def expected(self, duration: float) -> float:
        return len(self.moments)

    def times(self, duration: float, random: np.random.Generator) -> Times:
        return np.sort(np.array([moment for moment in self.moments if moment < duration]))


@dataclass(frozen=True)
class Constant(Arrivals):
    """Evenly spaced, the first at `start`.

    >>> Constant(per_second=2.0).times(2.0, np.random.default_rng(0)).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """

    per_second: float
    start: float = 0.0
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    def expected(self, duration: float) -> float:
        return max(0.0, duration - self.start) * self.per_second

    def times(self, duration: float, random: np.random.Generator) -> Times:
        count = max(0, math.ceil((duration - self.start) * self.per_second - 1e-9))
        return self.start + np.arange(count) / self.per_second

    def blocks(self, duration: float, random: np.random.Generator, size: int) -> Iterator[Times]:
        count = max(0, math.ceil((duration - self.start) * self.per_second - 1e-9))
        for begin in range(0, count, size):
            yield self.start + np.arange(begin, min(begin + size, count)) / self.per_second


@dataclass(frozen=True)
class Poisson(Arrivals):
    """Independent of each other."""

    per_second: float
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    def expected(self, duration: float) -> float:
        return duration * self.per_second

    def times(self, duration: float, random: np.random.Generator) -> Times:
        return _until(duration, lambda count: random.exponential(1 / self.per_second, count), self.per_second)

    def blocks(self, duration: float, random: np.random.Generator, size: int) -> Iterator[Times]:
        def gaps(count: int) -> Times:
            return random.exponential(1 / self.per_second, count)

        return _blocks_until(duration, gaps, self.per_second, size)


@dataclass(frozen=True)
class OnOff(Arrivals):
    """Bursts: Poisson while on, silent while off; both periods are Pareto, so some are very long.

    `rate` is the long-run mean, `on` and `off` the mean lengths, `shape` the tail: near 1 heavy, above 2 mild. Several
    `sources` take turns independently of each other. With a shape between 1 and 2 their sum has bursts at every time
    scale, as packet traces have: its Hurst parameter is (3 - shape) / 2 (Willinger, Taqqu, Sherman, Wilson 1997).

    One source begins with a burst. Several begin anywhere in their periods, else all would burst at once.
    """

    per_second: float
    on: float = 0.1
    off: float = 0.1
    shape: float = 1.5
    sources: int = 1
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    @property
    def peak(self) -> float:
        """Arrivals per second of one source while it is on."""
        return self.per_second / self.sources / (self.on / (self.on + self.off))

    def expected(self, duration: float) -> float:
        return duration * self.per_second

    def times(self, duration: float, random: np.random.Generator) -> Times:
        bursts = [burst for source in self.generators(random) for burst in self._source(duration, source)]
        times = np.sort(np.concatenate(bursts)) if bursts else np.empty(0)
        return times[times < duration]

    def blocks(self, duration: float, random: np.random.Generator, size: int) -> Iterator[Times]:
        if self.sources > 1:  # bursts overlap: those of all sources must be known
            yield from super().blocks(duration, random, size)
            return
        held: list[Times] = []
        count = 0
        for burst in self._source(duration, random, sys.maxsize):
            held.append(burst[burst < duration])
            count += len(burst)
            if count >= size:
                yield np.concatenate(held)
                held, count = [], 0
        if held:
            yield np.concatenate(held)

    def generators(self, random: np.random.Generator) -> list[np.random.Generator]:
        """The random numbers of each source: a longer run has the arrivals of a shorter one, and more."""
        return random.spawn(self.sources) if self.sources > 1 else [random]

    def bursts(self, random: np.random.Generator) -> Iterator[tuple[float, float]]:
        """Beginning and length of every burst of one source, without end."""
        now = 0.0
        if self.sources > 1 and random.random() < self.on / (self.on + self.off):
            rest = self._rest(self.on, random)
            yield now, rest
            now += rest + self._pareto(self.off, random)
        elif self.sources > 1:
            now += self._rest(self.off, random)
        while True:
            burst, silence = self._pareto(self.on, random), self._pareto(self.off, random)
            yield now, burst
            now += burst + silence

    def _source(self, duration: float, random: np.random.Generator, most: int = MOST_PERIODS) -> Iterator[Times]:
        """The times of one burst after the other."""
        for number, (now, burst) in enumerate(self.bursts(random)):
            if now >= duration:
                return
            if number == max(1, most // self.sources):
                raise too_many_periods("bursts", "choose a longer on or off, a larger shape or fewer sources")
            if self.peak * burst > MOST_TUPLES:  # one of the very long ones: only what is seen of it
                burst = min(burst, duration - now)
            yield now + np.sort(random.uniform(0.0, burst, random.poisson(self.peak * burst)))

    def _pareto(self, mean: float, random: np.random.Generator) -> float:
        return float(mean * (self.shape - 1) / self.shape * (1.0 + random.pareto(self.shape)))

    def _rest(self, mean: float, random: np.random.Generator) -> float:
        """What is left of a period at a moment that falls into it: long periods are met more often."""
        least = mean * (self.shape - 1) / self.shape
        if random.random() < (self.shape - 1) / self.shape:
            return float(random.uniform(0.0, least))
        return float(least * (1.0 + random.pareto(self.shape - 1)))


@dataclass(frozen=True)
class Steps(Arrivals):
    """Rates that hold for a while each and then begin again: Poisson, or evenly spaced with `kind=constant`."""

    rates: tuple[float, ...]
    starts: tuple[float, ...]  # when each rate begins; the last one holds as long as the one before it
    kind: str = "poisson"
    batch: int = 1

    @property
    def _period(self) -> float:
        last = self.starts[-1] - self.starts[-2] if len(self.starts) > 1 else math.inf
        return self.starts[-1] + last

    @property
    def rate(self) -> float:
        if len(self.rates) == 1:
            return self.rates[0] * self.batch
        lengths = np.diff([*self.starts, self._period])
        return float(np.dot(self.rates, lengths) / lengths.sum()) * self.batch

    def expected(self, duration: float) -> float:
        return float(_integrated(*_repeat(self.starts, self.rates, self._period, duration), duration)[-1])

    def times(self, duration: float, random: np.random.Generator) -> Times:
        starts, rates = _repeat(self.starts, self.rates, self._period, duration)
        work = _integrated(starts, rates, duration)
        if self.kind == "constant":
            moments = np.arange(math.ceil(work[-1] - 1e-9), dtype=np.float64)
        else:
            moments = _until(work[-1], lambda count: random.exponential(1.0, count), 1.0)
        return _warped(moments, starts, rates)


@dataclass(frozen=True)
class Trace(Arrivals):
    """Recorded arrival times, of any file that `recorded_times` reads."""

    file: Path
    column: str = "arrival"
    batch: int = 1
    within: Path | None = None  # the folder in which the file must lie, links followed

    @property
    def rate(self) -> float:
        times = self._read()
        span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
        return self.batch * (len(times) - 1) / span if span else 0.0

    def expected(self, duration: float) -> float:
        return len(self._read())

    def times(self, duration: float, random: np.random.Generator) -> Times:
        times = self._read()
        return times[times < duration]

    def _read(self) -> Times:
        return recorded_times(self.file, self.column, self.within)


def arrivals(text: str, directory: Path = Path(), within: Path | None = None) -> Arrivals:
    """The process that a string describes; with `within` it reads only files in that folder.

    >>> arrivals("poisson, rate=1200")
    Poisson(per_second=1200.0, batch=1)
    """
    settings = read_arrivals(text)
    number, batch = settings.number, settings.whole("batch", low=1) or 1
    rate = number("rate") or 0.0
    match settings.name:
        case "at":
            return At(tuple(settings.durations("times")), batch)
        case "constant":
            return Constant(rate, settings.duration("start") or 0.0, batch)
        case "poisson":
            return Poisson(rate, batch)
        case "onoff":
            on, off = settings.duration("on") or 0.1, settings.duration("off") or 0.1
            return OnOff(rate, on, off, number("shape") or 1.5, settings.whole("sources", low=1) or 1, batch)
        case "steps":
            return Steps(tuple(settings.numbers("rates")), _starts(settings), settings.word("kind") or "poisson", batch)
        case _:
            file, column = directory / str(settings.word("file")), settings.word("column") or "arrival"
            return Trace(file, column, batch, within)


def rescaled(times: Times, starts: Sequence[float], factors: Sequence[float]) -> Times:
    """The same arrivals on a clock that runs `factor` times as fast from each start on: how rates change.

    >>> rescaled(np.array([0.0, 1.0, 2.0, 3.0]), [0.0, 2.0], [1.0, 2.0]).tolist()
    [0.0, 1.0, 2.0, 2.5]
    """
    return _warped(times, np.asarray(starts, dtype=float), np.asarray(factors, dtype=float))


def _starts(settings: Settings) -> tuple[float, ...]:
    if (every := settings.duration("every")) is not None:
        return tuple(every * number for number in range(len(settings.numbers("rates"))))
    return tuple(settings.durations("at"))


def _until(end: float, gaps: Callable[[int], Times], rate: float) -> Times:
    """Sums of gaps up to an end, drawn in blocks."""
    blocks: list[Times] = []
    now = 0.0
    while now < end:
        block = now + np.cumsum(gaps(max(16, int((end - now) * rate * 1.1))))
        blocks.append(block)
        now = float(block[-1])
    times = np.concatenate(blocks) if blocks else np.empty(0)
    return times[times < end]


def _blocks_until(end: float, gaps: Callable[[int], Times], rate: float, size: int) -> Iterator[Times]:
    """The same as `_until`, to the last bit, but a part at a time."""
    now = 0.0
    while now < end:
        left, reached, begins = max(16, int((end - now) * rate * 1.1)), 0.0, now
        while left:
            part = gaps(min(size, left))
            left -= len(part)
            part[0] += reached
            sums = np.cumsum(part)
            reached = float(sums[-1])
            times = begins + sums
            yield times[times < end]
            if begins + reached >= end:
                return
        now = begins + reached


def _repeat(starts: Sequence[float], rates: Sequence[float], period: float, duration: float) -> tuple[Times, Times]:
    if not math.isinf(period) and duration / period * len(starts) > MOST_PERIODS:
        raise too_many_periods("steps", "choose a longer every, or later times in at")
    rounds = 1 if math.isinf(period) else max(1, math.ceil(duration / period))
    begins = np.concatenate([np.array(starts) + (number * period if number else 0.0) for number in range(rounds)])
    return begins, np.tile(np.array(rates, dtype=float), rounds)


def _integrated(starts: Times, rates: Times, end: float) -> Times:
    """How much has arrived at each start and at the end."""
    lengths = np.diff(np.append(starts, max(end, starts[-1])))
    lengths = np.minimum(lengths, np.maximum(0.0, end - starts))
    return np.append(0.0, np.cumsum(lengths * rates))


def _warped(work: Times, starts: Times, rates: Times) -> Times:
    """When that much has arrived, under rates that change."""
    reached = np.append(0.0, np.cumsum(np.diff(starts) * rates[:-1]))
    step = np.searchsorted(reached, work, side="right") - 1
    silent = rates[step] <= 0
    times = starts[step] + np.divide(work - reached[step], rates[step], out=np.zeros_like(work), where=~silent)
    return np.where(silent, np.inf, times)
