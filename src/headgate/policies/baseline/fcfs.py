from __future__ import annotations

from headgate.model import Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("fcfs")
class FirstComeFirstServed(Linear):
    """The unit whose head tuple arrived first."""

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, section 8"
    rule = "oldest head tuple"

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, 1.0
