from __future__ import annotations

from collections.abc import Mapping

from headgate.model import Level, UnitId
from headgate.policies.classes.drawing import Drawing
from headgate.policies.classes.ranking import priorities
from headgate.policies.classes.shares import query_priorities
from headgate.policies.contract import Reading, View
from headgate.policies.registry import register


@register("lottery")
class Lottery(Drawing):
    """A query is drawn, its tickets its class's priority times its share of the cost; it runs on all that waits.

    The tickets are the priorities of `mbd`, so a class has as many as its priority says however many queries it has. In
    the long run all get their share, and nobody starves; from one run to the next chance decides, so that response
    times vary.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"alarm": "select, cost=2ms", "map": "select, cost=1ms", "report": "select, cost=1ms"}
    >>> of, worth = {"alarm": "gold", "map": "gold", "report": "tin"}, {"gold": 6.0, "tin": 1.0}
    >>> policy = Lottery()
    >>> view = Situation(queries, classes=of, priorities=worth).view(policy)
    >>> {str(view.units[number]): tickets for number, tickets in policy.tickets(view).items()}
    {'alarm': 4.0, 'map': 2.0, 'report': 1.0}
    """

    source = "Al Moakar 2013, section 6.2.1 (ML) with 6.1.2, after Waldspurger, Weihl 1994"
    rule = "chance by class priority times share of the class's cost"
    needs = frozenset({"class_priority", "query_cost"})
    levels = (Level.QUERY,)
    reading = Reading.LAST

    def tickets(self, view: View) -> Mapping[UnitId, float]:
        costs = {name: view.stats.query_cost(name) for unit in view.units.values() for name in unit.queries}
        return query_priorities(view.units.values(), priorities(view), costs)
