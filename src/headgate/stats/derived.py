"""Statistics derived from measured numbers, each defined once.

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
from math import inf
from typing import cast

from headgate.model import Level, OperatorId, QoS, QueryId, QueueId, Unit
from headgate.plan.unit_draft import UnitDraft
from headgate.stats.boxes import Box
from headgate.stats.cost import CostModel
from headgate.stats.per_queue import QueueStatistics, count_one
from headgate.stats.ratio import ratio
from headgate.stats.run_costs import FIRST
from headgate.stats.ways import Way

USUAL_TARGET = 1.0  # seconds within which the highest class wants results, if nobody says
PATIENCE = 100.0  # times as long any other class waits at most

Chart = tuple[tuple[float, float], ...]  # (seconds spent, bytes left)


class Stats(QueueStatistics):
    """The statistics that policies may read; a policy sees those it declares (`Stats.only`)."""

    def only(self, needs: Collection[str]) -> Stats:
        """The same statistics, restricted to the declared needs."""
        return cast(Stats, DeclaredStats(self, needs))

    def load(self, draft: Unit | UnitDraft) -> float:
        """The share of a worker's time that the operators' own work takes, as far as it is known. For grouping."""
        nodes = [self._network.nodes[call] for call in draft.calls if self._measured.reliable(call)]
        return sum(self._measured.operators[node.id].cost * sum(map(self._rate, node.queues)) for node in nodes)

    # -- within the unit ---------------------------------------------------------------------------------------

    def cost(self, unit: Unit) -> float:
        """Seconds that a tuple entering the unit costs inside it, overheads spread over the average train."""
        return self._of_entries(unit, lambda queue: self._cost(queue, unit.inside)) + self._run_share()

    def selectivity(self, unit: Unit) -> float:
        """Tuples that leave the unit per tuple that enters it."""
        return self._of_entries(unit, lambda queue: self._leaving(queue, unit.inside, count_one))

    def capacity(self, unit: Unit) -> float:
        """Tuples that the unit handles per second: the processing capacity of Pajjuri 2004."""
        return ratio(1.0, self.cost(unit))

    def model(self, unit: Unit) -> CostModel:
        """What a run of the unit costs, by the number of tuples it takes for each of its queries."""
        fitted = self._measured.model(unit)
        if fitted is not None:
            return fitted
        overheads = sum(self._measured.operators[call].overhead for call in unit.calls)
        per_tuple = self._of_entries(unit, lambda queue: self._bare_cost(queue, unit.inside))
        known = FIRST if self._measured.fits_overhead else inf
        return CostModel(self._measured.run_overhead + overheads, per_tuple, known)

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
            (queue, ratio(self._cost_per_tuple(node.id), self._results(queue, name, None)))
            for node in nodes
            for queue in node.queues
        )

    def ways(self, unit: Unit) -> tuple[Way, ...]:
        """The ways that waiting tuples have from each of the unit's queues to the results of each query."""
        return tuple(
            Way(queue, name, self.query_target(name), seconds, windows)
            for queue in unit.queues
            for (name, windows), seconds in self._ways(queue).items()
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
        node, operator_stats = self._network.nodes[operator], self._measured.operators[operator]
        results = self._by_rate(
            node.queues, lambda queue: sum(self._results(queue, name, None) for name in node.queries)
        )
        return Box(
            operator,
            tuple(node.id for node in self._downstream({operator}) if node.id in unit.inside),
            operator_stats.cost,
            self._by_rate(node.queues, lambda queue: self._leaving(queue, (operator,), count_one)),
            ratio(operator_stats.cost, results),
            self._by_rate(node.queues, self._size),
            operator_stats.overhead,
            node.queues,
        )

    def _chart(self, path: tuple[QueueId, ...]) -> Chart:
        spent, share = 0.0, 1.0
        points = [(0.0, self._size(path[0]))]
        for queue in path:
            node = self._node(queue)
            spent += share * self._cost_per_tuple(node.id)
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

    def target(self, unit: Unit) -> float:
        """Seconds within which results are wanted: the tightest target of the unit's queries."""
        return min(self.query_target(name) for name in unit.queries)

    def query_target(self, name: QueryId) -> float:
        """Seconds within which a query's results are wanted, or a guess by its class's priority if nobody says.

        The highest class is then taken to want them within a second, a class of half its priority within two, and
        so on up to a hundred.
        """
        target = self._network.target(name)
        if target is not None:
            return target.seconds
        highest = max(query_class.priority for query_class in self._network.classes.values())
        priority = self._network.classes[self._network.queries[name].query_class].priority
        return USUAL_TARGET * min(PATIENCE, ratio(highest, priority)) if highest > 0 else USUAL_TARGET

    def qos(self, name: QueryId) -> QoS | None:
        """A query's QoS graph, if it has one."""
        return self._network.queries[name].qos

    def inputs(self, unit: Unit) -> int:
        """The most inputs of any operator in the unit: 2 where there is a join."""
        return max(len(self._network.nodes[call].queues) for call in unit.calls)

    # -- over a unit's entries --------------------------------------------------------------------------------

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


def _reach(unit: Unit) -> Collection[OperatorId] | None:
    """Which operators count from the unit on: a path ends where it ends, everything else at the results."""
    return unit.inside if unit.level is Level.PATH else None
