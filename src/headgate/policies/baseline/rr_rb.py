from __future__ import annotations

from collections.abc import Hashable

from headgate.model import Level, Unit
from headgate.policies.contract import Policy
from headgate.policies.registry import register
from headgate.policies.settings import TRAIN
from headgate.policies.slowdown.hr import HighestRate
from headgate.policies.two_level import TwoLevel


@register("rr-rb")
class RoundRobinRateBased(TwoLevel):
    """Queries take turns; inside a query the operator with the highest output rate runs.

    Aurora's two levels. The rate-based part pushes tuples to the output of the query whose turn it is; between queries
    nothing is known, so a cheap and productive one waits as long as the others. A shared operator counts with the
    first of its queries.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"p": ["select, cost=1ms, name=p1", "select, cost=1ms, name=p2"], "q": "select, cost=9ms, name=q1"}
    >>> Situation(queries).order("rr-rb"), Situation(queries).order("hr, level=operator")
    (['p2', 'q1', 'p1'], ['p2', 'p1', 'q1'])
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 8, after Carney et al. 2003"
    rule = "next query in the cycle, in it the highest S/C"
    needs = HighestRate.needs
    levels = (Level.OPERATOR, Level.PATH)

    def part(self, unit: Unit) -> Hashable:
        return unit.queries[0]

    def title(self, part: Hashable) -> str:
        return f"query {part}"

    def inner(self) -> Policy:
        shared = {setting.name for setting in TRAIN}
        return HighestRate(**{name: value for name, value in self.given.items() if name in shared})
