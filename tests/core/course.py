"""A random course of events with a plain model beside the scheduler: lists of what waits, and nothing kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from statistics import fmean

import pytest
from tests.core.builders import CLASSES, QUERIES

from headgate.core import (
    Arrived,
    Frontier,
    PolicyChanged,
    PriorityChanged,
    QueryAdded,
    QueryMoved,
    QueryRemoved,
    Scheduler,
    StatisticsChanged,
)
from headgate.core.units import CoreView
from headgate.model import Idle, Outcome, Produced, QueueId, Run, WorkerId
from headgate.plan.network import Network

WORKERS = 3
POLICIES = (
    "fcfs",
    "fcfs, train=all",
    "fifo",
    "fifo, schedule=3",
    "hr",
    "hr, level=operator",
    "lsf, level=operator, train=2",
    "bsd, level=operator, ratio=0.5, threshold=1",
    "chain",
    "mtiq",
    "path-capacity",
    "path-capacity, train=all",
    "path-capacity, quantum=5ms",
    "segment, quantum=5ms, threshold=1",
    "rr",
    "rr, unit=query, schedule=2",
    "rr, quantum=20ms",
    "wrr",
    "rr-rb",
    "rr-rb, level=path",
    "random",
    "random, level=operator, schedule=2",
    "baat, train=0.5",
    "aaat, traversal=min-latency, schedule=2",
    "aaat, traversal=min-memory",
    "fixed-priority, schedule=2",
    "slope-slack",
    "slope-slack, push=true",
    "bucketing, partitions=3, schedule=2",
    "bucketing, push=true, train=all",
    "adaptive, warmup=0s, explore=100ms, every=200ms, sample=50ms",
    "adaptive, warmup=0s, explore=50ms, every=100ms, candidates=[fcfs, hr, (hnr, schedule=2)], age=choices",
    "path-capacity, threshold=2",
    "segment",
    "segment, threshold=2, train=all",
    "simplified-segment, gamma=0.3, schedule=2",
    "hnr, sharing=pdt",
    "hr, level=path",
    "bsd, clusters=3, pruning=fagin",
    "bsd, clusters=2, batch=cluster",
    "bsd, clusters=3, pruning=fagin, batch=cluster, level=operator",
)


class Course:
    """Does one thing after another to a scheduler and says after each whether it agrees with the plain model."""

    def __init__(self, scheduler: Scheduler, seed: int, *, frontiers: bool = False) -> None:
        self.scheduler = scheduler
        self.random = Random(seed)
        self.frontiers = frontiers
        self.now = 0.0
        self.waiting: dict[QueueId, list[float]] = {queue: [] for queue in scheduler.network.edges}
        self.passed: dict[QueueId, int] = dict.fromkeys(scheduler.network.edges, 0)
        self.held_beyond: dict[QueueId, int] = {}
        self.results: dict[WorkerId, list[tuple[QueueId, list[float]]]] = {}

    # -- what may happen ---------------------------------------------------------------------------------------

    def step(self) -> None:
        self.now += self.random.randrange(3) / 64
        acts: list[Callable[[], None]] = [self.arrive] * 6 + [self.ask] * 8 + [self.finish] * 6
        acts += [self.add, self.remove, self.move, self.prioritize, self.change_policy, self.learn]
        acts += [self.hold] * (2 if self.frontiers else 0)
        self.random.choice(acts)()
        self.agree()

    def drain(self) -> None:
        """Let everything out that may be taken."""
        for queue in self.held_beyond:
            self._let(queue, self.passed[queue] + len(self.waiting[queue]))
        for _ in range(3000):
            if self.scheduler.idle:
                break
            self.now += 1 / 64
            self.ask()
            self.finish()
            for queue in self.held_beyond:
                self._let(queue, self.passed[queue] + len(self.waiting[queue]))
            self.agree()
        assert not any(self.waiting.values())
        assert self.scheduler.waiting == 0

    def arrive(self) -> None:
        stream, tuples = self.random.choice(sorted(self.network.streams)), self.random.randint(1, 3)
        self.scheduler.event(Arrived(stream, self.now, tuples), self.now)
        for edge in self.network.edges.values():
            if edge.stream == stream:
                self.waiting[edge.id] += [self.now] * tuples

    def ask(self) -> None:
        worker = self.random.randrange(WORKERS)
        if worker in self.scheduler.running:
            return
        able = self.able()
        run = self.scheduler.next(worker, self.now)
        if isinstance(run, Idle):
            assert not able
            return
        assert {unit.id for unit in run.units} <= able
        others = [other.calls for key, other in self.scheduler.running.items() if key != worker]
        assert all(set(run.calls).isdisjoint(calls) for calls in others)
        self.results[worker] = self._carry_out(run)

    def finish(self) -> None:
        if not self.scheduler.running:
            return
        worker = self.random.choice(sorted(self.scheduler.running))
        run, results = self.scheduler.running[worker], self.results.pop(worker)
        produced = tuple(Produced(queue, tuple((at, 1) for at in arrivals)) for queue, arrivals in results)
        self.scheduler.finished(Outcome(run, self.now - run.began, produced=produced), self.now)
        for queue, arrivals in results:
            if queue in self.waiting:
                self.waiting[queue] += arrivals

    def add(self) -> None:
        absent = [query for query in QUERIES if query.name not in self.network.queries]
        if absent:
            self.scheduler.event(QueryAdded(self.random.choice(absent)), self.now)
            self._rewired()

    def remove(self) -> None:
        # One that is under way stays: were it to come back meanwhile, what it still gives would be meant for it.
        busy = {name for run in self.scheduler.running.values() for unit in run.units for name in unit.queries}
        gone = sorted(self.network.queries.keys() - busy)
        if len(gone) > 1:
            self.scheduler.event(QueryRemoved(self.random.choice(gone)), self.now)
            self._rewired()

    def move(self) -> None:
        name, to = self.random.choice(sorted(self.network.queries)), self.random.choice(CLASSES).name
        self.scheduler.event(QueryMoved(name, to), self.now)

    def prioritize(self) -> None:
        name = self.random.choice(CLASSES).name
        self.scheduler.event(PriorityChanged(name, float(self.random.randint(1, 9))), self.now)

    def change_policy(self) -> None:
        self.scheduler.event(PolicyChanged(self.random.choice(POLICIES)), self.now)

    def learn(self) -> None:
        operator = self.random.choice(sorted(self.network.nodes))
        self.scheduler.event(StatisticsChanged(operator, self.random.random(), self.random.random()), self.now)
        self.scheduler.event(StatisticsChanged(stream="s", rate=self.random.random()), self.now)

    def hold(self) -> None:
        queue = self.random.choice(sorted(self.waiting))
        self._let(queue, self.passed[queue] + self.random.randint(0, len(self.waiting[queue])))

    # -- the plain model ---------------------------------------------------------------------------------------

    @property
    def network(self) -> Network:
        return self.scheduler.network

    @property
    def view(self) -> CoreView:
        return self.scheduler._view

    def may_be_taken(self, queue: QueueId) -> list[float]:
        free = self.held_beyond.get(queue, 1 << 60) - self.passed[queue]
        return self.waiting[queue][: max(0, free)]

    def able(self) -> set[int]:
        """Units for which something waits and whose operators nobody else is using."""
        used = {call for run in self.scheduler.running.values() for call in run.calls}
        return {
            number
            for number, unit in self.view.units.items()
            if used.isdisjoint(unit.calls) and any(map(self.may_be_taken, unit.queues))
        }

    def agree(self) -> None:
        assert set(self.view.ready) == self.able()
        assert {queue.id for queue in self.scheduler.queues()} == set(self.waiting)
        for queue in self.scheduler.queues():
            free = self.may_be_taken(queue.id)
            assert len(queue) == len(free)
            assert queue.head == (free[0] if free else math.inf)
            assert queue.mean == (pytest.approx(fmean(free)) if free else math.inf)
            assert self.view.queue(queue.id) is queue
            assert queue.nbytes == len(free) * queue.log.size
        for unit in self.view.units.values():
            free = [arrival for queue in unit.queues for arrival in self.may_be_taken(queue)[:1]]
            assert self.view.oldest(unit) == min(free, default=math.inf)
            assert self.view.waiting(unit) == sum(len(self.may_be_taken(queue)) for queue in unit.queues)

    def _let(self, queue: QueueId, upto: int) -> None:
        self.scheduler.event(Frontier(queue, upto), self.now)
        self.held_beyond[queue] = upto

    def _rewired(self) -> None:
        for kept in (self.waiting, self.passed, self.held_beyond):
            for queue in kept.keys() - self.network.edges.keys():
                del kept[queue]
        for edge in self.network.edges.values():
            if edge.id not in self.waiting:
                self.waiting[edge.id] = []
                self.passed[edge.id] = self.scheduler.queue(edge.id).position

    def _carry_out(self, run: Run) -> list[tuple[QueueId, list[float]]]:
        """Take what the run takes and put half of it through every operator."""
        inside: dict[QueueId, list[float]] = {queue: [] for unit in run.units for queue in unit.queues}
        outside: dict[QueueId, list[float]] = {}
        for queue, first, behind in run.takes:
            assert first == self.passed[queue]
            taken = self.may_be_taken(queue)[: behind - first]
            assert len(taken) == behind - first > 0
            del self.waiting[queue][: behind - first]
            self.passed[queue] = behind
            inside[queue] += taken
        for call in run.calls:
            node = self.network.nodes[call]
            given = sorted(arrival for queue in node.queues for arrival in inside.pop(queue, ()))
            passing = [arrival for arrival in given if self.random.random() < 0.5]
            for queue in node.consumers:
                (inside if queue in inside else outside).setdefault(queue, []).extend(passing)
        assert not any(inside.values())
        return [(queue, sorted(arrivals)) for queue, arrivals in outside.items() if arrivals]
