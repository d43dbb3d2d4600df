"""The model of `workloads/sharaf.toml` written directly in SimPy, one server for each policy: the least that does it.

Queries are chains of filters on one stream. A filter's outcome is drawn when a tuple is worked on; filters that name an
attribute look at the tuple's number for it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Generator, Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np
import simpy

from headgate.model import Given, Operator, Select, Source, TableJoin
from headgate.policies.classes.mbd import MultiCoreBroadcastDisks
from headgate.sim.feeds import times_of
from headgate.sim.load import scaled
from headgate.sim.policy_fit import ideal_times
from headgate.sim.setting_up import new_scheduler
from headgate.workload import Workload

Step = Generator[Any, Any, None]
Tuple = tuple[float, dict[str, float]]  # arrival, and numbers by attribute


class Model:
    """Queries with their queues, arrivals, and what results took."""

    def __init__(self, workload: Workload) -> None:
        self.workload = scaled(workload)
        self.filters = [list(_filters(query.plan)) for query in self.workload.queries]
        self.queues: list[deque[Tuple]] = [deque() for _ in self.filters]
        self.env = simpy.Environment()
        self.waker = self.env.event()
        self.rng = random.Random(1)
        self.responses: list[float] = []
        self.executions = 0

    def run(self, server: Callable[[], Step], arrived: Callable[[Tuple], None]) -> int:
        self.env.process(self._source(arrived))
        self.env.process(server())
        self.env.run()
        assert self.responses
        return self.executions

    def _source(self, arrived: Callable[[Tuple], None]) -> Step:
        (stream,) = self.workload.streams
        for moment in times_of(stream, self.workload).tolist():
            yield self.env.timeout(moment - self.env.now)
            arrived((self.env.now, {}))
            if not self.waker.triggered:
                self.waker.succeed()

    def sleep(self) -> simpy.Event:
        self.waker = self.env.event()
        return self.waker

    def passes(self, given: Given, item: Tuple) -> bool:
        if given.selectivity is None:
            return True
        if given.attribute is None:
            return self.rng.random() < given.selectivity
        number = item[1].setdefault(given.attribute, self.rng.random())
        return number < given.selectivity

    def work(self, query: int, item: Tuple) -> tuple[float, bool]:
        """Seconds that a tuple takes in a query, and whether it is a result."""
        seconds = 0.0
        for given in self.filters[query]:
            seconds += given.cost
            if not self.passes(given, item):
                return seconds, False
        return seconds, True


def run(workload: Workload, policy: str) -> int:
    """Simulate; how many tuple executions it took."""
    return {"fcfs": by_heap, "hnr": by_heap, "bsd": by_scan, "rr": by_operators, "mbd": by_slots}[policy](
        Model(workload), policy
    )


def by_heap(model: Model, policy: str) -> int:
    """The oldest head, or a fixed priority: a heap of ready queries."""
    static = [-rate for rate in _normalized_rates(model)] if policy == "hnr" else None
    ready: list[tuple[float, int]] = []

    def arrived(item: Tuple) -> None:
        for query, queue in enumerate(model.queues):
            queue.append(item)
            if len(queue) == 1:
                heappush(ready, (static[query] if static else item[0], query))

    def server() -> Step:
        while True:
            if not ready:
                yield model.sleep()
            _, query = heappop(ready)
            queue = model.queues[query]
            item = queue[0]  # it leaves when it is done, so that the query is not ready twice
            seconds, result = model.work(query, item)
            yield model.env.timeout(seconds)
            queue.popleft()
            model.executions += 1
            if result:
                model.responses.append(model.env.now - item[0])
            if queue:
                heappush(ready, (static[query] if static else queue[0][0], query))

    return model.run(server, arrived)


def by_scan(model: Model, policy: str) -> int:
    """Priorities that grow with the wait: one numpy pass over all queries at every decision."""
    ideal = list(ideal_times(model.workload).values())
    slopes = np.array([rate / time for rate, time in zip(_normalized_rates(model), ideal, strict=True)])
    heads = np.full(len(model.queues), np.inf)

    def arrived(item: Tuple) -> None:
        for query, queue in enumerate(model.queues):
            queue.append(item)
            if len(queue) == 1:
                heads[query] = item[0]

    def server() -> Step:
        while True:
            query = int(((model.env.now - heads) * slopes).argmax())
            if heads[query] == np.inf:
                yield model.sleep()
                continue
            queue = model.queues[query]
            item = queue[0]
            seconds, result = model.work(query, item)
            yield model.env.timeout(seconds)
            queue.popleft()
            model.executions += 1
            if result:
                model.responses.append(model.env.now - item[0])
            heads[query] = queue[0][0] if queue else np.inf

    return model.run(server, arrived)


def by_operators(model: Model, policy: str) -> int:
    """Operators take turns, one tuple each."""
    first = [sum(map(len, model.filters[:query])) for query in range(len(model.filters))]
    operators = [given for filters in model.filters for given in filters]
    last = {start + len(filters) - 1 for start, filters in zip(first, model.filters, strict=True)}
    queues: list[deque[Tuple]] = [deque() for _ in operators]
    ready: deque[int] = deque()

    def put(number: int, item: Tuple) -> None:
        queues[number].append(item)
        if len(queues[number]) == 1:
            ready.append(number)

    def arrived(item: Tuple) -> None:
        for number in first:
            put(number, item)
        model.executions += len(first)

    def server() -> Step:
        while True:
            if not ready:
                yield model.sleep()
            number = ready.popleft()
            item = queues[number][0]
            yield model.env.timeout(operators[number].cost)
            queues[number].popleft()
            if model.passes(operators[number], item):
                if number in last:
                    model.responses.append(model.env.now - item[0])
                else:
                    put(number + 1, item)
            if queues[number]:
                ready.append(number)

    return model.run(server, arrived)


def by_slots(model: Model, policy: str) -> int:
    """Queries take turns in a cycle of slots, each on all that waits for it."""
    disks = new_scheduler(model.workload, policy).policy
    assert isinstance(disks, MultiCoreBroadcastDisks)
    slots = disks.round
    waiting = 0

    def arrived(item: Tuple) -> None:
        nonlocal waiting
        for queue in model.queues:
            queue.append(item)
        waiting += len(model.queues)

    def server() -> Step:
        nonlocal waiting
        place = 0
        while True:
            if not waiting:
                yield model.sleep()
            while not model.queues[slots[place]]:
                place = (place + 1) % len(slots)
            query = slots[place]
            place = (place + 1) % len(slots)
            train, model.queues[query] = model.queues[query], deque()
            waiting -= len(train)
            began, seconds = model.env.now, 0.0
            for item in train:
                more, result = model.work(query, item)
                seconds += more
                if result:
                    model.responses.append(began + seconds - item[0])
            model.executions += len(train)
            yield model.env.timeout(seconds)

    return model.run(server, arrived)


def _filters(plan: Operator) -> Iterator[Given]:
    """The filters of a chain, the first one first."""
    (child,) = plan.inputs
    if not isinstance(child, Source):
        yield from _filters(child)
    yield plan.given if isinstance(plan, Select | TableJoin) else Given(cost=plan.given.cost)


def _normalized_rates(model: Model) -> list[float]:
    """Results per second of work, over the ideal time."""
    rates = []
    for filters, ideal in zip(model.filters, ideal_times(model.workload).values(), strict=True):
        reached, cost = 1.0, 0.0
        for given in filters:
            cost += reached * given.cost
            reached *= 1.0 if given.selectivity is None else given.selectivity
        rates.append(reached / cost / ideal)
    return rates
