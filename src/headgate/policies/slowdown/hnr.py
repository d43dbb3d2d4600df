from __future__ import annotations

from headgate.model import Unit
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.policies.slowdown.rate_based import RateBased
from headgate.policies.slowdown.sharing import Rate
from headgate.stats import Stats


@register("hnr")
class HighestNormalizedRate(RateBased):
    """Highest output rate over ideal time first: keeps the mean slowdown low.

    A query that can produce many results for little work goes first, and among such queries the one whose
    results would be quick alone, because a short wait already slows those down a lot.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"}).order("hnr")
    ['q2', 'q1']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 3.3"
    rule = "highest S/(C·T)"
    needs = frozenset({"normalized_rate"})

    def rate(self, stats: Stats) -> Rate:
        return stats.normalized_rate

    def line(self, unit: Unit, stats: Stats) -> Line:
        return self.worth(unit, stats), 0.0
