from __future__ import annotations

from collections.abc import Sequence

from headgate.model import WHOLE_QUEUE, Choice, Idle, Level, Unit, WorkerId
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.registry import register


@register("thread-per-box")
class ThreadPerBox(Cyclic):
    """Every operator is a thread of its own, and the operating system switches between those that have work.

    Not a policy to use, but what there is without a scheduler. Threads take turns, each until nothing waits before
    its operator. A switch is a run, which pays `run_overhead`; and at each one the system goes through all threads to
    see which of them can run, so that switching costs more, the more operators there are.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"q": ["select, name=first", "select, name=second"]}).order("thread-per-box")
    ['first', 'second']
    """

    source = "Carney 2005, section 3.2.3 (figure 3.3)"
    rule = "next thread in the cycle"
    levels = (Level.OPERATOR,)
    usual_train = WHOLE_QUEUE

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        self.tally.compared += len(view.units)
        return super().choose(view, worker)
