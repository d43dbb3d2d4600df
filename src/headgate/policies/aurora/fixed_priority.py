from __future__ import annotations

from collections.abc import Mapping

from headgate.model import Choice, Idle, Unit, UnitId, WorkerId
from headgate.policies.aurora.ordering import ORDER, Ordering
from headgate.policies.aurora.qos_aware import QosAware
from headgate.policies.contract import View
from headgate.policies.linear import Linear
from headgate.policies.order import Line, Order, Ranks
from headgate.policies.registry import register
from headgate.stats import Stats


@register("fixed-priority")
class FixedPriority(Ordering, QosAware, Linear):
    """The least slack first: the QoS graph's deadline less the time that a tuple takes to the output from here.

    The order is known beforehand, equal ones by number, so a decision is cheap. It knows nothing of what waits: under
    overload it goes on with queries whose tuples are late already, and those with more time become late too.

    >>> from headgate.policies.checks import Situation
    >>> chains = {"soon": ["select, cost=1s, name=b2", "select, cost=1s, name=b1"], "later": "select, cost=1s, name=b3"}
    >>> situation = Situation(chains, qos={"soon": [[0, 1], [4, 1], [5, 0]], "later": [[0, 1], [8, 1], [9, 0]]})
    >>> policy = FixedPriority()
    >>> view = situation.view(policy)
    >>> {str(unit): policy.slack(unit, view.stats) for unit in view.units.values()}
    {'b2': 2.0, 'b1': 3.0, 'b3': 7.0}
    >>> situation.order("fixed-priority")
    ['b2', 'b1', 'b3']

    An operator of several queries has the least slack of them.
    """

    source = "Carney 2005, sections 4.2.1 and 4.5"
    rule = "least slack before the deadline"
    settings = (*QosAware.settings, ORDER)
    needs = frozenset({"qos", "remaining_times"})

    def line(self, unit: Unit, stats: Stats) -> Line:
        return -self.slack(unit, stats), 0.0

    def arrange(self, lines: Mapping[UnitId, Line], view: View) -> Order:
        return Ranks(lines, view, self.tally)

    def first(self, view: View, worker: WorkerId) -> Choice | Idle:
        return Linear.choose(self, view, worker)

    def slack(self, unit: Unit, stats: Stats) -> float:
        """Seconds that a tuple may wait here and still be in time; inf where no latency is too long."""
        graphs = ((stats.qos(name), seconds) for name, seconds in stats.remaining_times(unit).items())
        return min(graph.deadline - seconds for graph, seconds in graphs if graph is not None)

    def _rank(self, view: View, unit: Unit) -> tuple[float, float, int, int]:
        return -self._priority(view, unit), 0.0, 0, unit.id
