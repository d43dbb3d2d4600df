from __future__ import annotations

from headgate.model import Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("bsd")
class BalanceSlowdown(Linear):
    """Normalized rate times current slowdown, highest first: balances the mean slowdown against the largest.

    Between `hnr`, which lets unproductive queries starve, and `lsf`, which spends time on tuples that yield nothing:
    the rate decides until somebody has waited too long. It aims at the ℓ2 norm of slowdowns.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"}
    >>> Situation(queries).order("bsd")
    ['q2', 'q1']
    >>> Situation(queries, heads={"q2": 0.9}, now=1.0).order("bsd")
    ['q1', 'q2']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 4.2.2"
    rule = "highest S·W/(C·T²)"
    needs = frozenset({"balanced_rate"})

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, stats.balanced_rate(unit)
