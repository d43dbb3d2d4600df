"""The simulator: virtual time, modelled costs, the real scheduler.

At every moment: first runs that end, then tuples that arrive, then changes; then what waits is measured; then idle
cores are given work. This total order, and random numbers that belong to tuples, make a run repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TextIO

from headgate.core import Arrived
from headgate.metrics import Records
from headgate.model import HeadgateError, Idle, Outcome, Run, WorkerId
from headgate.sim import compiled
from headgate.sim.changes import happenings
from headgate.sim.feeds import Feeds
from headgate.sim.gauge import Gauge
from headgate.sim.load import scaled
from headgate.sim.machine import SimulatedMachine
from headgate.sim.policy_fit import check_isolated
from headgate.sim.setting_up import forget_results_after, new_records, new_scheduler
from headgate.sim.undo import Undo
from headgate.workload import Workload

Progress = Callable[[float], None]
_NEVER = math.inf
GAVE_WAY = "cancelled for something more important"


PATHS = ("auto", "compiled", "general")


def simulate(
    workload: Workload,
    policy: str,
    *,
    trace: TextIO | None = None,
    progress: Progress | None = None,
    bin: float = 0.1,
    path: str = "auto",
) -> Records:
    """Simulate a workload under a policy and return the records of the run.

    `trace` takes the recorded calls of the scheduler; `progress` is called with the share of the duration that is done;
    `bin` is the time between two samples of the queues. `path` is one of `PATHS`: compiled code gives the same records
    as the general simulator in a fraction of the time, but does not know everything; `auto` takes it where it does, and
    where the simulation is long enough for it. `Records.path` says what was taken.
    """
    if path != "general":
        attempt: compiled.Runnable | str = "decisions are recorded"
        if trace is None:
            attempt = compiled.new_simulation(workload, policy, bin=bin, progress=progress, whatever=path == "compiled")
        if not isinstance(attempt, str):
            return attempt.run()
        if path == "compiled":
            raise refused(attempt)
    return Simulation(workload, policy, trace=trace, progress=progress, bin=bin).run()


def refused(reason: str) -> HeadgateError:
    """The refusal of a simulation that is to be compiled and cannot."""
    return HeadgateError(f"compiled code cannot simulate this: {reason}", hint="choose the path auto or general")


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
        for name in (policy, *(change.policy for change in workload.changes if change.policy is not None)):
            check_isolated(name, self.workload)
        self.feeds = Feeds.of(self.workload)
        self.records = new_records(self.workload)
        self.scheduler = new_scheduler(self.workload, policy, trace)
        self.machine = SimulatedMachine(
            self.workload,
            self.feeds,
            self.records,
            heads=lambda number: self.scheduler.queue(number).head,
            detailed=self.workload.learn or trace is not None,
        )
        self.gauge = Gauge(bin)
        self._happenings = happenings(self.workload)
        self._progress = progress or (lambda share: None)
        self._delivered = 0
        self._busy = 0.0
        self._ending: list[tuple[float, int, Outcome]] = []  # runs under way by the time they end
        self._scheduling = 0.0
        self._counted = self._decided()  # what has been charged for; orders made before the run begins cost nothing
        self._sizes: dict[int, int] = {}  # bytes of a tuple, by queue
        self._undos: dict[WorkerId, Undo] = {}  # what was before the runs under way, if they may be cancelled
        self._cancelled, self._cancelled_seconds = 0, 0.0
        self._rewired(0.0)

    def run(self) -> Records:
        """Simulate to the end."""
        end = max(self._loop(), self.workload.duration)
        if not self.workload.drain:
            end = self.workload.duration
            forget_results_after(self.records.values(), end)
        return Records(
            queries=list(self.records.values()),
            priorities={name: query_class.priority for name, query_class in self.scheduler.network.classes.items()},
            queue=self.gauge.series(end),
            seconds=end,
            busy=self._busy,
            scheduling=self._scheduling,
            call_overhead=self.machine.call_overhead,
            run_overhead=self.scheduler.runs * self.workload.run_overhead,
            workers=self.workload.cores,
            decisions=self.scheduler.decisions,
            runs=self.scheduler.runs,
            tuples_in={name: len(times) for name, times in self.feeds.times.items()},
            unfinished=self.scheduler.waiting,
            updates=list(self.scheduler.policy.updates),
            cancelled=self._cancelled,
            cancelled_seconds=self._cancelled_seconds,
        )

    def _loop(self) -> float:
        """Let events happen in the order of time until nothing is left, or the stop; return the last event's time."""
        scheduler, gauge, ending = self.scheduler, self.gauge, self._ending
        stop = _NEVER if self.workload.drain else self.workload.duration
        idle: list[WorkerId] = list(range(self.workload.cores))
        now, wake = 0.0, _NEVER
        next_delivery, next_change = self._next_delivery(), self._next_change()
        while True:
            moment = ending[0][0] if ending else _NEVER
            if next_delivery < moment:
                moment = next_delivery
            if next_change < moment:
                moment = next_change
            if wake < moment:
                moment = wake
            if moment > stop or moment == _NEVER:
                # Runs under way at the stop are charged up to it.
                self._busy -= sum(min(end - stop, outcome.seconds) for end, _, outcome in ending)
                return now
            now = moment
            if gauge.next_sample < now:
                gauge.sample_before(now)
            while ending and ending[0][0] <= now:
                outcome = heappop(ending)[2]
                if outcome.produced:
                    self._deliver(outcome, now)
                scheduler.finished(outcome, now)
                idle.append(outcome.run.worker)
            if next_delivery <= now:
                next_delivery = self._arrive(now)
            if next_change <= now:
                next_change = self._change(now)
            if gauge.next_sample <= now:
                gauge.sample()
            horizon = min(next_delivery, next_change, gauge.next_sample, stop)
            if idle:
                now, wake, idle = self._give_work(idle, now, horizon)
            else:
                wake = _NEVER
            while self._preempts and not idle and (run := scheduler.to_cancel(now)) is not None:
                self._cancel(run, now)
                now, wake, idle = self._give_work([run.worker], now, horizon)

    def _give_work(self, asking: list[WorkerId], now: float, horizon: float) -> tuple[float, float, list[WorkerId]]:
        """Start runs on idle cores; return the time by now, when to ask again, and the cores that stay idle.

        A single core runs unit after unit up to the horizon, when something else happens. What is done for every run
        is written out here instead of called, because it is the hottest code of the simulator.
        """
        scheduler, machine, gauge, sizes = self.scheduler, self.machine, self.gauge, self._sizes
        charge, busy, preempts = self.workload.decision_cost, self._busy, self._preempts
        alone = self.workload.cores == 1 and not preempts  # where runs are cancelled, that is asked after each start
        idle: list[WorkerId] = []
        wake = _NEVER
        tuples = size = 0
        tuples_moment = size_moment = 0.0
        for worker in asking:
            run = scheduler.next(worker, now)
            while type(run) is Run:
                number, _, _, takes, _, _ = run  # taken apart: quicker than by name
                for queue, first, last in takes:
                    taken = last - first
                    tuples += taken
                    tuples_moment += taken * now
                    taken *= sizes[queue]
                    size += taken
                    size_moment += taken * now
                began = now + self._charge(charge) if charge else now
                if preempts:
                    self._undos[worker] = machine.undo(run)
                outcome = machine.execute(run, began)
                _, seconds, _, _, produced, _, _ = outcome
                busy += seconds
                end = began + seconds
                if not alone or end >= horizon:
                    heappush(self._ending, (end, number, outcome))
                    break
                now = end
                if produced:
                    gauge.take(tuples, tuples_moment, size, size_moment)  # before more comes: the maximum counts
                    tuples = size = 0
                    tuples_moment = size_moment = 0.0
                    self._deliver(outcome, now)
                scheduler.finished(outcome, now)
                run = scheduler.next(worker, now)
            else:
                idle.append(worker)
                wake = min(wake, _later(run, now))
        gauge.take(tuples, tuples_moment, size, size_moment)
        self._busy = busy
        return now, wake, idle

    def _cancel(self, run: Run, now: float) -> None:
        """Cancel a run for something more important: nothing of it remains but the time that it took."""
        place = next(place for place, (_, number, _) in enumerate(self._ending) if number == run.id)
        end, _, outcome = self._ending.pop(place)
        heapify(self._ending)
        self._undos.pop(run.worker).take_back()
        self.machine.forget(run)
        left = min(end - now, outcome.seconds)
        spent = outcome.seconds - left
        self._busy -= left
        self._cancelled += 1
        self._cancelled_seconds += spent
        self.scheduler.cancelled(Outcome(run, spent, GAVE_WAY), now)
        self._measure(now)

    def _arrive(self, now: float) -> float:
        """Deliver the tuples that have arrived by now; return the time of the next delivery."""
        deliveries = self.feeds.deliveries
        while self._delivered < len(deliveries):
            delivery = deliveries[self._delivered]
            if delivery.at > now:
                break
            self._delivered += 1
            self.scheduler.event(Arrived(delivery.stream, delivery.arrival, delivery.tuples), now)
            readers, size = self._readers[delivery.stream]
            self.gauge.change(readers * delivery.tuples, readers * delivery.tuples * size, now)
            if not self._delivered & 127:
                self._progress(min(1.0, now / self.workload.duration))
        return self._next_delivery()

    def _next_delivery(self) -> float:
        if self._delivered == len(self.feeds.deliveries):
            self.machine.floor = _NEVER
            return _NEVER
        self.machine.floor = self.feeds.floors[self._delivered]
        return self.feeds.deliveries[self._delivered].at

    def _change(self, now: float) -> float:
        """Apply the changes that are due by now; return the time of the next one."""
        while self._happenings and self._happenings[0].at <= now:
            happening = self._happenings.pop(0)
            for event in happening.events(self.scheduler.network, self.workload.learn):
                self.scheduler.event(event, now)
            happening.touch(self.machine, self.scheduler.network)
            happening.note(self.records, self.scheduler.network, now)
            self._rewired(now)
        return self._next_change()

    def _next_change(self) -> float:
        return self._happenings[0].at if self._happenings else _NEVER

    def _charge(self, per_decision: float) -> float:
        """Seconds for the priorities that were computed and compared since the last run."""
        done = self._decided()
        seconds = per_decision * max(0, done - self._counted)  # a policy that takes over begins at 0
        self._counted = done
        self._scheduling += seconds
        return seconds

    def _decided(self) -> int:
        """What the policy has computed and compared so far."""
        tally = self.scheduler.policy.tally
        return tally.computed + tally.compared

    def _deliver(self, outcome: Outcome, now: float) -> None:
        self.machine.deliver(outcome)
        for produced in outcome.produced:
            if produced.queue in self._sizes:  # else its query has been removed
                count = sum(tuples for _, tuples in produced.chunks)
                self.gauge.change(count, count * self._sizes[produced.queue], now)

    def _rewired(self, now: float) -> None:
        """Adapt to a network or policy that may have changed."""
        network = self.scheduler.network
        self.machine.follow(network)
        self.machine.tells_answers = self.scheduler.wants_answers
        self._preempts = self.scheduler.policy.isolation.preempt
        queues = [edge.stream for edge in network.edges.values()]
        self._readers = {name: (queues.count(name), stream.bytes) for name, stream in network.streams.items()}
        self._sizes.clear()
        self._sizes.update((queue.id, queue.log.size) for queue in self.scheduler.queues())
        self._measure(now)

    def _measure(self, now: float) -> None:
        """Let the gauge know what waits, when that has changed otherwise than by what comes and is taken."""
        waiting, nbytes = self.scheduler.waiting, sum(queue.nbytes for queue in self.scheduler.queues())
        self.gauge.change(waiting - self.gauge.tuples, nbytes - self.gauge.bytes, now)


def _later(idle: Run | Idle, now: float) -> float:
    return idle.until if isinstance(idle, Idle) and idle.until > now else _NEVER
