from __future__ import annotations

from collections.abc import Sequence

from headgate.model import Level, Unit
from headgate.plan.network import Network
from headgate.policies.contract import Cut
from headgate.policies.memory.threshold import Thresholded
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("path-capacity")
class PathCapacity(Thresholded):
    """The path that handles most tuples per second goes first, from its leaf to its root.

    Running whole paths leaves nothing in the queues between operators, so tuples that are taken are soon through;
    the rest wait before the leaves, and those of dear paths wait long. A path of operators that handle C₁, C₂, …
    tuples per second and let σ₁, σ₂, … pass handles 1/(1/C₁ + σ₁/C₂ + σ₁σ₂/C₃ + …).

    >>> from headgate.policies.checks import Situation
    >>> plans = {"p": ["select, cost=10ms, selectivity=0.5", "select, cost=20ms"], "q": "select, cost=40ms"}
    >>> policy = PathCapacity()
    >>> view = Situation(plans).view(policy)
    >>> [view.stats.capacity(unit) for unit in view.units.values()]
    [50.0, 25.0]
    >>> Situation(plans).order("path-capacity")
    ['p:s-0', 'q:s-2']

    With a `threshold` a path that has more tuples before it goes first, so that those of dear paths starve less.

    >>> Situation(plans, waiting={"q": 6}).order("path-capacity, threshold=5")
    ['q:s-2', 'p:s-0']
    """

    source = "Pajjuri 2004, section 4.1.2"
    rule = "highest processing capacity"
    needs = frozenset({"capacity"})
    levels = (Level.PATH, Level.QUERY)

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        return super().regroup(network, stats, cut) if self.quantum else None

    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.capacity(unit), 0.0
