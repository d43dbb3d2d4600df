from __future__ import annotations

from collections.abc import Sequence

from headgate.model import Level, Unit
from headgate.plan.network import Network
from headgate.policies.contract import Cut
from headgate.policies.memory.segments import rising, segment_units
from headgate.policies.memory.threshold import Thresholded
from headgate.policies.order import Line
from headgate.policies.registry import register
from headgate.stats import Stats


@register("segment")
class SegmentScheduling(Thresholded):
    """The segment that frees most memory per second of its work goes first, from its first operator to its last.

    A path is cut where the next operator frees no more than the one before; so a dull operator that leads to a good
    one runs together with it, as in `chain`, but without a look at what lies farther up. Segments are cut anew when
    statistics are.

    >>> from headgate.policies.checks import Situation
    >>> first, second = "select, cost=4ms, selectivity=0.9, name=a", "select, cost=1ms, selectivity=0.1, name=b"
    >>> path = [first, second, "project, name=c"]
    >>> Situation({"p": path, "q": "select, cost=2ms, selectivity=0.2, name=d"}).order("segment")
    ['d', 'a…b', 'c']
    """

    source = "Pajjuri 2004, section 4.1.3"
    rule = "highest memory release capacity"
    needs = frozenset({"release_capacity"})
    levels = (Level.SEGMENT,)

    def parts(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit]:
        return segment_units(network, stats.release_capacity, rising)

    def line(self, unit: Unit, stats: Stats) -> Line:
        return stats.release_capacity(unit), 0.0
