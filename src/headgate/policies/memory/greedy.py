from __future__ import annotations

from headgate.model import Level, Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats, ratio


@register("greedy")
class Greedy(Linear):
    """The operator that gets rid of most tuples per second of its own work goes first.

    It looks one operator ahead. A filter that lets all through but feeds one that stops nearly everything looks
    useless to it; `chain` sees both.

    >>> from headgate.policies.checks import Situation
    >>> filters = ["select, cost=1s, selectivity=0.9, name=O1", "select, cost=250ms, selectivity=0.1, name=O2"]
    >>> Situation({"q": [*filters, "select, cost=750ms, selectivity=1, name=O3"]}).order("greedy")
    ['O2', 'O1', 'O3']
    """

    source = "Pielech 2004, section 4.4"
    rule = "highest (1−s)/c"
    needs = frozenset({"cost", "selectivity"})
    levels = (Level.OPERATOR,)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return ratio(1.0 - stats.selectivity(unit), stats.cost(unit)), 0.0
