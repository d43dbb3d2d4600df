from __future__ import annotations

from headgate.model import Level, Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("srpt")
class ShortestRemainingProcessingTime(Linear):
    """Smallest remaining ideal processing time first.

    The best there is for the mean response time where every job yields a result. Filters are the reason why it is not
    for continuous queries: it runs a cheap query first even if hardly a tuple passes. Without filters `hr` and `hnr`
    decide as it does.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.01"}
    >>> Situation(queries).order("srpt")
    ['q2', 'q1']
    >>> Situation({"q": ["select, cost=1ms, name=first", "select, cost=4ms, name=last"]}).order("srpt, level=operator")
    ['last', 'first']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 3.5"
    rule = "smallest remaining time"
    needs = frozenset({"remaining_time"})
    levels = (Level.QUERY, Level.OPERATOR, Level.PATH)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return -stats.remaining_time(unit), 0.0
