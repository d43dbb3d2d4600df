from __future__ import annotations

from collections.abc import Sequence

from headgate.model import WHOLE_QUEUE, Choice, Idle, Level, Unit, WorkerId
from headgate.policies.aurora.ordering import Ordering
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.registry import register


@register("baat")
class BoxAtATime(Ordering, Cyclic):
    """Operators in a cycle, each on its whole queue: the overhead of a call is shared by a train of tuples.

    `train=0.2` takes a fifth of the queue. Smaller trains let others go on in between and cost more calls.

    >>> from headgate.policies.checks import Situation
    >>> chain = {"q": ["select, name=first", "select, name=second"]}
    >>> Situation(chain, waiting={"q": [100, 10]}).order("baat")
    ['first', 'second']
    >>> BoxAtATime().train.size(waiting=100), BoxAtATime(train=0.2).train.size(waiting=100)
    (100, 20)
    """

    source = "Carney 2005, sections 3.3.2 and 3.4.2"
    rule = "next in the cycle"
    levels = (Level.OPERATOR,)
    usual_train = WHOLE_QUEUE

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        return Cyclic.choose(self, view, worker)
