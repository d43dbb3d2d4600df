from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.model import WHOLE_QUEUE, Choice, Idle, Level, OperatorId, Unit, UnitId, WorkerId
from headgate.policies.aurora.traversal import TRAVERSALS
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.registry import register
from headgate.policies.settings import Setting


@register("aaat")
class ApplicationAtATime(Cyclic):
    """Whole queries in a cycle; inside one, its operators are called in an order that suits an aim.

    A query is a superbox: one decision empties all its queues. `traversal` says in which order it calls its boxes:

    * `min-cost`: every box once, the fewest calls;
    * `min-latency`: the cheapest result first, each all the way to the output;
    * `min-memory`: what frees memory fastest first.

    >>> from headgate.policies.checks import Situation
    >>> filters = ["select, cost=2ms, selectivity=0.5, name=slow", "select, cost=1ms, selectivity=0.1, name=quick"]
    >>> situation = Situation({"p": filters, "q": "select"})
    >>> situation.order("aaat")
    ['p', 'q']
    >>> policy = ApplicationAtATime(traversal="min-memory")
    >>> view = situation.view(policy)
    >>> policy.changed(view)
    >>> policy.calls(view.units[0])  # `quick` frees more: first what waits before it, then the rest
    (1, 0, 1)
    """

    source = "Carney 2005, sections 3.3.1 and 3.4.2"
    rule = "next query in the cycle"
    needs = frozenset({"boxes"})
    levels = (Level.QUERY,)
    usual_train = WHOLE_QUEUE
    settings = (
        Setting("traversal", "min-cost", "in which order a query's operators are called", choices=tuple(TRAVERSALS)),
    )

    traversal: str

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._calls: dict[UnitId, tuple[OperatorId, ...]] = {}

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def calls(self, unit: Unit) -> tuple[OperatorId, ...]:
        """The traversal of one superbox."""
        return self._calls[unit.id]

    def changed(self, view: View) -> None:
        super().changed(view)
        traverse = TRAVERSALS[self.traversal]
        self._calls = {unit.id: traverse(view.stats.boxes(unit)) for unit in view.units.values()}

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice = super().choose(view, worker)
        if isinstance(choice, Idle):
            return choice
        calls = tuple(call for unit in choice.units for call in self.calls(unit))
        return Choice(choice.units, choice.train, calls=calls)
