"""Runs whose costs are known operator by operator, as in traces of the simulator."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from headgate.history.records import RunRecord
from headgate.model import HeadgateError, Operator, OperatorId, OperatorOutcome, Produced, QueueId, Run
from headgate.plan.network import Network, Node
from headgate.what_if.curves import copies, drawn
from headgate.what_if.executed import Executed, Result
from headgate.what_if.job_costs import FEWEST
from headgate.what_if.stream_arrivals import StreamArrivals

_NOTHING = 1e-12  # seconds


@dataclass(frozen=True, slots=True)
class OperatorWork:
    """What operators gave for their tuples, one after another, and how far their costs are from the given ones."""

    copies: Mapping[OperatorId, list[int]]
    factors: Mapping[OperatorId, float]
    run_overhead: float

    @classmethod
    def learn(cls, runs: Iterable[RunRecord], networks: Iterable[Network], run_overhead: float) -> OperatorWork:
        done = [run for run in runs if not run.cancelled and run.error is None]
        if len(done) < FEWEST:
            raise HeadgateError(
                f"there are too few runs to learn from: {len(done)}, at least {FEWEST} are needed",
                hint="record for longer, or ask for a longer part of the record",
            )
        known = {number: node.operator for network in networks for number, node in network.nodes.items()}
        seen: dict[OperatorId, list[tuple[int, int]]] = {}
        took: dict[OperatorId, float] = {}
        expected: dict[OperatorId, float] = {}
        for run in done:
            base = run_overhead + sum(_cost(known.get(number), taken) for number, taken, _ in run.operators)
            for number, taken, given in run.operators:
                seen.setdefault(number, []).append((taken, given))
                took[number] = took.get(number, 0.0) + run.ended - run.began
                expected[number] = expected.get(number, 0.0) + base
        factors = {number: took[number] / base if base > _NOTHING else 1.0 for number, base in expected.items()}
        return cls({number: copies(theirs) for number, theirs in seen.items()}, factors, run_overhead)


@dataclass(slots=True)
class _Undo:
    places: dict[OperatorId, int]
    taken: list[tuple[QueueId, list[float]]]


class OperatorMachine:
    """Works through tuples one by one, operator after operator, as the simulator does."""

    def __init__(self, work: OperatorWork, arrivals: Mapping[str, StreamArrivals], seed: int) -> None:
        self._work, self._arrivals, self._seed = work, arrivals, seed
        self._copies: dict[OperatorId, list[int]] = {}
        self._places: dict[OperatorId, int] = {}  # tuples that each operator has had
        self._stores: dict[QueueId, deque[float]] = {}  # arrivals of the tuples between operators
        self._under_way: dict[int, tuple[_Undo, dict[QueueId, list[float]]]] = {}
        self._network: Network

    def follow(self, network: Network) -> None:
        self._network = network
        for node in network.nodes.values():
            if node.id not in self._copies:
                selectivity = node.operator.given.selectivity
                unseen = drawn(1.0 if selectivity is None else selectivity, f"{self._seed} {node.label}")
                self._copies[node.id] = self._work.copies.get(node.id) or unseen
        for edge in network.edges.values():
            if edge.producer is not None:
                self._stores.setdefault(edge.id, deque())

    def execute(self, run: Run, now: float, others: int, fixed: float) -> Executed:
        waiting = self._load(run)
        inside = {queue for unit in run.units for queue in unit.queues}
        undo = _Undo({}, [(queue, list(items)) for queue, items in waiting.items() if queue in self._stores])
        leaving: dict[QueueId, list[float]] = {}
        results: list[Result] = []
        outcomes: list[OperatorOutcome] = []
        time = now + self._work.run_overhead
        for call in run.calls:
            node = self._network.nodes.get(call)
            if node is None:  # its query has been removed
                continue
            inputs = [item for queue in node.queues for item in waiting.pop(queue, ())]
            if not inputs:
                continue
            if len(node.queues) > 1:
                inputs.sort()
            undo.places[call] = self._places.get(call, 0)
            began = time
            time, given = self._call(node, inputs, time, results)
            outcomes.append(OperatorOutcome(call, len(inputs), len(given), time - began))
            if given:
                for queue in node.consumers:
                    (waiting if queue in inside else leaving).setdefault(queue, []).extend(given)
        for queue, items in waiting.items():  # behind an operator that was called too early: they wait again
            leaving.setdefault(queue, []).extend(items)
        self._under_way[run.id] = undo, leaving
        produced = tuple(Produced(queue, _chunks(items)) for queue, items in leaving.items())
        return Executed(time - now, 0.0, tuple(results), tuple(outcomes), produced)

    def finished(self, run: Run) -> None:
        _, leaving = self._under_way.pop(run.id)
        for queue, items in leaving.items():
            if queue in self._network.edges:
                self._stores[queue].extend(items)

    def cancelled(self, run: Run) -> None:
        undo, _ = self._under_way.pop(run.id)
        self._places.update(undo.places)
        for queue, items in undo.taken:
            self._stores[queue].extendleft(reversed(items))

    def _load(self, run: Run) -> dict[QueueId, list[float]]:
        waiting: dict[QueueId, list[float]] = {}
        for queue, first, behind in run.takes:
            stream = self._network.edges[queue].stream
            if stream is None:
                store = self._stores[queue]
                items = [store.popleft() for _ in range(behind - first)]
            else:
                at = self._arrivals[stream].at
                items = [at(offset) for offset in range(first, behind)]
            waiting.setdefault(queue, []).extend(items)
        return waiting

    def _call(self, node: Node, inputs: list[float], time: float, results: list[Result]) -> tuple[float, list[float]]:
        """Let an operator work through its tuples; results leave one by one."""
        factor = self._work.factors.get(node.id, 1.0)
        cost, gives = node.operator.given.cost * factor, self._copies[node.id]
        place, many = self._places.get(node.id, 0), len(gives)
        self._places[node.id] = place + len(inputs)
        time += node.operator.given.overhead * factor
        given: list[float] = []
        for arrival in inputs:
            time += cost
            count = gives[place % many]
            place += 1
            if count:
                given.extend([arrival] * count)
                results.extend([Result(query, count, arrival, time) for query in node.emits])
        return time, given


def _cost(operator: Operator | None, taken: int) -> float:
    return 0.0 if operator is None else operator.given.overhead + operator.given.cost * taken


def _chunks(items: list[float]) -> tuple[tuple[float, int], ...]:
    return tuple((arrival, sum(1 for _ in same)) for arrival, same in groupby(items))
