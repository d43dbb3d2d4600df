"""Source cores that go from source to source (Al Moakar 2013, sections 2.2.2 and 6.3.6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping
from heapq import heapify, heappop, heappush

from headgate.model import Source, walk
from headgate.policies.classes.ranking import whole
from headgate.policies.classes.spreading import spread
from headgate.policies.rotation import Rotation
from headgate.sim.arrivals import Times
from headgate.workload import Workload

Read = tuple[str, float, float]  # stream, arrival, and when it has been read


def turns(workload: Workload, times: Mapping[str, Times], batches: Mapping[str, int]) -> Iterator[Read]:
    """What the source cores read, and when: a turn reads all that has come, a source is read by one core at a time.

    A source whose tuples cost nothing needs no turn.
    """
    costs = {stream.name: stream.source_cost * batches[stream.name] for stream in workload.streams}
    arrivals = {name: times[name].tolist() for name in costs}
    for name, cost in costs.items():
        if not cost:
            yield from ((name, moment, moment) for moment in arrivals[name])
    yield from _Cores(workload, {name: cost for name, cost in costs.items() if cost}, arrivals).reads()


def cycle(workload: Workload) -> list[str]:
    """One round of sources: each once, or spread out, as often as the priority of the highest class that reads it."""
    names = [stream.name for stream in workload.streams]
    if workload.sources == "rr":
        return names
    priorities = {one.name: one.priority for one in workload.classes}
    worth = dict.fromkeys(names, min(priorities.values(), default=1.0))
    for query in workload.queries:
        for node in walk(query.plan):
            if isinstance(node, Source):
                worth[node.stream] = max(worth[node.stream], priorities[query.query_class])
    return spread(whole({name: worth[name] or 1.0 for name in sorted(names, key=lambda name: -worth[name])}))


class _Cores:
    """The source cores at work."""

    def __init__(self, workload: Workload, costs: Mapping[str, float], arrivals: Mapping[str, list[float]]) -> None:
        self._costs = costs
        self._overheads = {stream.name: stream.source_overhead for stream in workload.streams}
        self._arrivals = arrivals
        self._next = dict.fromkeys(costs, 0)  # place of the first tuple that has not been read
        self._turns: Rotation[str] = Rotation([name for name in cycle(workload) if name in costs])
        self._asleep = [(arrivals[name][0], name) for name in costs if arrivals[name]]  # when there is something again
        heapify(self._asleep)
        self._free = [(0.0, core) for core in range(workload.source_cores)]

    def reads(self) -> Iterator[Read]:
        while True:
            now, core = heappop(self._free)
            while self._asleep and self._asleep[0][0] <= now:
                self._turns.wake(heappop(self._asleep)[1])
            name = self._turns.next(lambda name: True)
            if name is not None:
                end = yield from self._read(name, now)
                heappush(self._free, (end, core))
            elif self._asleep:
                heappush(self._free, (self._asleep[0][0], core))
            else:
                return

    def _read(self, name: str, now: float) -> Generator[Read, None, float]:
        """One turn."""
        arrivals, cost, first = self._arrivals[name], self._costs[name], self._next[name]
        behind = bisect_right(arrivals, now, first)
        now += self._overheads[name]
        for place in range(first, behind):
            now += cost
            yield name, arrivals[place], now
        self._next[name] = behind
        if behind < len(arrivals):
            heappush(self._asleep, (max(now, arrivals[behind]), name))
        return now
