"""Where waiting tuples will stand on their QoS graphs when they come out (Carney 2005, section 4.2.2)."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from headgate.model import GRACE, QoS, QueueId, Unit, UnitId
from headgate.policies.contract import View

_NEVER = float("inf")


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


class Curve:
    """A QoS graph with its slopes and critical points looked up beforehand.

    >>> Curve(QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.25]])).at(1.5)
    Outlook(utility=0.5, slack=0.5)
    """

    __slots__ = ("_ends", "_falls", "_starts")

    def __init__(self, graph: QoS) -> None:
        self._starts = sorted({0.0, *(latency for latency, _ in graph.points)})
        self._falls = [graph.fall(start) for start in self._starts]
        self._ends = [start + graph.slack(start) for start in self._starts]

    def at(self, latency: float) -> Outlook:
        stretch = bisect_right(self._starts, latency) - 1
        end = self._ends[stretch]
        return Outlook(self._falls[stretch], end if end == _NEVER else end - latency)  # the latency may be infinite too


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
        stats = view.stats
        ways = [
            (unit.id, graph, costs)
            for unit in view.units.values()
            for name, costs in stats.output_costs(unit).items()
            if (graph := stats.qos(name)) is not None
        ]
        self.graphs = {graph for _, graph, _ in ways}
        curves = {graph: Curve(graph) for graph in self.graphs}
        self._ways: dict[UnitId, list[tuple[Curve, tuple[tuple[QueueId, float], ...]]]] = {}
        for number, graph, costs in ways:
            self._ways.setdefault(number, []).append((curves[graph], costs))

    def queues(self, unit: Unit) -> set[QueueId]:
        """The queues that count for a unit."""
        return {queue for _, costs in self._ways[unit.id] for queue, _ in costs}.union(unit.queues)

    def latencies(self, view: View, unit: Unit) -> list[float]:
        """The expected output latency for each of the unit's queries."""
        latency = _latency(view, unit)
        return [latency + _work(view, costs) for _, costs in self._ways[unit.id]]

    def of(self, view: View, unit: Unit) -> list[Outlook]:
        """The outlook of each of the unit's queries."""
        latency = _latency(view, unit) + GRACE  # a nanosecond before a critical point is at it
        return [curve.at(latency + _work(view, costs)) for curve, costs in self._ways[unit.id]]

    def best(self, view: View, unit: Unit) -> Outlook:
        """The most urgent outlook of a unit: tuples that several queries await hurry for the one in most need."""
        outlooks = self.of(view, unit)
        return outlooks[0] if len(outlooks) == 1 else max(outlooks, key=lambda outlook: outlook.rank)


def _work(view: View, costs: tuple[tuple[QueueId, float], ...]) -> float:
    """Seconds until what waits on the way to the results is through."""
    total = 0.0
    for queue, cost in costs:
        if waiting := len(view.queue(queue)):  # else an infinite cost times nothing would be no number
            total += waiting * cost
    return total


def _latency(view: View, unit: Unit) -> float:
    """How long the unit's tuples have been in the system, on average."""
    waiting, total = 0, 0.0
    for number in unit.queues:
        queue = view.queue(number)
        if count := len(queue):
            waiting += count
            total += count * (view.now - queue.mean)
    return total / waiting if waiting else 0.0
