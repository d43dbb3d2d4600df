"""What every result of a workload needs to be done for it, whoever schedules.

The operators are carried out in the order of arrivals, without cores and time. Which results there are does not depend
on the schedule: outcomes belong to tuples. The work for a tuple that leads to no result is needed by nobody, and what
several results need is charged to each of them in equal parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headgate.model import HeadgateError, OperatorId, QueueId
from headgate.plan.network import Network, Node
from headgate.sim.bounds.jobs import Floats, Jobs
from headgate.sim.effects import effects
from headgate.sim.feeds import Feeds
from headgate.sim.load import scaled
from headgate.sim.operators import Effect, SimulatedTuple, WindowJoin
from headgate.workload import Workload

_NONE = -1
_Item = tuple[SimulatedTuple, float, int]  # when it can be worked on, and the last piece of work done for it


@dataclass(frozen=True, slots=True, eq=False)
class NeededWork:
    """All results of a workload as jobs, with what their measures need; one entry each."""

    jobs: Jobs
    arrival: Floats
    reference: Floats
    query: list[str]


def needed_work(workload: Workload) -> NeededWork:
    """The results of a workload, and what each of them needs; refused where that depends on the schedule."""
    _check(workload)
    given = scaled(workload)
    feeds, network = Feeds.of(given), given.network()
    works = _Works(network, given, effects(network, given, feeds, ()))
    for node in _in_order(network):
        works.carry_out(node, _inputs(node, network, feeds, works))
    return works.needed()


def _check(workload: Workload) -> None:
    reasons = {
        "operators change while it runs": any(
            c.cost is not None or c.selectivity is not None for c in workload.changes
        ),
        "queries begin or end while it runs": any(q.start > 0 or q.end < np.inf for q in workload.queries),
        "it ends before all work is done": not workload.drain,
    }
    for reason, applies in reasons.items():
        if applies:
            hint = "leave that out to have one"
            raise HeadgateError(f"workload '{workload.name}' has no lower bound, as {reason}", hint=hint)


@dataclass(slots=True)
class _Works:
    """The pieces of work, each behind the one whose result it takes, and the results of queries."""

    network: Network
    workload: Workload
    behaviour: dict[OperatorId, Effect]
    cost: list[float] = field(default_factory=list)
    overhead: list[float] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    outputs: dict[QueueId, list[_Item]] = field(default_factory=dict)
    results: list[tuple[str, _Item]] = field(default_factory=list)

    def carry_out(self, node: Node, inputs: Iterator[tuple[int, _Item]]) -> None:
        """Let an operator work through its inputs, and keep what it gives and what that took."""
        effect, given = self.behaviour[node.id], node.operator.given
        made: list[_Item] = []
        for port, (item, release, last) in inputs:
            found = effect.results(item, port)
            if isinstance(effect, WindowJoin) and effect.crowded(port):
                for side in (0, 1):
                    effect.expire(side, item.arrival)
            if not found:
                continue
            self.cost.append(given.cost * (1.0 - self.workload.noise))
            self.overhead.append(given.overhead)
            self.before.append(last)
            made.extend((result, release, len(self.cost) - 1) for result in found)
        self.outputs.update((queue, made) for queue in node.consumers)
        self.results.extend((query, item) for query in node.emits for item in made)

    def needed(self) -> NeededWork:
        ends = np.array([last for _, (_, _, last) in self.results], dtype=np.int64)
        shares, whole = self._sums(ends)
        jobs = Jobs(
            np.array([release for _, (_, release, _) in self.results]),
            shares[ends],
            whole[ends] + self.workload.run_overhead,
        )
        items = [item for _, (item, _, _) in self.results]
        arrival, reference = (np.array([getattr(item, name) for item in items]) for name in ("arrival", "reference"))
        return NeededWork(jobs, arrival, reference, [query for query, _ in self.results])

    def _sums(self, ends: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Up to each piece of work: the seconds that one result is charged for, and the seconds that all takes."""
        users = np.bincount(ends, minlength=len(self.cost)).tolist() if len(ends) else [0] * len(self.cost)
        for piece in range(len(self.cost) - 1, -1, -1):  # what comes later is behind what came before
            if self.before[piece] != _NONE:
                users[self.before[piece]] += users[piece]
        shares, whole = np.zeros(len(self.cost) + 1), np.zeros(len(self.cost) + 1)  # the last is that of no work
        for piece, before in enumerate(self.before):
            shares[piece] = shares[before] + (self.cost[piece] / users[piece] if users[piece] else 0.0)
            whole[piece] = whole[before] + self.cost[piece] + self.overhead[piece]
        return shares, whole


def _inputs(node: Node, network: Network, feeds: Feeds, works: _Works) -> Iterator[tuple[int, _Item]]:
    """The tuples of all inputs in the order of their arrivals, with the input they come to."""
    inputs = [(port, item) for port, queue in enumerate(node.queues) for item in _of(queue, network, feeds, works)]
    if len(node.queues) > 1:
        inputs.sort(key=lambda entry: entry[1][0].arrival)
    return iter(inputs)


def _of(queue: QueueId, network: Network, feeds: Feeds, works: _Works) -> list[_Item]:
    stream = network.edges[queue].stream
    if stream is None:
        return works.outputs[queue]
    releases = [at.at for at in feeds.deliveries if at.stream == stream for _ in range(at.tuples)]
    return [
        (SimulatedTuple(offset, arrival, arrival), release, _NONE)
        for offset, (arrival, release) in enumerate(zip(feeds.times[stream], releases, strict=True))
    ]


def _in_order(network: Network) -> Iterator[Node]:
    """Operators, each behind those whose results it takes."""
    done: set[OperatorId] = set()

    def up_to(node: Node) -> Iterator[Node]:
        if node.id in done:
            return
        done.add(node.id)
        for queue in node.queues:
            producer = network.edges[queue].producer
            if producer is not None:
                yield from up_to(network.nodes[producer])
        yield node

    for node in network.nodes.values():
        yield from up_to(node)
