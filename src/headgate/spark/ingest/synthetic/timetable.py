"""Arrival times that never end, made block by block as they are needed.

The simulator makes all arrivals of a run at once, which a source cannot: it does not know how long it will run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from math import inf

import numpy as np

from headgate.sim.arrivals import Arrivals, Constant, OnOff, Poisson, Steps, Times, rescaled

BLOCK = 10.0  # seconds of arrivals that are made at once
FEW = 16  # arrivals that are made at once if the rate is low
MANY = 1_000_000  # tuples that are made at once if the rate is high


class Moments:
    """Rising moments that come in blocks, taken in order, each so many times."""

    def __init__(self, blocks: Iterator[Times], batch: int = 1) -> None:
        self._blocks = blocks
        self._batch = batch
        self._ahead: Times = np.empty(0)

    @property
    def next(self) -> float:
        """When the next tuple arrives; infinity when no more come."""
        while not len(self._ahead):
            block = next(self._blocks, None)
            if block is None:
                return inf
            self._ahead = np.repeat(block, self._batch)
        return float(self._ahead[0])

    def until(self, moment: float, most: int = 1 << 62) -> Times:
        """Take the arrivals up to a moment, it included, but not more than `most`."""
        blocks: list[Times] = [np.empty(0)]
        while most > 0 and self.next <= moment and len(self._ahead):
            count = min(most, int(np.searchsorted(self._ahead, moment, side="right")))
            blocks.append(self._ahead[:count])
            self._ahead = self._ahead[count:]
            most -= count
        return np.concatenate(blocks)


class Timetable(Moments):
    """The moments of tuples, from 0 on, taken in order.

    >>> table = Timetable(Constant(per_second=2.0, batch=2), np.random.default_rng(1))
    >>> table.until(0.6).tolist(), table.next
    ([0.0, 0.0, 0.5, 0.5], 1.0)
    """

    def __init__(self, process: Arrivals, random: np.random.Generator) -> None:
        super().__init__(_blocks(process, random), process.batch)


def _blocks(process: Arrivals, random: np.random.Generator) -> Iterator[Times]:
    most = max(FEW, MANY // process.batch)
    match process:
        case Constant():
            return (process.start + block / process.per_second for block in _counted(process.per_second, most))
        case Poisson():
            rate = process.per_second
            return _poisson(process, random, min(max(BLOCK, FEW / rate), most / rate))
        case OnOff(sources=1):
            return _bursts(process, random, most)
        case OnOff():
            return _superposed(process, random, most)
        case Steps():
            return _steps(process, random, most)
    return iter([process.times(inf, random)])  # a list of moments, or a trace


def _counted(rate: float, most: int) -> Iterator[Times]:
    """The whole numbers from 0 on, in blocks."""
    size = int(min(max(FEW, BLOCK * rate), most))
    return (np.arange(block * size, (block + 1) * size, dtype=np.float64) for block in count())


def _poisson(process: Poisson, random: np.random.Generator, length: float) -> Iterator[Times]:
    """Poisson arrivals have no memory, so blocks drawn one after the other are one process."""
    return (block * length + process.times(length, random) for block in count())


def _bursts(process: OnOff, random: np.random.Generator, most: int) -> Iterator[Times]:
    for now, burst in process.bursts(random):
        start = 0.0
        while start < burst:  # some bursts are very long
            length = min(BLOCK, most / process.peak, burst - start)
            yield now + start + np.sort(random.uniform(0.0, length, random.poisson(process.peak * length)))
            start += length


def _superposed(process: OnOff, random: np.random.Generator, most: int) -> Iterator[Times]:
    """The arrivals of several sources, merged a stretch of time after the other."""
    sources = [Moments(_bursts(process, source, most)) for source in process.generators(random)]
    length = min(max(BLOCK, FEW / process.per_second), most / process.per_second)
    return (np.sort(np.concatenate([source.until(block * length) for source in sources])) for block in count(1))


def _steps(process: Steps, random: np.random.Generator, most: int) -> Iterator[Times]:
    """Arrivals at rate 1, stretched or squeezed by the rate of each step.

    An arrival at work w of the process with rate 1 comes when the integral of the rates reaches w.
    """
    starts, rates = np.array(process.starts), np.array(process.rates, dtype=float)
    if len(starts) == 1:  # for ever: any period will do
        starts, rates = np.array([0.0, BLOCK]), np.repeat(rates, 2)
    lengths = np.diff(starts, append=2 * starts[-1] - starts[-2])
    # Summed in this order, a last step with rate 0 adds exactly no work, and no arrival falls into it.
    period, work = float(lengths.sum()), float(np.cumsum(lengths * rates)[-1])
    if work <= 0.0:
        return
    mean = work / period
    if process.kind == "constant":
        at_rate_1 = _counted(mean, most)
    else:
        at_rate_1 = _poisson(Poisson(1.0), random, min(max(FEW, BLOCK * mean), most))
    for block in at_rate_1:
        rounds = np.floor(block / work)
        rest = np.clip(block - rounds * work, 0.0, np.nextafter(work, 0.0))
        yield rounds * period + rescaled(rest, starts.tolist(), rates.tolist())
