from __future__ import annotations

from collections.abc import Mapping

from headgate.model import Level, UnitId
from headgate.policies.classes.drawing import Drawing
from headgate.policies.classes.ranking import priorities
from headgate.policies.contract import View
from headgate.policies.registry import register


@register("lottery")
class Lottery(Drawing):
    """A query is drawn, with as many tickets as its class's priority; it runs on all that waits.

    In the long run important queries get their share whatever the others do, and nobody starves; from one run to the
    next chance decides, so that response times vary.

    >>> from headgate.policies.checks import Situation
    >>> of, worth = {"alarm": "gold", "report": "tin"}, {"gold": 9.0, "tin": 1.0}
    >>> policy = Lottery()
    >>> view = Situation(dict.fromkeys(of, "select"), classes=of, priorities=worth).view(policy)
    >>> {str(view.units[number]): tickets for number, tickets in policy.tickets(view).items()}
    {'alarm': 9.0, 'report': 1.0}
    """

    source = "Al Moakar 2013, section 6.2.1 (ML), after Waldspurger, Weihl 1994"
    rule = "chance by class priority"
    needs = frozenset({"class_priority"})
    levels = (Level.QUERY,)

    def tickets(self, view: View) -> Mapping[UnitId, float]:
        class_priorities = priorities(view)
        return {number: class_priorities[unit.payer] for number, unit in view.units.items()}
