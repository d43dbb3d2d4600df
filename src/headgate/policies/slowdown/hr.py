from __future__ import annotations

from headgate.model import Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("hr")
class HighestRate(Linear):
    """Highest output rate first: keeps the mean response time low.

    The rate is that of results per second of processing, from the unit to the output. Work that yields results
    soon is done before work that mostly filters, so results wait for as little as possible.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"}).order("hr")
    ['q1', 'q2']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 3.4"
    rule = "highest S/C"
    needs = frozenset({"output_rate"})

    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.output_rate(unit), 0.0
