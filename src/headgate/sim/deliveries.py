"""Arrivals as blocks of deliveries, in the order in which tuples are in their streams' logs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.model import Stream
from headgate.sim.arrivals import Times
from headgate.sim.feeds import batch_of, blocks_of, times_of
from headgate.sim.source_turns import turns
from headgate.workload import Workload

Whole = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class DeliveryBlock:
    """Some deliveries, one after the other, and the arrivals of their tuples by stream."""

    at: Times
    stream: Whole  # by its place in the workload
    tuples: Whole
    floor: Times  # no tuple of a delivery, or of a later one, arrived before
    times: Mapping[str, Times]  # of every tuple, by stream
    last: bool


def delivery_blocks(workload: Workload, size: int) -> Iterator[DeliveryBlock]:
    """All deliveries of a simulation, a block at a time; only what is drawn and not yet delivered is held."""
    if workload.sources and not workload.reads:
        yield from _in_turns(workload, size)
        return
    count = workload.source_cores or 1
    cores = [_Core(workload, range(place, len(workload.streams), count), size) for place in range(count)]
    batches = np.array([batch_of(stream, workload) for stream in workload.streams], dtype=np.int64)
    last = False
    while not last:
        for core in cores:
            core.read()
        bound = min(core.bound for core in cores)
        parts = [core.before(bound) for core in cores]
        at, stream, arrival = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(at, kind="stable")
        last = all(core.is_done for core in cores)
        if len(at) or last:
            earliest = min(core.earliest for core in cores)
            yield _block(workload.streams, at[order], stream[order], arrival[order], batches, earliest, last)


def _in_turns(workload: Workload, size: int) -> Iterator[DeliveryBlock]:
    """The same where sources take turns: when a tuple is read depends on all the others, so all are drawn first."""
    batches = {stream.name: batch_of(stream, workload) for stream in workload.streams}
    times = {stream.name: times_of(stream, workload) for stream in workload.streams}
    places = {stream.name: place for place, stream in enumerate(workload.streams)}
    reads = sorted(turns(workload, times, batches), key=lambda read: read[2])
    stream = np.array([places[name] for name, _, _ in reads], dtype=np.int64)
    arrival = np.array([moment for _, moment, _ in reads], dtype=np.float64)
    at = np.array([read for _, _, read in reads], dtype=np.float64)
    earliest = np.append(np.minimum.accumulate(arrival[::-1])[::-1], math.inf)  # of each and all later ones
    counts = np.array(list(batches.values()), dtype=np.int64)
    for begin in range(0, max(1, len(at)), size):
        end = min(begin + size, len(at))
        part, rest = slice(begin, end), float(earliest[end])
        yield _block(workload.streams, at[part], stream[part], arrival[part], counts, rest, end == len(at))


def _block(
    streams: Sequence[Stream], at: Times, stream: Whole, arrival: Times, batches: Whole, earliest: float, last: bool
) -> DeliveryBlock:
    floor = np.minimum.accumulate(np.append(arrival, earliest)[::-1])[::-1][:-1]
    times = {each.name: np.repeat(arrival[stream == place], batches[place]) for place, each in enumerate(streams)}
    return DeliveryBlock(at, stream, batches[stream], floor, times, last)


class _Core:
    """A core that reads its streams' tuples in the order of their arrival.

    Streams take turns on the source cores. Without source cores tuples are there when they arrive, and reading them is
    work as any other.
    """

    def __init__(self, workload: Workload, places: Sequence[int], size: int) -> None:
        self._places = places
        self._sources = [_Source(blocks_of(workload.streams[place], workload, size)) for place in places]
        self._seconds = {
            place: 0.0 if workload.reads else stream.source_overhead + stream.source_cost * batch_of(stream, workload)
            for place, stream in enumerate(workload.streams)
        }
        self._free = 0.0
        nothing = np.empty(0)
        self._at, self._stream, self._arrival = nothing, np.empty(0, np.int64), nothing

    def read(self) -> None:
        """Read all that has come before anything that is not known yet."""
        for source in self._sources:
            source.draw()
        known = min((source.bound for source in self._sources), default=math.inf)
        moments = [source.before(known) for source in self._sources]
        arrival = np.concatenate([np.empty(0), *moments])
        stream = np.repeat(np.array(self._places, dtype=np.int64), [len(part) for part in moments])
        order = np.argsort(arrival, kind="stable")  # of equal ones the stream that stands first
        arrival, stream = arrival[order], stream[order]
        self._at = np.append(self._at, self._read(arrival, stream))
        self._stream, self._arrival = np.append(self._stream, stream), np.append(self._arrival, arrival)

    def _read(self, arrival: Times, stream: Whole) -> Times:
        """When tuples are in their logs."""
        if not any(self._seconds[place] for place in self._places):
            return arrival
        at = []
        for moment, place in zip(arrival.tolist(), stream.tolist(), strict=True):
            self._free = max(self._free, moment) + self._seconds[place]
            at.append(self._free)
        return np.array(at)

    @property
    def bound(self) -> float:
        """No delivery that is not known yet comes before."""
        return max(self._free, min((source.bound for source in self._sources), default=math.inf))

    @property
    def earliest(self) -> float:
        """No tuple that is still to be delivered arrived before."""
        held = float(self._arrival.min(initial=math.inf))
        return min(held, *(source.earliest for source in self._sources), math.inf)

    @property
    def is_done(self) -> bool:
        return not len(self._at) and self.bound == math.inf

    def before(self, bound: float) -> tuple[Times, Whole, Times]:
        """The deliveries before a moment, not to be held any more."""
        count = len(self._at) if bound == math.inf else int(np.searchsorted(self._at, bound))
        part = self._at[:count], self._stream[:count], self._arrival[:count]
        self._at, self._stream, self._arrival = self._at[count:], self._stream[count:], self._arrival[count:]
        return part


class _Source:
    """The arrivals of one stream, as far as they are drawn and not read."""

    def __init__(self, blocks: Iterator[Times]) -> None:
        self._blocks = blocks
        self._moments = np.empty(0)
        self.bound = 0.0  # no moment that is not drawn yet comes before; inf: all are drawn

    def draw(self) -> None:
        """Draw until there is something to read, or nothing more."""
        while not len(self._moments) and self.bound < math.inf:
            block = next(self._blocks, None)
            if block is None:
                self.bound = math.inf
            elif len(block):
                self._moments = block
                self.bound = float(block[-1])
        if len(self._moments) and self.bound < math.inf:
            self._draw_beyond_the_last()

    def _draw_beyond_the_last(self) -> None:
        """Where only moments are left that equal the last one, more of them may come: draw until that is known."""
        while self._moments[0] == self.bound < math.inf:
            block = next(self._blocks, None)
            if block is None:
                self.bound = math.inf
            elif len(block):
                self._moments = np.append(self._moments, block)
                self.bound = float(block[-1])

    @property
    def earliest(self) -> float:
        return float(self._moments[0]) if len(self._moments) else self.bound

    def before(self, bound: float) -> Times:
        count = len(self._moments) if bound == math.inf else int(np.searchsorted(self._moments, bound))
        part, self._moments = self._moments[:count], self._moments[count:]
        return part
