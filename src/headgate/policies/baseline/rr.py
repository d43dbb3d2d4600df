from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.model import HeadgateError, Level, Unit
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.quantum import QUANTUM, turn_length
from headgate.policies.registry import register
from headgate.policies.settings import Setting


@register("rr")
class RoundRobin(Cyclic):
    """Units in a fixed cycle, leaves before what they feed; those with nothing to do are passed over.

    Nobody starves and nobody is preferred: the cycle knows neither cost nor queue length, so queues grow before dear
    operators while idle ones have their turn.

    >>> from headgate.policies.checks import Situation
    >>> chains = {"q1": ["select, name=a", "select, name=b"], "q2": "select, name=c"}
    >>> Situation(chains, waiting={"q1": [1, 0]}).order("rr")
    ['a', 'c']
    >>> Situation(chains).order("rr, unit=query")
    ['q1', 'q2']

    A turn is one run. With a `quantum` it lasts so long, as in the documents: a run takes what fits into that time, and
    the rest waits for the next round. That bounds how long the others wait, and lets queues grow before dear operators.
    """

    source = "Pielech 2004, section 4.2; Pajjuri 2004, section 4.1.1"
    rule = "next in the cycle"
    levels = (Level.OPERATOR, Level.QUERY)
    settings = (
        QUANTUM,
        Setting("unit", Level.OPERATOR.value, "the same as level", choices=tuple(level.value for level in levels)),
    )

    quantum: float
    unit: str

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.quantum:
            self.needs = frozenset({"run_overhead"})
            self.schedule = 1  # a decision is one turn
        if "unit" in settings:
            if "level" in settings and self.level != Level(self.unit):
                raise HeadgateError(f"unit={self.unit} and level={self.level} differ", hint="give one of them")
            self.level = Level(self.unit)

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def lasts(self, view: View, unit: Unit) -> float:
        return turn_length(view, unit, self.quantum)
