"""Statistics of single queues: what one tuple that waits there costs, and what comes of it.

They follow the way of a tuple from operator to operator, and are remembered until a measured number changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from headgate.model import Aggregate, Except, Join, OperatorId, QueryId, QueueId, Window, streams
from headgate.plan.network import Network, Node
from headgate.stats.measured import Measured
from headgate.stats.ratio import ratio


class QueueStatistics:
    """What `Stats` derives its numbers for units from."""

    def __init__(self, network: Network, measured: Measured) -> None:
        self._network = network
        self._measured = measured
        self._memo: dict[object, float] = {}

    def renew(self, network: Network) -> None:
        """Forget what was derived: the network or a measured number has changed."""
        self._network = network
        self._memo.clear()

    def _by_rate(self, queues: Collection[QueueId], value: Callable[[QueueId], float]) -> float:
        """The mean over some queues, weighted by their rates."""
        if len(queues) == 1:
            return value(*queues)
        weights = [self._rate(queue) for queue in queues]
        if not sum(weights):
            weights = [1.0] * len(queues)
        return sum(w * value(queue) for w, queue in zip(weights, queues, strict=True)) / sum(weights)

    def _results(self, queue: QueueId, name: QueryId, inside: Collection[OperatorId] | None) -> float:
        """Results of a query per tuple in a queue."""
        node = self._node(queue)
        if name not in node.queries:
            return 0.0

        def compute() -> float:
            onward = sum(self._results(consumer, name, inside) for consumer in self._onward(node, inside))
            return self._effective(queue) * (onward + (name in node.emits))

        return self._remembered(("S", queue, name, inside), compute)

    def _cost(
        self, queue: QueueId, inside: Collection[OperatorId] | None, names: frozenset[QueryId] | None = None
    ) -> float:
        """Seconds caused per tuple in a queue: every consumer pays for itself, the operator is paid once."""
        node = self._node(queue)

        def compute() -> float:
            onward = sum(self._cost(consumer, inside, names) for consumer in self._onward(node, inside, names))
            return self._cost_per_tuple(node.id) + self._effective(queue) * onward

        return self._remembered(("C", queue, inside, names), compute)

    def _bare_cost(self, queue: QueueId, inside: Collection[OperatorId]) -> float:
        """Seconds caused per tuple in a queue, overheads aside."""
        node = self._node(queue)

        def compute() -> float:
            onward = sum(self._bare_cost(consumer, inside) for consumer in self._onward(node, inside))
            return self._measured.operators[node.id].cost + self._effective(queue) * onward

        return self._remembered(("c", queue, inside), compute)

    def _leaving(self, queue: QueueId, inside: Collection[OperatorId], per_tuple: Callable[[Node], float]) -> float:
        """What leaves the operators inside per tuple in a queue: tuples, or bytes, as `per_tuple` counts."""
        node = self._node(queue)

        def compute() -> float:
            within = self._onward(node, inside)
            outside = per_tuple(node) * (len(node.consumers) - len(within) + bool(node.emits))
            onward = sum(self._leaving(consumer, inside, per_tuple) for consumer in within)
            return self._effective(queue) * (outside + onward)

        return self._remembered(("out", queue, inside, per_tuple), compute)

    def _remaining(self, queue: QueueId, name: QueryId, inside: Collection[OperatorId] | None) -> float:
        node = self._node(queue)
        onward = [
            self._remaining(consumer, name, inside)
            for consumer in self._onward(node, inside)
            if name in self._node(consumer).queries
        ]
        return self._alone(node.id) + (max(onward) if onward else 0.0)

    def _ways(self, queue: QueueId) -> dict[tuple[QueryId, tuple[Window, ...]], float]:
        """Seconds of processing, filters aside, to the results of each query along the longest way, by its windows."""
        node = self._node(queue)
        here, own = self._windows(node), self._alone(node.id)
        found = {(name, here): own for name in node.emits}
        for consumer in node.consumers:
            for (name, windows), seconds in self._ways(consumer).items():
                way = name, (*here, *windows)
                found[way] = max(found.get(way, 0.0), own + seconds)
        return found

    def _windows(self, node: Node) -> tuple[Window, ...]:
        """The window whose end an operator waits for, if it does."""
        return (node.operator.window,) if isinstance(node.operator, Aggregate | Except) else ()

    def _effective(self, queue: QueueId) -> float:
        """Results of an operator per tuple taken from one of its queues."""
        return self._remembered(("s", queue), lambda: self._effective_of(queue))

    def _effective_of(self, queue: QueueId) -> float:
        edge, node = self._network.edges[queue], self._node(queue)
        operator_stats = self._measured.operators[node.id]
        given, operator = operator_stats.selectivity, node.operator
        if isinstance(operator, Join) and not operator_stats.per_input:
            return (1.0 if given is None else given) * self._partners(node, operator, edge.port)
        if isinstance(operator, Except) and edge.port == 1:
            return 0.0
        if isinstance(operator, Aggregate) and given is None:
            return ratio(1.0, max(1.0, self._rate(queue) * operator.window.slide))
        return 1.0 if given is None else given

    def _partners(self, node: Node, join: Join, port: int) -> float:
        """Tuples of the other input that a tuple meets on average when it comes."""
        other = self._rate(node.queues[1 - port])
        if not join.given.tuples:
            return other * join.reach[port]
        (stream,) = streams(join.inputs[1 - port])
        passed = ratio(other, self._measured.rates.get(stream, 0.0)) if other else 0.0
        return join.given.tuples / 2 * passed  # half of a window has come by then

    def _rate(self, queue: QueueId) -> float:
        edge = self._network.edges[queue]
        if edge.stream is not None:
            return self._measured.rates.get(edge.stream, 0.0)
        assert edge.producer is not None  # a queue is fed by one or the other
        producer = self._network.nodes[edge.producer]
        return self._remembered(
            ("rate", producer.id), lambda: sum(self._rate(feed) * self._effective(feed) for feed in producer.queues)
        )

    def _onward(
        self, node: Node, inside: Collection[OperatorId] | None, names: frozenset[QueryId] | None = None
    ) -> list[QueueId]:
        """Where results go on to: inside some operators, for some queries."""
        return [
            queue
            for queue in node.consumers
            if (inside is None or self._network.edges[queue].operator in inside)
            and (names is None or not names.isdisjoint(self._node(queue).queries))
        ]

    def _sources(self, queue: QueueId) -> set[str]:
        edge = self._network.edges[queue]
        if edge.stream is not None:
            return {edge.stream}
        assert edge.producer is not None
        return {name for feed in self._network.nodes[edge.producer].queues for name in self._sources(feed)}

    def _node(self, queue: QueueId) -> Node:
        return self._network.nodes[self._network.edges[queue].operator]

    def _cost_per_tuple(self, operator: OperatorId) -> float:
        operator_stats = self._measured.operators[operator]
        return operator_stats.cost + operator_stats.overhead / self._measured.train

    def _alone(self, operator: OperatorId) -> float:
        """What one tuple costs when nothing else is in the system: no train to spread the overhead over."""
        operator_stats = self._measured.operators[operator]
        return operator_stats.cost + operator_stats.overhead

    def _run_share(self) -> float:
        return self._measured.run_overhead / self._measured.train

    def _ideal(self, name: QueryId) -> float:
        nodes = self._network.nodes_of(name)
        times = (self._alone(node.id) * (2 if isinstance(node.operator, Join) else 1) for node in nodes)
        return self._measured.run_overhead + sum(times)

    def _size(self, queue: QueueId) -> float:
        edge = self._network.edges[queue]
        if edge.stream is not None:
            return self._network.streams[edge.stream].bytes
        assert edge.producer is not None
        return self._measured.operators[edge.producer].size

    def _after(self, node: Node) -> float:
        return self._measured.operators[node.id].size

    def _remembered(self, key: object, compute: Callable[[], float]) -> float:
        value = self._memo.get(key)
        if value is None:
            value = self._memo[key] = compute()
        return value

    def _downstream(self, operators: Collection[OperatorId]) -> list[Node]:
        """Some operators and all they feed, each after those that feed it: an operator's number is above theirs."""
        reached, beyond = set(operators), list(operators)
        while beyond:
            fed = {self._network.edges[queue].operator for queue in self._network.nodes[beyond.pop()].consumers}
            beyond += fed - reached
            reached |= fed
        return [self._network.nodes[number] for number in sorted(reached)]

    def _below(self, queue: QueueId) -> list[tuple[QueueId, ...]]:
        """The ways from the leaves to a queue, the queue itself left out."""
        producer = self._network.edges[queue].producer
        if producer is None:
            return [()]
        feeds = self._network.nodes[producer].queues
        return [(*way, feed) for feed in feeds for way in self._below(feed)]

    def _above(self, queue: QueueId) -> list[tuple[QueueId, ...]]:
        """The ways from a queue to the results."""
        node = self._node(queue)
        onward = [(queue, *way) for consumer in node.consumers for way in self._above(consumer)]
        return [(queue,), *onward] if node.emits else onward


def count_one(node: Node) -> float:
    """Counts every tuple as one, where `_leaving` could also count its bytes."""
    return 1.0
