"""Carries out runs on simulated tuples.

Each operator call costs its overhead plus cost × tuples; results leave one by one as the last operator works through
its train, so latencies differ within a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import groupby

from headgate.metrics import QueryRecords
from headgate.model import (
    Answered,
    OperatorId,
    OperatorOutcome,
    Outcome,
    Produced,
    QueryId,
    QueueId,
    Run,
    Unit,
    UnitId,
    WorkerId,
)
from headgate.plan.network import Network, Node
from headgate.sim.chain import MOST_FILTERS, NOT_A_CHAIN, FilterChain
from headgate.sim.draws import Always, Drawn, Noise
from headgate.sim.effects import effects, lasting_name
from headgate.sim.feeds import Feeds
from headgate.sim.operators import Effect, Filter, SimulatedTuple, WindowAggregate, WindowJoin
from headgate.sim.undo import Undo
from headgate.workload import Workload

_NEVER = float("inf")
_new = tuple.__new__  # a named tuple's own constructor takes twice as long


class Work:
    """One operator at work: its costs, what it does, and where its results go."""

    __slots__ = ("cost", "effect", "node", "noise", "overhead")

    def __init__(self, node: Node, effect: Effect, noise: Noise | None) -> None:
        self.node = node
        self.effect = effect
        self.noise = noise
        self.cost = node.operator.given.cost
        self.overhead = node.operator.given.overhead

    def seconds(self, item: SimulatedTuple) -> float:
        return self.cost if self.noise is None else self.cost * self.noise.factor(item.identity)


class SimulatedMachine:
    """The simulated operators, the tuples between them, and the results they give."""

    def __init__(
        self,
        workload: Workload,
        feeds: Feeds,
        records: dict[QueryId, QueryRecords],
        heads: Callable[[QueueId], float],
        detailed: bool,
    ) -> None:
        self.tells_answers = False  # tell response times with outcomes; set by the simulator
        self.call_overhead = 0.0  # seconds of all calls so far, what they did with tuples aside
        self.floor = 0.0  # the earliest arrival among tuples not yet delivered; set by the simulator
        self._heads = heads  # arrival of the tuple at the head of a queue: the scheduler knows
        self._workload = workload
        self._run_overhead = workload.run_overhead
        self._feeds = feeds
        self._records = records
        self._detailed = detailed  # tell what every operator did
        self._works: dict[OperatorId, Work] = {}
        self._stores: dict[QueueId, deque[SimulatedTuple]] = {}
        self._in_flight: dict[WorkerId, tuple[float, list[tuple[QueueId, list[SimulatedTuple]]]]] = {}
        self._chains: dict[UnitId, FilterChain] = {}

    def follow(self, network: Network) -> None:
        """Take up operators that are new and drop those that are gone; the others keep their windows."""
        self._network = network
        self._chains.clear()
        fresh = effects(network, self._workload, self._feeds, self._works)
        works: dict[OperatorId, Work] = {}
        for node in network.nodes.values():
            work = self._works.get(node.id) or Work(node, fresh[node.id], self._noise(node))
            work.node = node
            works[node.id] = work
        self._works = works
        stores = self._stores
        self._stores = {
            number: stores.get(number, deque()) for number, edge in network.edges.items() if edge.stream is None
        }

    def adjust(self, operator: OperatorId, cost: float | None, selectivity: float | None) -> None:
        """An operator costs, a join matches or an aggregate groups differently from now on."""
        work = self._works[operator]
        if cost is not None:
            work.cost = cost
            self._chains.clear()
        if selectivity is not None and isinstance(work.effect, WindowJoin | WindowAggregate):
            work.effect.selectivity = selectivity

    def execute(self, run: Run, now: float) -> Outcome:
        """Carry out a run that starts now."""
        _, _, units, takes, _, _ = run  # taken apart: quicker than by name
        chain = self._chains.get(units[0].id) or self._chain(units[0])
        queue, offset, behind = takes[0]
        if queue != chain.entry or behind - offset > 1 or len(takes) > 1:
            return _Execution(self, run, now + self._run_overhead).outcome(now)
        end = now + self._run_overhead
        passed = chain.passed[offset]
        for seconds in chain.work[passed]:
            end += seconds
        self.call_overhead += chain.overhead[passed]
        if passed == chain.length:
            chain.note_arrival(chain.times[offset])
            chain.note_emission(end)
            if self.tells_answers:
                answered = Answered(units[0].queries[0], (end - chain.times[offset],))
                return _new(Outcome, (run, end - now, None, (), (), (answered,), None))
        return _new(Outcome, (run, end - now, None, (), (), (), None))

    def undo(self, run: Run) -> Undo:
        """What there is before a run begins, so that it can be taken back."""
        works = [self._works[call] for call in run.calls]
        return Undo(run, [(work.node, work.effect) for work in works], self._stores, self._records)

    def forget(self, run: Run) -> None:
        """The run was cancelled: what it produced will never be there."""
        self._in_flight.pop(run.worker, None)

    def deliver(self, outcome: Outcome) -> None:
        """The run has ended: what it produced is there for others."""
        _, produced = self._in_flight.pop(outcome.run.worker, (0.0, []))
        for queue, items in produced:
            if queue in self._stores:
                self._stores[queue].extend(items)

    def earliest(self, queue: QueueId) -> float:
        """The earliest arrival of tuples that may still come to a queue."""
        flying = min((oldest for oldest, _ in self._in_flight.values()), default=self.floor)
        return min(self.floor, flying, *map(self._oldest, self._upstream(queue)))

    def _oldest(self, queue: QueueId) -> float:
        """The earliest arrival in a queue: at the head of a stream's, but operators may give results in any order."""
        store = self._stores.get(queue)
        return self._heads(queue) if store is None else min((item.arrival for item in store), default=_NEVER)

    def _chain(self, unit: Unit) -> FilterChain:
        chain = self._chains[unit.id] = self._make_chain(unit)
        return chain

    def _make_chain(self, unit: Unit) -> FilterChain:
        works = [self._works[call] for call in unit.calls]
        entry = self._network.edges[unit.queues[0]]
        if self._detailed or entry.stream is None or len(works) > MOST_FILTERS or not self._plain(works):
            return NOT_A_CHAIN
        filters = [
            (work.cost, work.overhead, work.effect.outcomes) for work in works if isinstance(work.effect, Filter)
        ]
        return FilterChain(entry.id, filters, self._feeds.times[entry.stream], self._records[unit.queries[0]])

    def _plain(self, works: list[Work]) -> bool:
        """Whether operators are filters, one after another, whose results leave only at the end."""
        following = [[work.node.id] for work in works[1:]] + [[]]
        return all(
            isinstance(work.effect, Filter)
            and isinstance(work.effect.outcomes, Drawn | Always)
            and work.effect.outcomes.at_most_one
            and work.noise is None
            and len(work.node.queues) == 1
            and len(work.node.emits) == (not after)
            and [self._network.edges[queue].operator for queue in work.node.consumers] == after
            for work, after in zip(works, following, strict=True)
        )

    def _noise(self, node: Node) -> Noise | None:
        workload = self._workload
        return (
            Noise(workload.seed, ("noise", lasting_name(self._network, node)), workload.noise)
            if workload.noise
            else None
        )

    def _upstream(self, queue: QueueId) -> Iterable[QueueId]:
        yield queue
        producer = self._network.edges[queue].producer
        if producer is not None:
            for feed in self._network.nodes[producer].queues:
                yield from self._upstream(feed)


class _Execution:
    """One run in progress."""

    def __init__(self, machine: SimulatedMachine, run: Run, start: float) -> None:
        self._machine = machine
        self._run = run
        self._time = start
        self._inside = {queue for unit in run.units for queue in unit.queues}
        self._waiting: dict[QueueId, list[SimulatedTuple]] = {}
        self._leaving: dict[QueueId, list[SimulatedTuple]] = {}
        self._operators: list[OperatorOutcome] = []
        self._answered: dict[QueryId, list[float]] = {}

    def outcome(self, now: float) -> Outcome:
        self._load()
        for call in self._run.calls:
            self._call(self._machine._works[call])
        for queue, items in self._waiting.items():  # behind an operator that was called too early: they wait again
            self._leaving.setdefault(queue, []).extend(items)
        produced = tuple(Produced(queue, _chunks(items)) for queue, items in self._leaving.items())
        machine, worker = self._machine, self._run.worker
        oldest, _ = machine._in_flight.pop(worker)
        if self._leaving:
            machine._in_flight[worker] = (oldest, list(self._leaving.items()))
        answered = tuple(Answered(name, tuple(times)) for name, times in self._answered.items())
        return Outcome(self._run, self._time - now, None, tuple(self._operators), produced, answered)

    def _load(self) -> None:
        """The tuples that the run takes."""
        machine = self._machine
        oldest = machine.floor
        for queue, first, behind in self._run.takes:
            stream = machine._network.edges[queue].stream
            if stream is not None:
                times = machine._feeds.times[stream]
                items = [SimulatedTuple(offset, times[offset], times[offset]) for offset in range(first, behind)]
            else:
                store = machine._stores[queue]
                items = [store.popleft() for _ in range(behind - first)]
            self._waiting[queue] = items
            oldest = min(oldest, *(item.arrival for item in items))
        machine._in_flight[self._run.worker] = (oldest, [])

    def _call(self, work: Work) -> None:
        inputs = [(item, port) for port, queue in enumerate(work.node.queues) for item in self._waiting.pop(queue, ())]
        if not inputs:
            return
        if len(work.node.queues) > 1:
            inputs.sort(key=lambda entry: entry[0].arrival)
        began = self._time
        self._time += work.overhead
        self._machine.call_overhead += work.overhead
        produced = 0
        for item, port in inputs:
            self._time += work.seconds(item)
            results = work.effect.results(item, port)
            produced += len(results)
            if results:
                self._pass_on(work.node, results)
        if isinstance(work.effect, WindowJoin):
            self._expire(work, work.effect)
        if self._machine._detailed:
            self._operators.append(OperatorOutcome(work.node.id, len(inputs), produced, self._time - began))

    def _pass_on(self, node: Node, results: list[SimulatedTuple]) -> None:
        for queue in node.consumers:
            target = self._waiting if queue in self._inside else self._leaving
            target.setdefault(queue, []).extend(results)
        for name in node.emits:
            records = self._machine._records[name]
            for item in results:
                records.arrival.append(item.arrival)
                records.emission.append(self._time)
                if records.reference is not None:
                    records.reference.append(item.reference)
            if self._machine.tells_answers:
                self._answered.setdefault(name, []).extend(self._time - item.arrival for item in results)

    def _expire(self, work: Work, join: WindowJoin) -> None:
        for port, queue in enumerate(work.node.queues):
            if join.crowded(1 - port):
                waiting = min((item.arrival for items in self._waiting.values() for item in items), default=_NEVER)
                join.expire(1 - port, min(waiting, self._machine.earliest(queue)))


def _chunks(items: list[SimulatedTuple]) -> tuple[tuple[float, int], ...]:
    return tuple((arrival, sum(1 for _ in same)) for arrival, same in groupby(items, key=lambda item: item.arrival))
