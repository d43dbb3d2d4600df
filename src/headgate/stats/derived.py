"""What follows from the measured numbers, each defined once.

For a tuple that waits before an operator x of a query with root r (Sharaf et al. 2006, section 3):

* selectivity s_x, and globally S_x = s_x · … · s_r: results per tuple;
* cost c_x, and globally C_x = c_x + s_x·c_(x+1) + …: seconds that one tuple causes on average;
* ideal time T = Σ c over the query's operators, a join counted once per input.

A join's selectivity, seen from one input, is that of a pair times the partners in the other input's window, which
gives the document's window-join parameters, and any tree of joins by recursion. An operator that feeds several
others is paid for once, which gives the document's shared cost SC = Σ C_i − (N−1)·c.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import cast

from headgate.model import Aggregate, Except, Join, Level, OperatorId, QoS, QueryId, QueueId, Unit
from headgate.plan.network import Network, Node
from headgate.plan.piece import Piece
from headgate.stats.boxes import Box
from headgate.stats.cost import CostModel
from headgate.stats.measured import Measured
from headgate.stats.ratio import ratio

Chart = tuple[tuple[float, float], ...]  # (seconds spent, bytes left)


class Stats:
    """The statistics that policies may read; a policy sees those it declares (`Stats.only`)."""

    def __init__(self, network: Network, measured: Measured) -> None:
        self._network = network
        self._measured = measured
        self._memo: dict[object, float] = {}

    def renew(self, network: Network) -> None:
        """Forget what was derived: the network or a measured number has changed."""
        self._network = network
        self._memo.clear()

    def only(self, needs: Collection[str]) -> Stats:
        """A face of these statistics that answers only the declared needs."""
        return cast(Stats, DeclaredStats(self, needs))

    def load(self, piece: Unit | Piece) -> float:
        """The share of a worker's time that the operators' own work takes, as far as it is known. For grouping."""
        nodes = [self._network.nodes[call] for call in piece.calls if self._measured.reliable(call)]
        return sum(self._measured.operators[node.id].cost * sum(map(self._rate, node.queues)) for node in nodes)

    # -- within the unit ---------------------------------------------------------------------------------------

    def cost(self, unit: Unit) -> float:
        """Seconds that a tuple entering the unit costs inside it, overheads spread over the average train."""
        return self._of_entries(unit, lambda queue: self._cost(queue, unit.inside)) + self._run_share()

    def selectivity(self, unit: Unit) -> float:
        """Tuples that leave the unit per tuple that enters it."""
        return self._of_entries(unit, lambda queue: self._leaving(queue, unit.inside, _one))

    def capacity(self, unit: Unit) -> float:
        """Tuples that the unit handles per second: the processing capacity of Pajjuri 2004."""
        return ratio(1.0, self.cost(unit))

    def model(self, unit: Unit) -> CostModel:
        """What a run of the unit costs, by the number of tuples it takes."""
        overheads = sum(self._measured.operators[call].overhead for call in unit.calls)
        each = self._of_entries(unit, lambda queue: self._bare_cost(queue, unit.inside))
        return CostModel(self._measured.run_overhead + overheads, each)

    def run_overhead(self, unit: Unit) -> float:
        """Seconds that a run costs before it touches a tuple, the same for all units."""
        return self._measured.run_overhead

    def size(self, unit: Unit) -> float:
        """Bytes of a tuple that waits before the unit."""
        return self._of_entries(unit, self._size)

    def release_capacity(self, unit: Unit) -> float:
        """Bytes that the unit frees per second of its work: what enters less what leaves (Pajjuri 2004)."""
        leaving = self._of_entries(unit, lambda queue: self._leaving(queue, unit.inside, self._after))
        return ratio(self.size(unit) - leaving, self.cost(unit))

    def streams(self, unit: Unit) -> frozenset[str]:
        """The streams whose tuples reach the unit, straight or through other operators."""
        return frozenset(name for entry in unit.entries for queue in entry for name in self._sources(queue))

    def arrival_rate(self, unit: Unit) -> float:
        """Tuples per second that reach the unit's entries."""
        return sum(self._rate(queue) for entry in unit.entries for queue in entry)

    # -- from the unit to the results --------------------------------------------------------------------------

    def global_selectivity(self, unit: Unit) -> float:
        """S: results per tuple that enters the unit, over all of its queries."""
        return sum(self._per_query(unit, None).values())

    def global_cost(self, unit: Unit) -> float:
        """C: seconds that a tuple causes from here to the results; SC where operators are shared."""
        return self._global_cost(unit, None)

    def ideal_time(self, unit: Unit) -> float:
        """T: seconds that a result would take alone in the system; the least of the unit's queries."""
        return min(self.query_ideal_time(name) for name in unit.queries)

    def remaining_time(self, unit: Unit) -> float:
        """Seconds of processing, filters aside, from here to a result; the least over the unit's queries."""
        return min(
            self._remaining(queue, name, _reach(unit))
            for name in unit.queries
            for entry in unit.entries
            for queue in entry
            if name in self._node(queue).queries
        )

    def remaining_times(self, unit: Unit) -> dict[QueryId, float]:
        """Seconds of processing, filters aside, from here to a result of each query, along the longest way."""
        return {
            name: max(
                self._remaining(queue, name, _reach(unit))
                for entry in unit.entries
                for queue in entry
                if name in self._node(queue).queries
            )
            for name in unit.queries
        }

    def output_costs(self, unit: Unit) -> dict[QueryId, tuple[tuple[QueueId, float], ...]]:
        """For each query: the queues from here to its results, and the seconds spent behind each per result."""
        return {name: self._output_costs(unit, name) for name in unit.queries}

    def _output_costs(self, unit: Unit, name: QueryId) -> tuple[tuple[QueueId, float], ...]:
        entered = {self._node(queue).id for entry in unit.entries for queue in entry}
        nodes = [node for node in self._downstream(entered) if name in node.queries]
        return tuple(
            (queue, ratio(self._each(node.id), self._results(queue, name, None)))
            for node in nodes
            for queue in node.queues
        )

    def output_rate(self, unit: Unit, of: Collection[QueryId] | None = None) -> float:
        """S/C: results per second of processing.

        This and the next two can be had `of` some of the unit's queries alone, as if only they used its operators.
        """
        return ratio(self._weighted(unit, 0, of), self._global_cost(unit, of))

    def normalized_rate(self, unit: Unit, of: Collection[QueryId] | None = None) -> float:
        """S/(C·T); for several queries the sum of S_i/T_i over the shared cost."""
        return ratio(self._weighted(unit, 1, of), self._global_cost(unit, of))

    def balanced_rate(self, unit: Unit, of: Collection[QueryId] | None = None) -> float:
        """S/(C·T²); for several queries the sum of S_i/T_i² over the shared cost."""
        return ratio(self._weighted(unit, 2, of), self._global_cost(unit, of))

    def progress(self, unit: Unit) -> tuple[tuple[Chart, int], ...]:
        """The progress charts of the paths through the unit's first operator, and its place on each.

        A chart goes from a leaf to the results: (seconds spent, bytes left) before the first operator and after each.
        """
        first = unit.queues[0]
        paths = [(before, after) for before in self._below(first) for after in self._above(first)]
        return tuple((self._chart((*before, *after)), len(before)) for before, after in paths)

    def boxes(self, unit: Unit) -> tuple[Box, ...]:
        """The unit's operators one by one, in its order of calls."""
        return tuple(self._box(unit, operator) for operator in unit.calls)

    def _box(self, unit: Unit, operator: OperatorId) -> Box:
        node, cost = self._network.nodes[operator], self._each(operator)
        results = self._by_rate(
            node.queues, lambda queue: sum(self._results(queue, name, None) for name in node.queries)
        )
        return Box(
            operator,
            tuple(each.id for each in self._downstream({operator}) if each.id in unit.inside),
            cost,
            self._by_rate(node.queues, lambda queue: self._leaving(queue, (operator,), _one)),
            ratio(cost, results),
            self._by_rate(node.queues, self._size),
        )

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

    def _chart(self, path: tuple[QueueId, ...]) -> Chart:
        spent, share = 0.0, 1.0
        points = [(0.0, self._size(path[0]))]
        for queue in path:
            node = self._node(queue)
            spent += share * self._each(node.id)
            share *= self._effective(queue)
            points.append((spent, share * self._after(node)))
        points[-1] = (spent, 0.0)  # what leaves the system takes no memory
        return tuple(points)

    # -- queries and classes -----------------------------------------------------------------------------------

    def query_ideal_time(self, name: QueryId) -> float:
        """T of one query."""
        return self._remembered(("T", name), lambda: self._ideal(name))

    def query_cost(self, name: QueryId) -> float:
        """Seconds that a tuple entering the query costs it, as if it shared nothing; overheads spread as in `cost`."""
        queues = [queue for node in self._network.nodes_of(name) for queue in node.queues]
        leaves = [queue for queue in queues if self._network.stream(queue) is not None]
        return self._by_rate(leaves, lambda queue: self._cost(queue, None, frozenset((name,)))) + self._run_share()

    def class_priority(self, unit: Unit) -> float:
        """The priority of the class that pays for the unit."""
        return self._network.classes[unit.payer].priority

    def qos(self, name: QueryId) -> QoS | None:
        """A query's QoS graph, if it has one."""
        return self._network.queries[name].qos

    def inputs(self, unit: Unit) -> int:
        """The most inputs of any operator in the unit: 2 where there is a join."""
        return max(len(self._network.nodes[call].queues) for call in unit.calls)

    # -- per queue ---------------------------------------------------------------------------------------------

    def _of_entries(
        self, unit: Unit, value: Callable[[QueueId], float], names: frozenset[QueryId] | None = None
    ) -> float:
        """Sum over the queries of a group; within a query the mean over its entries, by their rates.

        Only entries that work for the named queries count.
        """
        total = 0.0
        for entry in unit.entries:
            if names is not None:
                entry = tuple(queue for queue in entry if not names.isdisjoint(self._node(queue).queries))
            if entry:
                total += self._by_rate(entry, value)
        return total

    def _by_rate(self, queues: Collection[QueueId], value: Callable[[QueueId], float]) -> float:
        """The mean over some queues, weighted by their rates."""
        if len(queues) == 1:
            return value(*queues)
        weights = [self._rate(queue) for queue in queues]
        if not sum(weights):
            weights = [1.0] * len(queues)
        return sum(w * value(queue) for w, queue in zip(weights, queues, strict=True)) / sum(weights)

    def _per_query(self, unit: Unit, of: Collection[QueryId] | None) -> dict[QueryId, float]:
        """S of each query of the unit, or of some."""
        names = self._counted(unit, of)
        return {
            name: self._of_entries(unit, lambda queue, name=name: self._results(queue, name, _reach(unit)), names)  # type: ignore[misc]
            for name in (unit.queries if of is None else of)
        }

    def _global_cost(self, unit: Unit, of: Collection[QueryId] | None) -> float:
        names = self._counted(unit, of)
        return self._of_entries(unit, lambda queue: self._cost(queue, _reach(unit), names), names) + self._run_share()

    def _counted(self, unit: Unit, of: Collection[QueryId] | None) -> frozenset[QueryId] | None:
        """The queries whose operators count; None: all that the unit's tuples go to, the common case."""
        names = frozenset(unit.queries if of is None else of)
        fed = (name for entry in unit.entries for queue in entry for name in self._node(queue).queries)
        return None if names.issuperset(fed) else names

    def _weighted(self, unit: Unit, power: int, of: Collection[QueryId] | None) -> float:
        shares = self._per_query(unit, of)
        return sum(ratio(share, self.query_ideal_time(name) ** power) for name, share in shares.items())

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
            return self._each(node.id) + self._effective(queue) * onward

        return self._remembered(("C", queue, inside, names), compute)

    def _bare_cost(self, queue: QueueId, inside: Collection[OperatorId]) -> float:
        """Seconds caused per tuple in a queue, overheads aside."""
        node = self._node(queue)

        def compute() -> float:
            onward = sum(self._bare_cost(consumer, inside) for consumer in self._onward(node, inside))
            return self._measured.operators[node.id].cost + self._effective(queue) * onward

        return self._remembered(("c", queue, inside), compute)

    def _leaving(self, queue: QueueId, inside: Collection[OperatorId], each: Callable[[Node], float]) -> float:
        """What leaves the operators inside per tuple in a queue: tuples, or what `each` of them counts."""
        node = self._node(queue)

        def compute() -> float:
            within = self._onward(node, inside)
            outside = each(node) * (len(node.consumers) - len(within) + bool(node.emits))
            onward = sum(self._leaving(consumer, inside, each) for consumer in within)
            return self._effective(queue) * (outside + onward)

        return self._remembered(("out", queue, inside, each), compute)

    def _remaining(self, queue: QueueId, name: QueryId, inside: Collection[OperatorId] | None) -> float:
        node = self._node(queue)
        onward = [
            self._remaining(consumer, name, inside)
            for consumer in self._onward(node, inside)
            if name in self._node(consumer).queries
        ]
        return self._alone(node.id) + (max(onward) if onward else 0.0)

    def _effective(self, queue: QueueId) -> float:
        """Results of an operator per tuple taken from one of its queues."""
        return self._remembered(("s", queue), lambda: self._effective_of(queue))

    def _effective_of(self, queue: QueueId) -> float:
        edge, node = self._network.edges[queue], self._node(queue)
        known = self._measured.operators[node.id]
        given, operator = known.selectivity, node.operator
        if isinstance(operator, Join) and not known.per_input:
            partners = self._rate(node.queues[1 - edge.port]) * operator.reach[edge.port]
            return (1.0 if given is None else given) * partners
        if isinstance(operator, Except) and edge.port == 1:
            return 0.0
        if isinstance(operator, Aggregate) and given is None:
            return ratio(1.0, max(1.0, self._rate(queue) * operator.window.slide))
        return 1.0 if given is None else given

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

    def _each(self, operator: OperatorId) -> float:
        known = self._measured.operators[operator]
        return known.cost + known.overhead / self._measured.train

    def _alone(self, operator: OperatorId) -> float:
        """What one tuple costs when nothing else is in the system: no train to spread the overhead over."""
        known = self._measured.operators[operator]
        return known.cost + known.overhead

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


STATISTICS = frozenset(name for name in vars(Stats) if not name.startswith("_")) - {"renew", "only", "load"}


class DeclaredStats:
    """Statistics restricted to what a policy declared.

    Everything else is as if it did not exist, so that a policy cannot come to depend on it unnoticed.
    """

    def __init__(self, stats: Stats, needs: Collection[str]) -> None:
        for name in needs:
            if name not in STATISTICS:
                raise AttributeError(f"there is no statistic '{name}'; there are {', '.join(sorted(STATISTICS))}")
            setattr(self, name, getattr(stats, name))

    def __getattr__(self, name: str) -> float:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"statistic '{name}' is read but not declared; add it to the policy's `needs`")


def _one(node: Node) -> float:
    return 1.0


def _reach(unit: Unit) -> Collection[OperatorId] | None:
    """Which operators count from the unit on: a path ends where it ends, everything else at the results."""
    return unit.inside if unit.level is Level.PATH else None
