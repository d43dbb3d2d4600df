"""The arrivals of a whole simulation: drawn beforehand, the same for every policy."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headgate.model import HeadgateError, Stream
from headgate.sim.arrivals import Arrivals, Times, arrivals, rescaled
from headgate.sim.limits import check_tuples
from headgate.sim.randomness import generator
from headgate.sim.source_turns import turns
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
        check_arrivals(workload)
        times = {stream.name: times_of(stream, workload) for stream in workload.streams}
        batches = {stream.name: batch_of(stream, workload) for stream in workload.streams}
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


def check_arrivals(workload: Workload) -> None:
    """Refuse more tuples, of one stream or of all, than a simulation can hold; draws nothing."""
    total = 0.0
    for stream in workload.streams:
        expected = expected_tuples(stream, workload)
        try:
            check_tuples(expected)
        except HeadgateError as error:
            raise error.at(f"stream '{stream.name}'") from None
        total += expected
    check_tuples(total)


def expected_tuples(stream: Stream, workload: Workload) -> float:
    """How many tuples of a stream are to be expected, without drawing them."""
    try:
        process = _process(stream, workload)
        clock = _clock(process, stream, workload)
        return process.batch * process.expected(clock.work if clock else workload.duration)
    except HeadgateError as error:
        raise error.at(f"stream '{stream.name}'") from None


def _process(stream: Stream, workload: Workload) -> Arrivals:
    if stream.arrivals is None:
        raise HeadgateError("it has no arrivals to simulate", hint='add arrivals = "poisson, rate=100"')
    return arrivals(stream.arrivals, workload.directory)


@dataclass(frozen=True, slots=True)
class _Clock:
    """How changes of the rate stretch or squeeze a stream's time: a factor from each start on."""

    starts: list[float]
    factors: list[float]
    work: float  # time to draw, so that the duration is covered


def _clock(process: Arrivals, stream: Stream, workload: Workload) -> _Clock | None:
    changes = sorted((c.at, c.rate) for c in workload.changes if c.stream == stream.name and c.rate is not None)
    if not changes:
        return None
    if not process.rate:
        raise HeadgateError("its rate cannot change", hint="give it arrivals with a rate")
    starts = [0.0, *(at for at, _ in changes)]
    factors = [1.0, *(rate / process.rate for _, rate in changes)]
    ends = [*starts[1:], max(workload.duration, starts[-1])]
    work = sum(factor * (end - start) for start, end, factor in zip(starts, ends, factors, strict=True))
    return _Clock(starts, factors, work)


def times_of(stream: Stream, workload: Workload) -> Times:
    """When the tuples of a stream arrive; as many of each time as its batch."""
    random = generator(workload.seed, "arrivals", stream.name)
    try:
        process = _process(stream, workload)
        clock = _clock(process, stream, workload)
        if clock is None:
            return process.times(workload.duration, random)
        moments = rescaled(process.times(clock.work, random), clock.starts, clock.factors)
        return moments[moments < workload.duration]
    except HeadgateError as error:
        raise error.at(f"stream '{stream.name}'") from None


def blocks_of(stream: Stream, workload: Workload, size: int) -> Iterator[Times]:
    """When the tuples of a stream arrive whose rate does not change, about so many at a time."""
    random = generator(workload.seed, "arrivals", stream.name)
    try:
        yield from _process(stream, workload).blocks(workload.duration, random, size)
    except HeadgateError as error:
        raise error.at(f"stream '{stream.name}'") from None


def batch_of(stream: Stream, workload: Workload) -> int:
    """How many tuples of a stream arrive at a time."""
    return _process(stream, workload).batch


def _deliveries(workload: Workload, times: dict[str, Times], batches: dict[str, int]) -> Iterator[Delivery]:
    """Streams take turns on the source cores; a core reads its streams' tuples in the order of their arrival.

    Without source cores tuples are there when they arrive, and reading them is work as any other. Where the workload
    says so, sources take turns instead, on whichever core is free.
    """
    if workload.sources and not workload.reads:
        for name, moment, read in turns(workload, times, batches):
            yield Delivery(read, moment, name, batches[name])
        return
    cores = workload.source_cores or 1
    for core in range(cores):
        streams = workload.streams[core::cores]
        waiting = sorted(
            (moment, order, stream) for order, stream in enumerate(streams) for moment in times[stream.name].tolist()
        )
        free = 0.0
        for moment, _, stream in waiting:
            own = stream.source_overhead + stream.source_cost * batches[stream.name]
            seconds = 0.0 if workload.reads else own
            free = max(free, moment) + seconds
            yield Delivery(free, moment, stream.name, batches[stream.name])
