from __future__ import annotations

from headgate.model import Level
from headgate.policies.classes.mrr import MultiCoreRoundRobin
from headgate.policies.registry import register


@register("morr")
class MultiCoreOperatorRoundRobin(MultiCoreRoundRobin):
    """Operators in a fixed cycle, each on all that waits before it.

    Operators of one query can run at the same time on several cores, but a tuple waits before each of them, so it is
    slower than `mrr`.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"p": ["select, name=leaf", "select, name=root"], "q": "select, name=only"}).order("morr")
    ['leaf', 'root', 'only']
    """

    source = "Al Moakar 2013, section 6.2.1 (MORR)"
    rule = "next operator in the cycle"
    levels = (Level.OPERATOR,)
