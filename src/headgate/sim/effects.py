"""Builds the simulated behaviour of every operator of the network."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headgate.model import (
    Aggregate,
    Except,
    Join,
    Kind,
    Operator,
    OperatorId,
    Project,
    QueueId,
    Source,
    Split,
    Union,
    walk,
)
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
    maker = EffectMaker(network, workload)
    return {node.id: maker.effect(node, feeds) for node in network.nodes.values() if node.id not in existing}


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


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the outcomes of a filter are drawn: from which numbers, and by which selectivity from when on."""

    purpose: tuple[str | int, ...]
    timeline: tuple[tuple[float, float], ...]  # (from, selectivity)
    stream: str | None  # by the offsets of which stream, so that they can be drawn beforehand; None: one by one


class EffectMaker:
    """Finds out what the operators of a network do."""

    def __init__(self, network: Network, workload: Workload) -> None:
        self._network = network
        self._workload = workload
        self._changed: dict[OperatorId, list[tuple[float, float]]] = {}
        for change in sorted(workload.changes, key=lambda change: change.at):
            if change.selectivity is not None:
                for number in targets(change, network):
                    self._changed.setdefault(number, []).append((change.at, change.selectivity))

    def effect(self, node: Node, feeds: Feeds) -> Effect:
        operator = node.operator
        if isinstance(operator, Join):
            given = selectivity_of(operator)
            kind = CountedJoin if operator.given.tuples else WindowJoin
            return kind(operator, self.key(node), 1.0 if given is None else given, works(operator))
        if isinstance(operator, Aggregate):
            return WindowAggregate(operator, self.key(node), self._workload.windows == "end")
        if isinstance(operator, Union):
            return Merge()
        outcomes = self._outcomes(node, feeds)
        return Difference(outcomes) if isinstance(operator, Except) else Filter(outcomes)

    def drawing(self, node: Node) -> Drawing | None:
        """How outcomes of an operator without a pattern are drawn; None: it gives one result for every tuple."""
        operator, selectivity = node.operator, selectivity_of(node.operator)
        changes = self._changed.get(node.id, [])
        if isinstance(operator, Project | Split) or (selectivity is None and not changes):
            return None
        timeline = ((0.0, 1.0 if selectivity is None else selectivity), *changes)
        stream = self.stream_of_offsets(node.queues[0])
        beforehand = max(value for _, value in timeline) <= _MOST_COPIES
        return Drawing(self._purpose(node), timeline, stream if beforehand else None)

    def key(self, node: Node) -> int:
        """From what the random numbers of a join or an aggregate are mixed."""
        return int(generator(self._workload.seed, "window", lasting_name(self._network, node)).integers(2**62))

    def stream_of_offsets(self, queue: QueueId) -> str | None:
        """The stream whose offsets the tuples of a queue are known by; None behind anything that makes new tuples."""
        edge = self._network.edges[queue]
        if edge.producer is None:
            return edge.stream
        below = self._network.nodes[edge.producer]
        keeps = below.operator.kind in _KEEPS_OFFSETS or (below.operator.kind is Kind.TABLE_JOIN and self._thins(below))
        return self.stream_of_offsets(below.queues[0]) if keeps else None

    def _outcomes(self, node: Node, feeds: Feeds) -> Outcomes:
        if node.operator.given.passes:
            return Pattern(node.operator.given.passes)
        drawing = self.drawing(node)
        if drawing is None:
            return Always()
        seed, stream = self._workload.seed, drawing.stream
        if stream is None:
            return Single(seed, drawing.purpose, list(drawing.timeline))
        offsets = [(feeds.offset(stream, at) if at > 0 else 0, value) for at, value in drawing.timeline]
        return Drawn(seed, drawing.purpose, offsets, len(feeds.times[stream]))

    def _purpose(self, node: Node) -> tuple[str | int, ...]:
        attribute = node.operator.given.attribute
        if attribute is not None:
            return ("attribute", attribute, *(leaf.stream for leaf in _leaves(node.operator)))
        return ("outcomes", lasting_name(self._network, node))

    def _thins(self, node: Node) -> bool:
        """Whether an operator never gives more than one result for a tuple."""
        values = [node.operator.given.selectivity, *(value for _, value in self._changed.get(node.id, ()))]
        return all(value is None or value <= 1 for value in values)


def works(operator: Join) -> tuple[float, float]:
    """Seconds of processing below each input of a join, its own included."""
    left, right = (_work(child) + _alone(operator) for child in operator.inputs)
    return left, right


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
