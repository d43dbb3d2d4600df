from __future__ import annotations

from headgate.model import Unit
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.policies.slowdown.rate_based import RateBased
from headgate.policies.slowdown.sharing import Rate
from headgate.stats import Stats


@register("hr")
class HighestRate(RateBased):
    """Highest output rate first: keeps the mean response time low.

    The rate is that of results per second of processing, from the unit to the output. Work that yields results
    soon is done before work that mostly filters, so results wait for as little as possible.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"}).order("hr")
    ['q1', 'q2']

    A shared operator counts for all of its queries, for the best (`sharing=max`), or for those that raise the rate
    (`sharing=pdt`), which then run without the others.

    >>> shared = "select, cost=1ms, name=hot"
    >>> queries = {"a": [shared, "select, cost=1ms"], "b": [shared, "select, cost=9ms"], "c": "select, cost=3ms"}
    >>> Situation(queries).order("hr"), Situation(queries).order("hr, sharing=pdt")
    (['c', 'a+b'], ['a', 'c', 'b'])
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 3.4"
    rule = "highest S/C"
    needs = frozenset({"output_rate"})

    def rate(self, stats: Stats) -> Rate:
        return stats.output_rate

    def line(self, unit: Unit, stats: Stats) -> Line:
        return self.worth(unit, stats), 0.0
