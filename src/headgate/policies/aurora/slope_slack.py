from __future__ import annotations

from collections.abc import Collection

from headgate.model import Choice, Idle, QueueId, Unit, WorkerId
from headgate.policies.aurora.ordering import ORDER, Ordering
from headgate.policies.aurora.outlook import Outlooks
from headgate.policies.aurora.qos_aware import QosAware
from headgate.policies.contract import Policy, View
from headgate.policies.kept import Kept
from headgate.policies.registry import register
from headgate.policies.scored import Score


@register("slope-slack")
class SlopeSlack(Ordering, QosAware, Kept):
    """What loses most utility per second first; where nothing is lost yet, what begins to lose soonest.

    It looks at where the waiting tuples will stand on their QoS graph when they come out. Those that are too late for
    any utility come last, so that under overload others are in time.

    >>> from headgate.policies.checks import Situation
    >>> queries = {name: f"select, cost=1s, name={name}" for name in "abc"}
    >>> graphs = {"a": [[0, 1], [9, 1], [9, 0]], "b": [[0, 1], [4, 1], [4, 0]], "c": [[0, 1], [20, 0]]}
    >>> Situation(queries, qos=graphs, now=1).order("slope-slack")  # c loses all the time, b begins before a does
    ['c', 'b', 'a']
    >>> Situation(queries, qos=graphs, now=5).order("slope-slack")  # b is late
    ['c', 'a', 'b']

    An operator of several queries counts for the one that is in most need.
    """

    source = "Carney 2005, sections 4.2.2 and 4.5"
    rule = "steepest fall of utility, then least slack"
    settings = (*QosAware.settings, ORDER)
    needs = frozenset({"qos", "output_costs"})

    def changed(self, view: View) -> None:
        self._outlooks = Outlooks(view)
        self._reads = {number: len(self._outlooks.queues(unit)) for number, unit in view.units.items()}
        super().changed(view)

    def counts(self, unit: Unit) -> Collection[QueueId]:
        return self._outlooks.queues(unit)

    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        return Kept.choose(self, view, worker)

    def reads(self, view: View) -> int:
        return sum(self._reads[number] for number in view.ready)

    def score(self, unit: Unit, view: View) -> Score:
        """Slack shrinks for all alike, so the moment when there is none left keeps the order."""
        outlook = self._outlooks.best(view, unit)
        return outlook.utility, -round(view.now + outlook.slack, 9)

    def until(self, unit: Unit, view: View) -> float:
        return view.now + min(outlook.slack for outlook in self._outlooks.of(view, unit))

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        return {**self._outlooks.best(view, unit)._asdict(), **Policy.numbers(self, view, unit)}
