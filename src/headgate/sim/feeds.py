"""The arrivals of a whole simulation: drawn beforehand, the same for every policy."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headgate.model import HeadgateError, Stream
from headgate.sim.arrivals import Times, arrivals, rescaled
from headgate.sim.randomness import generator
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class Delivery:
    """Tuples of one arrival time, and when they are in the stream's log: later where reading them takes time."""

    at: float
    arrival: float
    stream: str
    tuples: int


@dataclass(slots=True)
class Feeds:
    """All arrivals: per stream by offset, and all deliveries in their order."""

    times: dict[str, array[float]]  # arrival of every tuple, by offset
    deliveries: list[Delivery]
    floors: array[float]  # the earliest arrival among a delivery and all later ones

    @classmethod
    def of(cls, workload: Workload) -> Feeds:
        times = {stream.name: _times(stream, workload) for stream in workload.streams}
        batches = {stream.name: _batch(stream, workload) for stream in workload.streams}
        deliveries = sorted(_deliveries(workload, times, batches), key=lambda delivery: delivery.at)
        floors = np.array([delivery.arrival for delivery in deliveries])[::-1]
        floors = np.minimum.accumulate(floors)[::-1] if len(floors) else floors
        return cls(
            {name: array("d", np.repeat(moments, batches[name]).tobytes()) for name, moments in times.items()},
            deliveries,
            array("d", floors.tobytes()),
        )

    def offset(self, stream: str, moment: float) -> int:
        """How many tuples of a stream arrive before a moment."""
        return int(np.searchsorted(np.frombuffer(self.times[stream]), moment)) if self.times[stream] else 0


def rates(workload: Workload) -> dict[str, float]:
    """Tuples per second of every stream, as its arrivals say."""
    return {
        stream.name: arrivals(stream.arrivals, workload.directory).rate
        for stream in workload.streams
        if stream.arrivals is not None
    }


def _times(stream: Stream, workload: Workload) -> Times:
    if stream.arrivals is None:
        raise HeadgateError(
            f"stream '{stream.name}' has no arrivals to simulate", hint='add arrivals = "poisson, rate=100"'
        )
    process = arrivals(stream.arrivals, workload.directory)
    changes = sorted((c.at, c.rate) for c in workload.changes if c.stream == stream.name and c.rate is not None)
    if not changes:
        return process.times(workload.duration, generator(workload.seed, "arrivals", stream.name))
    if not process.rate:
        raise HeadgateError(f"the rate of stream '{stream.name}' cannot change", hint="give it arrivals with a rate")
    starts = [0.0, *(at for at, _ in changes)]
    factors = [1.0, *(rate / process.rate for _, rate in changes)]
    ends = [*starts[1:], max(workload.duration, starts[-1])]
    work = sum(factor * (end - start) for start, end, factor in zip(starts, ends, factors, strict=True))
    drawn = process.times(work, generator(workload.seed, "arrivals", stream.name))
    moments = rescaled(drawn, starts, factors)
    return moments[moments < workload.duration]


def _batch(stream: Stream, workload: Workload) -> int:
    assert stream.arrivals is not None  # seen when its times were drawn
    return arrivals(stream.arrivals, workload.directory).batch


def _deliveries(workload: Workload, times: dict[str, Times], batches: dict[str, int]) -> Iterator[Delivery]:
    """Streams take turns on the source cores; a core reads its streams' tuples in the order of their arrival.

    Without source cores tuples are there when they arrive, and reading them is work as any other.
    """
    cores = workload.source_cores or 1
    for core in range(cores):
        streams = workload.streams[core::cores]
        waiting = sorted(
            (moment, order, stream) for order, stream in enumerate(streams) for moment in times[stream.name].tolist()
        )
        free = 0.0
        for moment, _, stream in waiting:
            seconds = 0.0 if workload.reads else stream.source_cost * batches[stream.name]
            free = max(free, moment) + seconds
            yield Delivery(free, moment, stream.name, batches[stream.name])
