"""Builds the simulated behaviour of every operator of the network."""

from __future__ import annotations

from collections.abc import Collection

from headgate.model import Aggregate, Except, Join, Kind, Operator, OperatorId, Project, Source, Split, Union, walk
from headgate.plan.network import Network, Node
from headgate.sim.draws import Always, Drawn, Outcomes, Pattern, Single
from headgate.sim.feeds import Feeds
from headgate.sim.operators import CountedJoin, Difference, Effect, Filter, Merge, WindowAggregate, WindowJoin
from headgate.sim.randomness import generator
from headgate.stats.measured import selectivity_of
from headgate.workload import Change, Workload

_MOST_COPIES = 255  # that a byte can hold
_KEEPS_OFFSETS = frozenset({Kind.SELECT, Kind.PROJECT, Kind.SPLIT, Kind.READ})


def effects(
    network: Network, workload: Workload, feeds: Feeds, existing: Collection[OperatorId]
) -> dict[OperatorId, Effect]:
    """The behaviour of every operator that has none yet."""
    maker = _Maker(network, workload, feeds)
    return {node.id: maker.effect(node) for node in network.nodes.values() if node.id not in existing}


def targets(change: Change, network: Network) -> list[OperatorId]:
    """The operators that a change means: one by its name, one of a query by its place, or all of a query's."""
    if isinstance(change.operator, str):
        return [node.id for node in network.nodes.values() if node.operator.name == change.operator]
    if change.query is None or change.query not in network.queries:
        return []
    numbers = network.operators[change.query]
    if change.operator is None:
        return list(numbers)
    return list(numbers[change.operator : change.operator + 1])


def lasting_name(network: Network, node: Node) -> str:
    """A name for an operator's random numbers that stays the same whatever other queries there are."""
    if node.reads:
        return node.label
    query = network.queries[node.queries[0]]
    if query.sql is not None:
        return repr(node.operator)
    return node.operator.name or f"{query.name}.{network.operators[query.name].index(node.id)}"


class _Maker:
    def __init__(self, network: Network, workload: Workload, feeds: Feeds) -> None:
        self._network = network
        self._workload = workload
        self._feeds = feeds
        self._changed: dict[OperatorId, list[tuple[float, float]]] = {}
        for change in sorted(workload.changes, key=lambda change: change.at):
            if change.selectivity is not None:
                for number in targets(change, network):
                    self._changed.setdefault(number, []).append((change.at, change.selectivity))

    def effect(self, node: Node) -> Effect:
        operator = node.operator
        if isinstance(operator, Join):
            given = selectivity_of(operator)
            works = (_work(operator.inputs[0]) + _alone(operator), _work(operator.inputs[1]) + _alone(operator))
            kind = CountedJoin if operator.given.tuples else WindowJoin
            return kind(operator, self._key(node), 1.0 if given is None else given, works)
        if isinstance(operator, Aggregate):
            return WindowAggregate(operator, self._key(node), self._workload.windows == "end")
        if isinstance(operator, Union):
            return Merge()
        if isinstance(operator, Except):
            return Difference(self._outcomes(node))
        return Filter(self._outcomes(node))

    def _outcomes(self, node: Node) -> Outcomes:
        operator = node.operator
        if operator.given.passes:
            return Pattern(operator.given.passes)
        selectivity = selectivity_of(operator)
        changes = self._changed.get(node.id, [])
        if isinstance(operator, Project | Split) or (selectivity is None and not changes):
            return Always()
        timeline = [(0.0, 1.0 if selectivity is None else selectivity), *changes]
        purpose = self._purpose(node)
        stream = self._stream_of_offsets(node)
        if stream is None or max(value for _, value in timeline) > _MOST_COPIES:
            return Single(self._workload.seed, purpose, timeline)
        offsets = [(self._feeds.offset(stream, at) if at > 0 else 0, value) for at, value in timeline]
        return Drawn(self._workload.seed, purpose, offsets, len(self._feeds.times[stream]))

    def _purpose(self, node: Node) -> tuple[str | int, ...]:
        attribute = node.operator.given.attribute
        if attribute is not None:
            return ("attribute", attribute, *(leaf.stream for leaf in _leaves(node.operator)))
        return ("outcomes", lasting_name(self._network, node))

    def _key(self, node: Node) -> int:
        return int(generator(self._workload.seed, "window", lasting_name(self._network, node)).integers(2**62))

    def _stream_of_offsets(self, node: Node) -> str | None:
        """The stream whose offsets an operator's tuples are known by; None behind anything that makes new tuples."""
        edge = self._network.edges[node.queues[0]]
        if edge.producer is None:
            return edge.stream
        below = self._network.nodes[edge.producer]
        keeps = below.operator.kind in _KEEPS_OFFSETS or (below.operator.kind is Kind.TABLE_JOIN and self._thins(below))
        return self._stream_of_offsets(below) if keeps else None

    def _thins(self, node: Node) -> bool:
        """Whether an operator never gives more than one result for a tuple."""
        values = [node.operator.given.selectivity, *(value for _, value in self._changed.get(node.id, ()))]
        return all(value is None or value <= 1 for value in values)


def _leaves(operator: Operator) -> list[Source]:
    return [node for node in walk(operator) if isinstance(node, Source)]


def _alone(operator: Operator) -> float:
    return operator.given.cost + operator.given.overhead


def _work(node: Operator | Source) -> float:
    """Seconds of processing up to here, filters aside, a join counted once per input."""
    if isinstance(node, Source):
        return 0.0
    times = 2 if isinstance(node, Join) else 1
    return times * _alone(node) + sum(_work(child) for child in node.inputs)
