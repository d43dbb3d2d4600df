from __future__ import annotations

from headgate.model import Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("fcfs")
class FirstComeFirstServed(Linear):
    """The unit whose head tuple arrived first.

    It knows nothing of cost or yield, so a long query delays all that came after it; but nobody starves.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"q1": "select", "q2": "select"}, heads={"q1": 0.2, "q2": 0.1}).order("fcfs")
    ['q2', 'q1']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 8"
    rule = "oldest head tuple"

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, 1.0
