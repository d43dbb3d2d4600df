from __future__ import annotations

from collections.abc import Sequence

from headgate.model import ONE_TUPLE, Choice, Idle, Level, Unit, WorkerId
from headgate.policies.aurora.ordering import Ordering
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.registry import register


@register("taat")
class TupleAtATime(Ordering, Cyclic):
    """Operators in a cycle, each on one tuple: the plainest scheduler, and the dearest.

    A decision and a call for every tuple and operator. It shows what batches save: compare with `baat`, which batches
    tuples, and `aaat`, which batches operators too.

    >>> from headgate.policies.checks import Situation
    >>> chain = {"q": ["select, name=first", "select, name=second"]}
    >>> Situation(chain, waiting={"q": [100, 10]}).order("taat")
    ['first', 'second']
    >>> TupleAtATime().train.size(waiting=100)
    1
    """

    source = "Carney 2005, section 3.4.5"
    rule = "next in the cycle"
    levels = (Level.OPERATOR,)
    usual_train = ONE_TUPLE

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        return Cyclic.choose(self, view, worker)
