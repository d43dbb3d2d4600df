from __future__ import annotations

from headgate.model import Level
from headgate.policies.registry import register
from headgate.policies.targets.by_deadline import ByDeadline
from headgate.stats.ways import Way


@register("cameo")
class Cameo(ByDeadline):
    """The tuple that has the least time left before it has to start, by its target and the work before it.

    A tuple that arrived at t and is wanted within L has to start at t + L − c − the cost of the longest way behind the
    operator. So of two tuples with equal targets the one with more work before it goes first.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"short": "select, cost=1s, name=a", "long": ["select, cost=1s, name=b1", "select, cost=4s, name=b2"]}
    >>> wanted = {"short": "6 s", "long": "8 s"}  # a: 0 + 6 − 1, b1: 0 + 8 − 5, b2: 0 + 8 − 4
    >>> Situation(queries, targets=wanted).order("cameo, level=operator")
    ['b1', 'b2', 'a']

    A window gives nothing before it ends, so its tuples have until then and the target on top.

    >>> windows = {"count": "aggregate, window=10s, cost=1s", "alarm": "select, cost=1s"}  # 10 + 2 − 1, and 5 + 4 − 1
    >>> Situation(windows, targets={"count": "2 s", "alarm": "4 s"}, heads={"count": 3, "alarm": 5}).order("cameo")
    ['alarm', 'count']
    """

    source = "Xu, Venkataraman, Gupta, Mai, Potharaju 2021 (Cameo)"
    rule = "earliest start deadline: arrival + target − work to the results"
    needs = frozenset({"ways"})
    levels = (Level.QUERY, Level.OPERATOR)

    def due(self, way: Way, arrival: float) -> float:
        return way.result(arrival) + way.target - way.seconds
