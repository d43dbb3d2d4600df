"""A floor under the queues that are worth a run (Pajjuri 2004, section 4.1.6.4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from headgate.model import IDLE, Choice, Idle, Unit, UnitId, WorkerId
from headgate.policies.contract import View
from headgate.policies.linear import Linear
from headgate.policies.settings import Setting

THRESHOLD = Setting(
    "threshold",
    0,
    "units with more tuples waiting before them go first, whatever the order; 0: the order alone decides",
    least=0,
)


class Thresholded(Linear):
    """The order decides among the units with more than `threshold` tuples before them, and among all if none has.

    The document leaves a short queue alone until it grows; here it has its turn when nothing else is left, because
    a core that idles while tuples wait helps nobody.
    """

    settings: ClassVar[tuple[Setting, ...]] = (THRESHOLD,)

    threshold: int

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if not self.threshold:
            return super().choose(view, worker)
        ready = view.ready.values()
        self.tally.computed += len(ready)
        self.tally.compared += len(ready)
        best = sorted(ready, key=lambda unit: self._place(view, unit))[: self.schedule]
        return Choice(tuple(best), self.train) if best else IDLE

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        return {"before": float(_before(view, unit)), **super().numbers(view, unit)}

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        others = [unit for unit in view.ready.values() if unit.id not in chosen]
        return min(others, key=lambda unit: self._place(view, unit), default=None)

    def _place(self, view: View, unit: Unit) -> tuple[bool, float, float, int, int]:
        return _before(view, unit) <= self.threshold, *self._rank(view, unit)


def _before(view: View, unit: Unit) -> int:
    """Tuples that wait before the unit, both inputs of a join together; what is left over inside it aside."""
    return sum(len(view.queue(queue)) for entry in unit.entries for queue in entry)
