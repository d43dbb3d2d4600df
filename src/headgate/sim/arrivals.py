"""When tuples arrive: `at`, `constant`, `poisson`, `onoff`, `steps`, `trace`."""

from __future__ import annotations

import csv
import gzip
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from headgate.model import HeadgateError
from headgate.sim.limits import MOST_PERIODS, MOST_TUPLES, too_many_periods
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

    `rate` is the long-run mean, `on` and `off` the mean lengths, `shape` the tail: near 1 heavy, above 2 mild.
    """

    per_second: float
    on: float = 0.1
    off: float = 0.1
    shape: float = 1.5
    batch: int = 1

    @property
    def rate(self) -> float:
        return self.per_second * self.batch

    def expected(self, duration: float) -> float:
        return duration * self.per_second

    def times(self, duration: float, random: np.random.Generator) -> Times:
        bursts = list(self._bursts(duration, random, MOST_PERIODS))
        times = np.concatenate(bursts) if bursts else np.empty(0)
        return times[times < duration]

    def blocks(self, duration: float, random: np.random.Generator, size: int) -> Iterator[Times]:
        held: list[Times] = []
        count = 0
        for burst in self._bursts(duration, random):
            held.append(burst[burst < duration])
            count += len(burst)
            if count >= size:
                yield np.concatenate(held)
                held, count = [], 0
        if held:
            yield np.concatenate(held)

    def _bursts(self, duration: float, random: np.random.Generator, most: float = math.inf) -> Iterator[Times]:
        """The times of one burst after the other."""
        share = self.on / (self.on + self.off)
        now, bursts = 0.0, 0
        while now < duration:
            if bursts == most:
                raise too_many_periods("bursts", "choose a longer on or off, or a larger shape")
            burst, silence = self._pareto(self.on, random), self._pareto(self.off, random)
            if self.per_second / share * burst > MOST_TUPLES:  # one of the very long ones: only what is seen of it
                burst = min(burst, duration - now)
            count = random.poisson(self.per_second / share * burst)
            yield now + np.sort(random.uniform(0.0, burst, count))
            now += burst + silence
            bursts += 1

    def _pareto(self, mean: float, random: np.random.Generator) -> float:
        return mean * (self.shape - 1) / self.shape * (1.0 + random.pareto(self.shape))


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
    """Recorded arrival times: one number per line, or the named column of a CSV, JSON-lines or Parquet file."""

    file: Path
    column: str = "arrival"
    batch: int = 1

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
        try:
            times = np.sort(np.array(_column(self.file, self.column), dtype=np.float64))
            if len(times) and not 0.0 <= times[0] <= times[-1] < math.inf:
                raise ValueError(f"{times[0]:g} is not a time from 0 on")
            return times
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise HeadgateError(
                f"cannot read arrival times from '{self.file}': {error}",
                hint=f"give a text, CSV, JSON-lines or Parquet file with a column '{self.column}' of seconds",
            ) from None


def arrivals(text: str, directory: Path = Path()) -> Arrivals:
    """The process that a string describes.

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
            return OnOff(rate, on, off, number("shape") or 1.5, batch)
        case "steps":
            return Steps(tuple(settings.numbers("rates")), _starts(settings), settings.word("kind") or "poisson", batch)
        case _:
            return Trace(directory / str(settings.word("file")), settings.word("column") or "arrival", batch)


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


def _text(file: Path) -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig")
    return file.open(encoding="utf-8-sig")


def _column(file: Path, column: str) -> list[float]:
    if file.suffix == ".parquet":
        import pyarrow.parquet

        return list(pyarrow.parquet.read_table(file, columns=[column])[column].to_pylist())
    kind = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
    with _text(file) as lines:
        if kind in (".csv", ".tsv"):
            rows = csv.DictReader(lines, delimiter="," if kind == ".csv" else "\t")
            return [float(row[column]) for row in rows]
        if kind == ".json" and (text := lines.read()).lstrip().startswith("["):
            return [float(record[column]) for record in json.loads(text)]
        if kind == ".json":
            return [float(json.loads(line)[column]) for line in text.splitlines() if line.strip()]
        if kind in (".jsonl", ".ndjson"):
            return [float(json.loads(line)[column]) for line in lines if line.strip()]
        return [float(line) for line in lines if line.strip()]
