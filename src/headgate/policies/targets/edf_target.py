from __future__ import annotations

from typing import Any

from headgate.model import WHOLE_QUEUE, Unit
from headgate.policies.contract import View
from headgate.policies.registry import register
from headgate.policies.settings import Setting
from headgate.policies.targets.by_deadline import ByDeadline
from headgate.stats.ways import Way


@register("edf-target")
class EarliestDeadlineFirst(ByDeadline):
    """The run that has to start soonest so that its oldest tuple comes out within its query's target.

    Results come when a run ends, so what counts is the cost of a whole run on all that waits (or on `train`), by the
    cost model of the unit: a query, queries that share operators, or a fused group.

    >>> from headgate.policies.checks import Situation
    >>> queries, wanted = dict.fromkeys("ab", "select, cost=1s"), {"a": "7 s", "b": "5 s"}
    >>> Situation(queries, targets=wanted).order("edf-target")  # a: 0 + 7 − 1, b: 0 + 5 − 1
    ['b', 'a']
    >>> Situation(queries, targets=wanted, waiting={"a": 5, "b": 2}).order("edf-target")  # a: 0 + 7 − 5, b: 0 + 5 − 2
    ['a', 'b']

    There, b ends after 7 s and is late. By the deadlines themselves b ends after 2 s and a after 7 s, both in time:
    if runs that wait together can all be in time, this order does it.

    >>> Situation(queries, targets=wanted, waiting={"a": 5, "b": 2}).order("edf-target, by=deadline")
    ['b', 'a']

    Tuples of a window count from its end, before which there is no result.
    """

    source = "Headgate: docs/policies-targets.md, after Liu, Layland 1973"
    rule = "earliest arrival + target, less the run's cost"
    needs = frozenset({"model", "ways"})
    settings = (
        Setting(
            "by", "start", "what is earliest: the start that is in time, or the deadline", choices=("start", "deadline")
        ),
    )

    usual_train = WHOLE_QUEUE

    by: str

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.by == "deadline":
            self.needs = frozenset({"ways"})

    def tuples(self, unit: Unit, view: View) -> float:
        waiting = super().tuples(unit, view)
        return self.train.size(round(waiting)) if self.train is not None else waiting

    def due(self, way: Way, arrival: float) -> float:
        return way.result(arrival) + way.target
