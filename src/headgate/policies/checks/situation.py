"""Queries with waiting tuples for a policy to decide in, without scheduler or simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate.model import Choice, QoS, Query, QueryClass, QueryId, QueueId, Stream, Target, streams
from headgate.plan.network import Network
from headgate.plan.units import units
from headgate.policies.checks.short_plans import ShortPlan, build_plan
from headgate.policies.checks.simple_view import ArrivalTimes, SimpleView
from headgate.policies.contract import Policy
from headgate.policies.registry import create
from headgate.stats import Measured, Stats

PerOperator = int | float | Sequence[int] | Sequence[float]  # one for all of a query's queues, or one for each


@dataclass(frozen=True)
class Situation:
    """Some queries and what waits before their operators: by default one tuple each, which arrived at time 0.

    >>> Situation({"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"}).order("hnr")
    ['q2', 'q1']

    `waiting` (how many) and `heads` (when the first of them arrived) are given per query, as one number or as one for
    each queue from leaf to root; `classes` says which class a query belongs to, `priorities` what that is worth.

    >>> chain = {"q": ["select, name=first", "select, name=second"]}
    >>> Situation(chain, waiting={"q": [3, 1]}).order("mtiq")
    ['first', 'second']
    >>> Situation(chain, heads={"q": [0.2, 0.1]}).order("fifo")
    ['second', 'first']
    """

    queries: Mapping[QueryId, ShortPlan]
    waiting: Mapping[QueryId, PerOperator] = field(default_factory=dict)
    heads: Mapping[QueryId, PerOperator] = field(default_factory=dict)
    qos: Mapping[QueryId, Sequence[Sequence[float]]] = field(default_factory=dict)  # points (latency, utility)
    targets: Mapping[QueryId, str] = field(default_factory=dict)  # as "500 ms"
    classes: Mapping[QueryId, str] = field(default_factory=dict)
    priorities: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)  # tuples per second, by stream
    sizes: Mapping[str, int] = field(default_factory=dict)  # bytes of a tuple, by stream
    run_overhead: float = 0.0
    now: float = 1.0

    def network(self) -> Network:
        queries = [
            Query(
                name=name,
                query_class=self.classes.get(name, "all"),
                plan=build_plan(short),
                qos=self._graph(name),
                target=Target.parse(self.targets[name]) if name in self.targets else None,
            )
            for name, short in self.queries.items()
        ]
        classes = dict.fromkeys(query.query_class for query in queries)
        names = dict.fromkeys(name for query in queries for name in streams(query.plan))
        return Network.of(
            queries,
            [Stream(name=name, bytes=self.sizes.get(name, 1)) for name in names],
            [QueryClass(name, self.priorities.get(name, 1.0)) for name in classes],
        )

    def _graph(self, name: QueryId) -> QoS | None:
        return QoS.of(self.qos[name]) if name in self.qos else None

    def stats(self) -> Stats:
        """All statistics, whatever a policy declares."""
        network = self.network()
        return Stats(network, self._measured(network))

    def view(self, policy: Policy) -> SimpleView:
        """What a policy sees of the situation: units of its level, the statistics that it declares."""
        network = self.network()
        policy.check(network)
        measured = self._measured(network)
        stats = Stats(network, measured)
        regrouped = policy.regroup(network, stats, partial(units, network))
        chosen_units = units(network, policy.level) if regrouped is None else regrouped
        return SimpleView(network, chosen_units, measured, stats.only(policy.needs), self._queues(network), self.now)

    def order(self, policy: str | Policy) -> list[str]:
        """The units in the order in which they are chosen, each once."""
        chosen = create(policy) if isinstance(policy, str) else policy
        return list(self._chosen(chosen))

    def _chosen(self, policy: Policy) -> Iterator[str]:
        view = self.view(policy)
        policy.changed(view)
        for unit in view.ready.values():
            policy.ready(view, unit)
        while isinstance(choice := policy.choose(view, 0), Choice):
            for unit in choice.units:
                yield str(unit)
                view.taken.add(unit.id)

    def _measured(self, network: Network) -> Measured:
        return Measured.of(network, self.rates, self.run_overhead)

    def _queues(self, network: Network) -> ArrivalTimes:
        waiting = _by_queue(network, self.waiting, 1)
        heads = _by_queue(network, self.heads, 0.0)
        return {queue: [heads[queue]] * int(waiting[queue]) for queue in network.edges}


def _by_queue(network: Network, given: Mapping[QueryId, PerOperator], default: float) -> dict[QueueId, float]:
    by_queue = dict.fromkeys(network.edges, default)
    for name, values in given.items():
        queues = [queue for node in network.nodes_of(name) for queue in node.queues]
        spread = [values] * len(queues) if isinstance(values, int | float) else values
        by_queue.update(zip(queues, spread, strict=True))
    return by_queue
