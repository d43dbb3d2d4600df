"""The simulator: virtual time, modelled costs, the real scheduler.

At every moment: first runs that end, then tuples that arrive, then changes; then what waits is measured; then idle
cores are given work. This total order, and random numbers that belong to tuples, make a run repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TextIO

from headgate.core import Arrived, RecordingScheduler, Scheduler
from headgate.metrics import QueryRecords, Records
from headgate.model import Idle, Join, Outcome, Query, Run, WorkerId, walk
from headgate.sim.changes import Happening, happenings
from headgate.sim.feeds import Feeds
from headgate.sim.gauge import Gauge
from headgate.sim.load import scaled, statistics
from headgate.sim.machine import Machine
from headgate.stats import Measured, Stats
from headgate.workload import Workload

Progress = Callable[[float], None]
_NEVER = math.inf


def simulate(
    workload: Workload,
    policy: str,
    *,
    trace: TextIO | None = None,
    progress: Progress | None = None,
    bin: float = 0.1,
) -> Records:
    """Run a workload under a policy and hand over what there is to judge it by.

    `trace` takes the recorded calls of the scheduler; `progress` is told the share of the duration that is done;
    `bin` is the time between two samples of the queues.
    """
    return Simulation(workload, policy, trace=trace, progress=progress, bin=bin).run()


class Simulation:
    """One simulation in progress."""

    def __init__(
        self,
        workload: Workload,
        policy: str,
        *,
        trace: TextIO | None = None,
        progress: Progress | None = None,
        bin: float = 0.1,
    ) -> None:
        self.workload = scaled(workload)
        self.feeds = Feeds.of(self.workload)
        self.records = _records(self.workload)
        self.scheduler = self._scheduler(policy, trace)
        self.machine = Machine(
            self.workload,
            self.feeds,
            self.records,
            heads=lambda number: self.scheduler.queue(number).head,
            detailed=self.workload.learn or trace is not None,
        )
        self.gauge = Gauge(bin)
        self._happenings = happenings(self.workload)
        self._progress = progress or (lambda share: None)
        self._scheduling = 0.0
        self._counted = 0  # priorities computed and compared that have been charged
        self._rewired()

    def run(self) -> Records:
        """Simulate to the end."""
        end = max(self._loop(), self.workload.duration)
        if not self.workload.drain:
            end = self.workload.duration
            self._forget_results_after(end)
        return Records(
            queries=list(self.records.values()),
            priorities={name: known.priority for name, known in self.scheduler.network.classes.items()},
            queue=self.gauge.series(end),
            seconds=end,
            busy=self.machine.busy,
            scheduling=self._scheduling,
            workers=self.workload.cores,
            decisions=self.scheduler.decisions,
            runs=self.scheduler.runs,
            tuples_in={name: len(times) for name, times in self.feeds.times.items()},
            unfinished=self.scheduler.waiting,
        )

    def _loop(self) -> float:
        """The event loop; what is called once per run is written out here, because nothing else is as hot."""
        scheduler, machine, gauge = self.scheduler, self.machine, self.gauge
        deliveries, floors = self.feeds.deliveries, self.feeds.floors
        charge = self.workload.decision_cost
        stop = _NEVER if self.workload.drain else self.workload.duration
        ending: list[tuple[float, int, Outcome]] = []
        idle: list[WorkerId] = list(range(self.workload.cores))
        delivered, wake, now = 0, _NEVER, 0.0
        next_delivery = deliveries[0].at if deliveries else _NEVER
        next_change = self._happenings[0].at if self._happenings else _NEVER
        while True:
            moment = ending[0][0] if ending else _NEVER
            if next_delivery < moment:
                moment = next_delivery
            if next_change < moment:
                moment = next_change
            if wake < moment:
                moment = wake
            if moment == _NEVER or moment > stop:
                return now
            now = moment
            gauge.advance(now)
            while ending and ending[0][0] <= now:
                outcome = heappop(ending)[2]
                if outcome.produced:
                    self._deliver(outcome)
                scheduler.finished(outcome, now)
                idle.append(outcome.run.worker)
            while next_delivery <= now:
                delivery = deliveries[delivered]
                scheduler.event(Arrived(delivery.stream, delivery.arrival, delivery.tuples), now)
                readers, size = self._readers[delivery.stream]
                gauge.tuples += readers * delivery.tuples
                gauge.bytes += readers * delivery.tuples * size
                delivered += 1
                next_delivery = deliveries[delivered].at if delivered < len(deliveries) else _NEVER
                if not delivered & 127:
                    self._progress(min(1.0, now / self.workload.duration))
            while next_change <= now:
                self._happen(self._happenings.pop(0), now)
                next_change = self._happenings[0].at if self._happenings else _NEVER
            gauge.sample(now)
            wake = _NEVER
            for worker in tuple(idle):
                run = scheduler.next(worker, now)
                if type(run) is Idle:
                    wake = min(wake, run.until) if run.until > now else wake
                    continue
                assert type(run) is Run
                idle.remove(worker)
                for queue, first, last in run.takes:
                    gauge.tuples -= last - first
                    gauge.bytes -= (last - first) * self._sizes[queue]
                began = now if not charge else now + self._charge(charge)
                floor = floors[delivered] if delivered < len(deliveries) else now
                outcome = machine.execute(run, began, floor)
                heappush(ending, (began + outcome.seconds, run.id, outcome))

    def _charge(self, each: float) -> float:
        """Seconds for the priorities that were computed and compared since the last run."""
        tally = self.scheduler.policy.tally
        done = tally.computed + tally.compared
        seconds = each * max(0, done - self._counted)  # a policy that takes over begins at 0
        self._counted = done
        self._scheduling += seconds
        return seconds

    def _deliver(self, outcome: Outcome) -> None:
        self.machine.deliver(outcome)
        for produced in outcome.produced:
            count = sum(tuples for _, tuples in produced.chunks)
            self.gauge.tuples += count
            self.gauge.bytes += count * self._sizes.get(produced.queue, 0)

    def _happen(self, happening: Happening, now: float) -> None:
        for event in happening.events(self.scheduler.network, self.workload.learn):
            self.scheduler.event(event, now)
        happening.touch(self.machine, self.scheduler.network)
        happening.note(self.records, now)
        self._rewired()

    def _rewired(self) -> None:
        """The network may be new."""
        network = self.scheduler.network
        self.machine.follow(network)
        queues = [edge.stream for edge in network.edges.values()]
        self._readers = {name: (queues.count(name), stream.bytes) for name, stream in network.streams.items()}
        self._sizes = {queue.id: queue.log.size for queue in self.scheduler.queues()}
        self.gauge.tuples = self.scheduler.waiting
        self.gauge.bytes = sum(queue.nbytes for queue in self.scheduler.queues())

    def _scheduler(self, policy: str, trace: TextIO | None) -> Scheduler:
        workload = self.workload
        settings = {
            "measured": statistics(workload),
            "learn": workload.learn,
            "train": workload.train,
            "fuse": workload.fuse,
            "seed": workload.seed,
        }
        if trace is None:
            return Scheduler(workload.network(), policy, **settings)  # type: ignore[arg-type]
        return RecordingScheduler(workload.network(), policy, write=trace.write, **settings)

    def _forget_results_after(self, end: float) -> None:
        """Runs are carried out when they start; those under way at the end have not given all of their results."""
        for records in self.records.values():
            while records.emission and records.emission[-1] > end:
                records.emission.pop()
                records.arrival.pop()
                if records.reference is not None:
                    records.reference.pop()


def _records(workload: Workload) -> dict[str, QueryRecords]:
    network = workload.network()
    for query in workload.queries:
        if query.name not in network.queries:
            network = network.add(query)
    stats = Stats(network, Measured.of(network, run_overhead=workload.run_overhead))
    return {query.name: _empty(query, stats) for query in workload.queries}


def _empty(query: Query, stats: Stats) -> QueryRecords:
    records = QueryRecords(
        query.name, stats.query_ideal_time(query.name), query.qos, classes=[(0.0, query.query_class)]
    )
    if any(isinstance(node, Join) for node in walk(query.plan)):
        records.reference = type(records.arrival)("d")
    return records
