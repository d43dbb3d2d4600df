from __future__ import annotations

import math

from headgate.model import Level, Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("lsf")
class LongestStretchFirst(Linear):
    """The head tuple that is slowed down most goes first: keeps the largest slowdown low.

    A wait of 10 ms is ten times the ideal time of a query that needs 1 ms, and nothing to one that needs a second.
    It reckons with the worst: that every tuple passes all filters.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"short": "select, cost=1ms", "long": "select, cost=10ms"}
    >>> Situation(queries).order("lsf")
    ['short', 'long']
    >>> Situation(queries, heads={"short": 0.95}, now=1.0).order("lsf")
    ['long', 'short']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 4.1"
    rule = "highest W/T"
    needs = frozenset({"ideal_time"})
    levels = (Level.QUERY, Level.OPERATOR, Level.PATH)

    def line(self, unit: Unit, stats: Stats) -> Line:
        ideal = stats.ideal_time(unit)
        return 0.0, 1.0 / ideal if ideal else math.inf
