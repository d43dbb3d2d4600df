from __future__ import annotations

from collections.abc import Mapping

from headgate.model import Level, UnitId
from headgate.policies.classes.drawing import Drawing
from headgate.policies.classes.ranking import priorities
from headgate.policies.contract import Reading, View
from headgate.policies.registry import register


@register("operator-lottery")
class OperatorLottery(Drawing):
    """An operator is drawn, its tickets its share of its class's cost times the class's priority.

    So a class has as many tickets as its priority, and inside it those operators run often that have most to do. A
    tuple must win once for every operator on its way.

    >>> from headgate.policies.checks import Situation
    >>> policy = OperatorLottery()
    >>> chain = {"q": ["select, cost=3ms, name=dear", "select, cost=1ms, name=cheap"]}
    >>> view = Situation(chain, priorities={"all": 8.0}).view(policy)
    >>> {str(view.units[number]): tickets for number, tickets in policy.tickets(view).items()}
    {'dear': 6.0, 'cheap': 2.0}
    """

    source = "Al Moakar 2013, section 6.2.1 (MOL), after Waldspurger, Weihl 1994"
    rule = "chance by class priority times share of the class's cost"
    needs = frozenset({"class_priority", "cost"})
    levels = (Level.OPERATOR,)
    reading = Reading.LAST

    def tickets(self, view: View) -> Mapping[UnitId, float]:
        class_priorities = priorities(view)
        costs = {number: view.stats.cost(unit) for number, unit in view.units.items()}
        of_class = dict.fromkeys(class_priorities, 0.0)
        for number, unit in view.units.items():
            of_class[unit.payer] += costs[number]
        return {
            number: class_priorities[unit.payer] * costs[number] / of_class[unit.payer] if costs[number] else 0.0
            for number, unit in view.units.items()
        }
