from __future__ import annotations

from headgate.model import Level, Unit
from headgate.policies.contract import View
from headgate.policies.kept import Kept
from headgate.policies.registry import register
from headgate.policies.scored import Score


@register("mtiq")
class MostTuplesInQueue(Kept):
    """The operator with the most tuples in its input queues goes first.

    No queue is left to grow, and one call serves many tuples. Results come in bursts: the root has its turn only
    when more waits before it than before all the others.

    >>> from headgate.policies.checks import Situation
    >>> chain = ["select, name=O1", "select, name=O2", "select, name=O3"]
    >>> Situation({"q": chain}, waiting={"q": [2, 3, 1]}).order("mtiq")
    ['O2', 'O1', 'O3']
    """

    source = "Pielech 2004, section 4.5"
    rule = "most waiting tuples"
    levels = (Level.OPERATOR, Level.QUERY)

    def score(self, unit: Unit, view: View) -> Score:
        return (float(view.waiting(unit)),)
