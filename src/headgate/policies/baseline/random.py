from __future__ import annotations

from random import Random
from typing import Any

from headgate.model import IDLE, Choice, Idle, Unit, WorkerId
from headgate.policies.contract import Policy, View
from headgate.policies.registry import register


@register("random")
class UniformlyAtRandom(Policy):
    """Any unit that can run, each as likely as the others: the control in every comparison.

    A policy that is not better than this one does not know what it pretends to know.

    >>> from headgate.policies.checks import Situation
    >>> situation = Situation({"q1": "select", "q2": "select", "q3": "select"})
    >>> situation.order("random"), situation.order("random")
    (['q2', 'q3', 'q1'], ['q2', 'q3', 'q1'])
    """

    source = "no document: the control that comparisons need"
    rule = "chance"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._random = Random(0)

    def seed(self, seed: int) -> None:
        self._random = Random(seed)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        ready = [
            view.ready[number] for number in sorted(view.ready)
        ]  # the draw must not depend on who became ready first
        if not ready:
            return IDLE
        return Choice(tuple(self._random.sample(ready, min(self.schedule, len(ready)))), self.train)

    def reason(self, view: View, winner: Unit, second: Unit | None) -> str:
        if second is None:
            return ""
        return (
            f"{winner} was drawn, one of {len(view.ready)}, each as likely; {second} has waited longest of the others"
        )
