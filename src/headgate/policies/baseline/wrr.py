from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.model import Level, Unit
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.quantum import turn_length
from headgate.policies.registry import register
from headgate.policies.settings import Setting


@register("wrr")
class WeightedRoundRobin(Cyclic):
    """Operators in a fixed cycle, each for a time quantum by its weight.

    Leaves stand where the tuples come in, joins do more work per tuple than the rest; both get a longer turn. A run
    takes what fits into what is left of the turn, which ends early when nothing waits.

    >>> from headgate.policies.checks import Situation
    >>> policy = WeightedRoundRobin(quantum=0.010)
    >>> queries = {"p": ["select, name=leaf", "project, name=root"], "q": "join, window=1s, name=both"}
    >>> view = Situation(queries).view(policy)
    >>> {str(unit): policy.lasts(view, unit) for unit in policy.build(view)}
    {'leaf': 0.02, 'root': 0.01, 'both': 0.04}
    """

    source = "Pajjuri 2004, section 4.1.1"
    rule = "next in the cycle"
    needs = frozenset({"inputs"})
    levels = (Level.OPERATOR,)
    settings = (
        Setting(
            "quantum",
            0.010,
            "seconds a turn of an operator of weight 1 lasts, at least 10 run overheads; 0: one run",
            least=0.0,
        ),
        Setting("leaf", 2.0, "weight of an operator that reads a stream", least=0.0),
        Setting("join", 2.0, "weight of an operator with several inputs", least=0.0),
    )

    quantum: float
    leaf: float
    join: float

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.quantum:
            self.needs = type(self).needs | {"run_overhead"}
            self.schedule = 1  # a decision is one turn: turns differ in length

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def lasts(self, view: View, unit: Unit) -> float:
        weight = (self.join if view.stats.inputs(unit) > 1 else 1.0) * (self.leaf if unit.depth == 0 else 1.0)
        return weight * turn_length(view, unit, self.quantum)
