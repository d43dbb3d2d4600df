from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.model import WHOLE_QUEUE, Choice, Idle, Level, Unit, UnitId, WorkerId
from headgate.policies.aurora.ordering import ORDER, Ordering
from headgate.policies.aurora.traversal import TRAVERSALS, Boxes, Calls, expected_latency
from headgate.policies.contract import View
from headgate.policies.cyclic import Cyclic
from headgate.policies.registry import register
from headgate.policies.settings import Setting

AUTO = "auto"
PROMPT_OR_FRUGAL = ("min-cost", "min-latency")


@register("aaat")
class ApplicationAtATime(Ordering, Cyclic):
    """Whole queries in a cycle; inside one, its operators are called in an order that suits an aim.

    A query is a superbox: one decision empties all its queues. `traversal` says in which order it calls its boxes:

    * `min-cost`: every box once, the fewest calls;
    * `min-latency`: the cheapest result first, each all the way to the output;
    * `min-memory`: what frees memory fastest first;
    * `auto`: `min-cost` or `min-latency`, whichever promises the lower mean latency for what waits before each box at
      the moment. The dearer tuples are beside calls, the more often that is `min-latency`.

    >>> from headgate.policies.checks import Situation
    >>> filters = ["select, cost=2ms, selectivity=0.5, name=slow", "select, cost=1ms, selectivity=0.1, name=quick"]
    >>> situation = Situation({"p": filters, "q": "select"})
    >>> situation.order("aaat")
    ['p', 'q']
    >>> policy = ApplicationAtATime(traversal="min-memory")
    >>> view = situation.view(policy)
    >>> policy.changed(view)
    >>> policy.calls(view, view.units[0])  # `quick` frees more: first what waits before it, then the rest
    (1, 0, 1)
    """

    source = "Carney 2005, sections 3.3.1 and 3.4.2"
    rule = "next query in the cycle"
    needs = frozenset({"boxes"})
    levels = (Level.QUERY,)
    usual_train = WHOLE_QUEUE
    settings = (
        Setting(
            "traversal",
            "min-cost",
            "in which order a query's operators are called; auto: min-cost or min-latency, by the cost model",
            choices=(*TRAVERSALS, AUTO),
        ),
        ORDER,
    )

    traversal: str

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._calls: dict[UnitId, list[Calls]] = {}  # the orders to choose from
        self._boxes: dict[UnitId, Boxes] = {}

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)

    def calls(self, view: View, unit: Unit) -> Calls:
        """The traversal of one superbox, for what waits in it now."""
        orders, boxes = self._calls[unit.id], self._boxes[unit.id]
        if len(orders) == 1:  # known beforehand
            return orders[0]
        waiting = {box.operator: float(sum(len(view.queue(queue)) for queue in box.queues)) for box in boxes}
        self.tally.computed += sum(len(box.queues) for box in boxes) + sum(map(len, orders))
        return min(orders, key=lambda calls: expected_latency(boxes, calls, waiting))

    def changed(self, view: View) -> None:
        super().changed(view)
        names = PROMPT_OR_FRUGAL if self.traversal == AUTO else (self.traversal,)
        self._boxes = {unit.id: view.stats.boxes(unit) for unit in view.units.values()}
        self._calls = {number: [TRAVERSALS[name](boxes) for name in names] for number, boxes in self._boxes.items()}

    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        return Cyclic.choose(self, view, worker)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        choice = super().choose(view, worker)
        if isinstance(choice, Idle):
            return choice
        calls = tuple(call for unit in choice.units for call in self.calls(view, unit))
        return Choice(choice.units, choice.train, calls=calls)
