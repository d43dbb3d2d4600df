from __future__ import annotations

from collections.abc import Sequence

from headgate.model import Level, Unit
from headgate.plan.network import Network
from headgate.policies.contract import Cut
from headgate.policies.memory.segments import in_two, segment_units
from headgate.policies.memory.threshold import Thresholded
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.policies.settings import Setting
from headgate.stats import Stats


@register("simplified-segment")
class SimplifiedSegmentScheduling(Thresholded):
    """As `segment`, with two segments per path at most: a tuple is set down once at most on its way.

    The first reaches as far as each operator frees more than `gamma` times as much as the one before it; the rest
    is the second. More memory than `segment`, less delay. No value of gamma is published.

    >>> from headgate.policies.checks import Situation
    >>> first, second = "select, cost=1ms, selectivity=0.1, name=a", "select, cost=1ms, selectivity=0.4, name=b"
    >>> path = [first, second, "project, name=c"]
    >>> Situation({"q": path}).order("segment"), Situation({"q": path}).order("simplified-segment, gamma=0.5")
    (['a', 'b', 'c'], ['a…b', 'c'])
    """

    source = "Pajjuri 2004, section 4.1.4"
    rule = "highest memory release capacity"
    needs = frozenset({"release_capacity"})
    levels = (Level.SEGMENT,)
    settings = (
        *Thresholded.settings,
        Setting(
            "gamma", 0.5, "an operator joins the first segment above this share of the one before", least=0, most=1
        ),
    )

    gamma: float

    def parts(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit]:
        return segment_units(network, stats.release_capacity, lambda path, capacity: in_two(path, capacity, self.gamma))

    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.release_capacity(unit), 0.0
