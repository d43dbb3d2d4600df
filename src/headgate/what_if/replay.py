"""A replay: the scheduler is driven in virtual time over recorded arrivals, and runs take what was learned of them.

Like an engine, it frees a worker when a run has been evaluated, and unblocks its unit when its results are committed.
At every moment first runs that end, then tuples that arrive, then windows that close and what else changes; then free
workers are given runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush, merge
from typing import NamedTuple

from headgate.core import Arrived, Event, Frontier, PolicyChanged, PriorityChanged, QueryAdded, StatisticsChanged
from headgate.model import Answered, Idle, Outcome, QueueId, Run, WorkerId
from headgate.stats.average import ExponentialAverage
from headgate.what_if.executed import Executed, Machine
from headgate.what_if.job_work import JobMachine, JobWork, check_whole
from headgate.what_if.learned import Learned
from headgate.what_if.operator_work import OperatorMachine
from headgate.what_if.question import Changed, scheduler_for, workers_of
from headgate.what_if.response_times import Judged, ResponseTimes
from headgate.what_if.similar import most_similar
from headgate.what_if.sinks import Outboxes
from headgate.what_if.stream_arrivals import StreamArrivals, scaled
from headgate.what_if.windows import Releases, every, held_queues, slide_of

Progress = Callable[[float], None]
_NEVER = math.inf
_ENDED, _ARRIVED, _CHANGED, _WAKE = range(4)  # what happens first at one moment
GAVE_WAY = "cancelled for something more important"
ENOUGH = 4000  # runs, in all rounds of a replay
ROUNDS = 9  # at most
SEEDS = 1_000_003  # between the seeds of two rounds, so that other seeds have other rounds
RATES = 1.0  # seconds over which an engine measures a stream's rate


class _Active(NamedTuple):
    run: Run
    executed: Executed
    began: float


class _Meter:
    """A stream's rate, as an engine measures it."""

    def __init__(self, since: float) -> None:
        self.since, self.tuples, self.rate = since, 0, ExponentialAverage()


def replay(learned: Learned, policy: str | None, changed: Changed, progress: Progress | None = None) -> Judged:
    """What would have become of the recorded time under a policy; None: the recorded one, its changes included.

    A short history of an engine is replayed several times, with other random numbers, and all results are told
    together: in a few runs, those that happen to be slow decide too much.
    """
    times, delays = ResponseTimes(), ResponseTimes()
    rounds = min(ROUNDS, max(1, -(-ENOUGH // learned.runs))) if learned.on_spark else 1
    told = progress or (lambda share: None)
    for number in range(rounds):
        again = replace(changed, seed=changed.seed + SEEDS * number)
        done = Replay(learned, policy, again, times, 1.0 / rounds, partial(_told, told, number, rounds))
        done.run()
        delays.extend(done.outboxes.delays)
    last = learned.settings.last
    queries = dict(last.queries) | {query.name: query for query in changed.added}
    return Judged.of(str(done.scheduler.policy), times, queries, last.classes, delays)


def _told(progress: Progress, number: int, rounds: int, share: float) -> None:
    progress((number + share) / rounds)


class Replay:
    """One replay in progress."""

    def __init__(
        self,
        learned: Learned,
        policy: str | None,
        changed: Changed,
        times: ResponseTimes,
        weight: float = 1.0,
        progress: Progress | None = None,
    ) -> None:
        self._learned, self._policy, self._changed = learned, policy, changed
        self._times, self._weight = times, weight  # what a result counts
        self._progress = progress or (lambda share: None)
        self.scheduler = scheduler_for(learned, policy, changed)
        self._chunks = {stream: scaled(chunks, changed.rate) for stream, chunks in learned.arrivals.items()}
        self._arrivals = {stream: StreamArrivals.of(chunks) for stream, chunks in self._chunks.items()}
        self._releases = _releases(learned, changed)
        self._machine = self._make_machine()
        self._free = workers_of(learned, changed)
        self._active: dict[WorkerId, _Active] = {}  # until they are committed
        self._evaluating: dict[int, _Active] = {}  # by run, until their worker is free
        self._heap: list[tuple[float, int, int, Callable[[float], None]]] = []
        self._sequence = 0
        self._wakes_at = _NEVER
        self._meters: dict[str, _Meter] = {}
        self.outboxes = Outboxes(
            learned.sinks, changed.seed, lambda at, happen: self._at(at, _CHANGED, happen), self._stop, self._go_on
        )
        self._stopped: set[str] = set()  # queries that wait for their sinks
        self._limits: dict[QueueId, int] = {}  # how far queues may be read that have windows, for when they go on
        self._resumed: dict[str, list[QueueId]] = {}  # queues by stream that were held: they must be told how far to go
        self._hold(self.scheduler.network.queries)
        self._rewired()

    # -- time --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Replay to the end."""
        learned = self._learned
        stop = _NEVER if learned.drained else learned.ended
        coming = self._coming()
        following = next(coming, None)
        length = max(1e-9, learned.ended - learned.began)
        steps = 0
        while True:
            now = min(following[0] if following else _NEVER, self._heap[0][0] if self._heap else _NEVER)
            if now == _NEVER or now > stop:
                return
            while self._heap and self._heap[0][0] <= now and self._heap[0][1] == _ENDED:
                heappop(self._heap)[3](now)
            while following is not None and following[0] <= now:
                following[2](now)
                following = next(coming, None)
            while self._heap and self._heap[0][0] <= now:
                heappop(self._heap)[3](now)
            self._give_work(now)
            steps += 1
            if not steps & 255:
                self._progress(min(1.0, (now - learned.began) / length))

    def _at(self, moment: float, kind: int, happen: Callable[[float], None]) -> None:
        self._sequence += 1
        heappush(self._heap, (moment, kind, self._sequence, happen))

    def _coming(self) -> Iterator[tuple[float, int, Callable[[float], None]]]:
        """Arrivals, closing windows and changes, in the order of time."""
        arrivals = [self._arriving(stream, chunks) for stream, chunks in self._chunks.items()]
        closings: list[tuple[float, int, Callable[[float], None]]] = []
        by_time: dict[float, list[str]] = {}
        for query, releases in self._releases.items():
            for moment in releases.times:
                by_time.setdefault(moment, []).append(query)
        for moment, queries in sorted(by_time.items()):
            closings.append((moment, _CHANGED, self._closing(queries)))
        changes = [(at, _CHANGED, self._changing(event)) for at, event in self._learned.changes]
        return merge(*arrivals, closings, changes, key=lambda entry: (entry[0], entry[1]))

    def _arriving(
        self, stream: str, chunks: Iterable[tuple[float, int]]
    ) -> Iterator[tuple[float, int, Callable[[float], None]]]:
        for arrival, count in chunks:

            def happen(now: float, arrival: float = arrival, count: int = count) -> None:
                self.scheduler.event(Arrived(stream, arrival, count), now)
                for queue in self._resumed.get(stream, ()):
                    self.scheduler.event(Frontier(queue, self.scheduler.queue(queue).log.end), now)
                if self._learned.on_spark:
                    self._measure_rate(stream, count, now)

            yield arrival, _ARRIVED, happen

    def _measure_rate(self, stream: str, count: int, now: float) -> None:
        meter = self._meters.setdefault(stream, _Meter(now))
        meter.tuples += count
        if now - meter.since >= RATES:
            rate = meter.rate.add(meter.tuples / (now - meter.since))
            meter.since, meter.tuples = now, 0
            self.scheduler.event(StatisticsChanged(stream=stream, rate=rate), now)

    # -- what changes ------------------------------------------------------------------------------------------

    def _closing(self, queries: list[str]) -> Callable[[float], None]:
        def happen(now: float) -> None:
            network = self.scheduler.network
            for query in queries:
                if query in network.queries:
                    for queue in held_queues(network, query):
                        self._limits[queue] = end = self.scheduler.queue(queue).log.end
                        if query not in self._stopped:
                            self.scheduler.event(Frontier(queue, end), now)

        return happen

    def _stop(self, query: str, now: float) -> None:
        """Let a query take no more tuples: its sink has too much to take."""
        if query in self.scheduler.network.queries:
            self._stopped.add(query)
            for queue in self._queues(query):
                self.scheduler.event(Frontier(queue, self.scheduler.queue(queue).position), now)
                for queues in self._resumed.values():
                    if queue in queues:
                        queues.remove(queue)

    def _go_on(self, query: str, now: float) -> None:
        """Let a query take tuples again that was stopped."""
        self._stopped.discard(query)
        network = self.scheduler.network
        if query not in network.queries:
            return
        held = held_queues(network, query) if query in self._releases else []
        for queue in self._queues(query):
            end = self._limits.get(queue, 0) if queue in held else self.scheduler.queue(queue).log.end
            self.scheduler.event(Frontier(queue, end), now)
            if queue not in held:
                self._resumed.setdefault(network.edges[queue].stream or "", []).append(queue)

    def _queues(self, query: str) -> list[QueueId]:
        return list(dict.fromkeys(self.scheduler.network.leaves(query).values()))

    def _changing(self, event: Event) -> Callable[[float], None]:
        def happen(now: float) -> None:
            scheduler, changed = self.scheduler, self._changed
            if isinstance(event, PolicyChanged) and (self._policy is not None or changed.fuse is not None):
                return  # what is asked for decides all the time
            if isinstance(event, PriorityChanged) and event.query_class in changed.priorities:
                return
            scheduler.event(changed.applied_to(event), now)
            if isinstance(event, QueryAdded):
                self._hold([event.query.name])
            self._rewired()

        return happen

    def _hold(self, queries: Iterable[str]) -> None:
        """From now on tuples of these queries wait for their windows."""
        for query in queries:
            if query in self._releases:
                for queue in held_queues(self.scheduler.network, query):
                    self.scheduler.event(Frontier(queue, self.scheduler.queue(queue).position), self._learned.began)

    def _rewired(self) -> None:
        self._machine.follow(self.scheduler.network)
        if self._learned.on_spark:
            check_whole(list(self.scheduler.units), str(self.scheduler.policy))

    def _make_machine(self) -> Machine:
        work = self._learned.work
        if isinstance(work, JobWork):
            return JobMachine(work, self._arrivals, self._releases, self._changed.seed)
        return OperatorMachine(work, self._arrivals, self._changed.seed)

    # -- runs --------------------------------------------------------------------------------------------------

    def _give_work(self, now: float) -> None:
        while self._free:
            slot = next(number for number in range(len(self._active) + 1) if number not in self._active)
            run = self.scheduler.next(slot, now)
            if isinstance(run, Idle):
                if now < run.until < self._wakes_at:
                    self._wakes_at = run.until
                    self._at(run.until, _WAKE, self._wake)
                return
            self._start(run, now)
        if self.scheduler.policy.isolation.preempt:
            self._make_room(now)

    def _wake(self, now: float) -> None:
        self._wakes_at = _NEVER

    def _start(self, run: Run, now: float) -> None:
        executed = self._machine.execute(run, now, len(self._evaluating), self.scheduler.measured.fixed(run))
        active = self._active[run.worker] = self._evaluating[run.id] = _Active(run, executed, now)
        self._free -= 1
        evaluated = now + executed.seconds
        if executed.commit > 0:
            self._at(evaluated, _ENDED, lambda then: self._evaluated(active, then))
        self._at(evaluated + executed.commit, _ENDED, lambda then: self._ended(active, then))

    def _evaluated(self, active: _Active, now: float) -> None:
        """A worker is free again; the run's results are being committed."""
        if self._evaluating.pop(active.run.id, None) is not None:  # else it was cancelled
            self._free += 1
            self.scheduler.freed(active.run, now)

    def _ended(self, active: _Active, now: float) -> None:
        run, executed = active.run, active.executed
        if self._active.get(run.worker) is not active:
            return  # it was cancelled
        if self._evaluating.pop(run.id, None) is not None:
            self._free += 1
        del self._active[run.worker]
        self._machine.finished(run)
        answered: dict[str, list[float]] = {}
        results: dict[str, float] = {}
        for query, count, arrival, emitted in executed.results:
            seconds = (now if emitted is None else emitted) - arrival
            self._times.add(query, seconds, self._weight * count)
            answered.setdefault(query, []).append(seconds)
            results[query] = results.get(query, 0.0) + count
        for query, count in results.items():
            self.outboxes.put(query, count, now)
        told = tuple(Answered(query, tuple(times)) for query, times in answered.items())
        self.scheduler.finished(
            Outcome(run, executed.seconds, None, executed.operators, executed.produced, told, executed.work), now
        )

    def _make_room(self, now: float) -> None:
        """Cancel runs for something more important, while the scheduler finds it worth it."""
        while not self._free and (run := self.scheduler.to_cancel(now)) is not None:
            active = self._evaluating.pop(run.id, None)
            if active is None:
                return
            del self._active[run.worker]
            self._machine.cancelled(run)
            self.scheduler.cancelled(Outcome(run, now - active.began, GAVE_WAY), now)
            self._free += 1
            following = self.scheduler.next(run.worker, now)
            if isinstance(following, Idle):
                return
            self._start(following, now)


def _releases(learned: Learned, changed: Changed) -> Mapping[str, Releases]:
    """When windows close, those of added queries included; none where tuples never wait for windows."""
    if not isinstance(learned.work, JobWork):
        return {}
    found = dict(learned.work.releases)
    recorded = list(learned.work.queries.values())
    for query in changed.added:
        slide = slide_of(query.plan)
        if slide is None:
            continue
        like = most_similar(query, recorded)
        known = found.get(like.name)
        same = known is not None and slide_of(like.plan) == slide
        times = known.times if known is not None and same else every(slide, [], learned.began, learned.ended)
        found[query.name] = Releases(tuple(times), known.lag if known is not None else 0.0)
    return found
