"""Where waiting tuples will stand on their QoS graphs when they come out (Carney 2005, section 4.2.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headgate.metrics.qos import GRACE
from headgate.model import QoS, QueueId, Unit, UnitId
from headgate.policies.contract import View


class Outlook(NamedTuple):
    """One query's prospect: how steeply its graph falls at the expected latency, and how far that is from changing.

    Behind the last critical point nothing is to be lost any more: no utility, and slack without end.
    """

    utility: float
    slack: float

    @property
    def rank(self) -> tuple[float, float]:
        """Larger is more urgent: first what loses most per second, then what begins to lose soonest."""
        return self.utility, -self.slack


class Outlooks:
    """The prospects of units, by graphs and costs that are looked up once.

    The expected output latency of a unit b is eol(b) = mean latency of its tuples + Σ waiting(k)·cost(k)/o_sel(k)
    over D(b), b and all downstream of it.

    >>> from headgate.policies.checks import Situation
    >>> from headgate.policies.aurora.slope_slack import SlopeSlack
    >>> chain = {"q": ["select, cost=1s", "select, cost=1s, selectivity=0.5"]}
    >>> view = Situation(chain, qos={"q": [[0, 1], [8, 1], [9, 0]]}, heads={"q": [0, 1]}, now=2).view(SlopeSlack())
    >>> [Outlooks(view).latencies(view, unit) for unit in view.units.values()]  # 2 + 2 + 2 and 1 + 2
    [[6.0], [3.0]]
    """

    def __init__(self, view: View) -> None:
        self._ways: dict[UnitId, list[tuple[QoS, tuple[tuple[QueueId, float], ...]]]] = {
            unit.id: [
                (graph, costs)
                for name, costs in view.stats.output_costs(unit).items()
                if (graph := view.stats.qos(name)) is not None
            ]
            for unit in view.units.values()
        }

    def graphs(self) -> set[QoS]:
        return {graph for ways in self._ways.values() for graph, _ in ways}

    def queues(self, unit: Unit) -> set[QueueId]:
        """The queues that count for a unit."""
        return {queue for _, costs in self._ways[unit.id] for queue, _ in costs}.union(unit.queues)

    def latencies(self, view: View, unit: Unit) -> list[float]:
        """The expected output latency for each of the unit's queries."""
        return [latency for _, latency in self._expected(view, unit)]

    def of(self, view: View, unit: Unit) -> list[Outlook]:
        """The outlook of each of the unit's queries."""
        found = []
        for graph, latency in self._expected(view, unit):
            reached = latency + GRACE  # a nanosecond before a critical point is at it
            found.append(Outlook(graph.fall(reached), graph.slack(reached)))
        return found

    def best(self, view: View, unit: Unit) -> Outlook:
        """The most urgent outlook of a unit: tuples that several queries await hurry for the one in most need."""
        return max(self.of(view, unit), key=lambda outlook: outlook.rank)

    def _expected(self, view: View, unit: Unit) -> Iterator[tuple[QoS, float]]:
        latency = _latency(view, unit)
        for graph, costs in self._ways[unit.id]:
            work = 0.0
            for queue, each in costs:
                if waiting := len(view.queue(queue)):  # else an infinite cost times nothing would be no number
                    work += waiting * each
            yield graph, latency + work


def _latency(view: View, unit: Unit) -> float:
    """How long the unit's tuples have been in the system, on average."""
    waiting, total = 0, 0.0
    for number in unit.queues:
        queue = view.queue(number)
        if count := len(queue):
            waiting += count
            total += count * (view.now - queue.mean)
    return total / waiting if waiting else 0.0
