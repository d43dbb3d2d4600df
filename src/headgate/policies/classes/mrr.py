from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate.model import WHOLE_QUEUE, Level, Unit
from headgate.policies.contract import Reading, View
from headgate.policies.cyclic import Cyclic
from headgate.policies.registry import register


@register("mrr")
class MultiCoreRoundRobin(Cyclic):
    """Queries in a fixed cycle, each on all that waits for it, through to the output.

    Long trains and nothing left between operators make it quick over all; classes mean nothing to it.

    >>> from headgate.policies.checks import Situation
    >>> Situation({"p": ["select", "select"], "q": "select"}).order("mrr")
    ['p', 'q']
    """

    source = "Al Moakar 2013, section 6.2.1 (MRR)"
    rule = "next query in the cycle"
    levels = (Level.QUERY,)
    reading = Reading.LAST

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.train = self.train or WHOLE_QUEUE

    def build(self, view: View) -> Sequence[Unit]:
        return sorted(view.units.values(), key=lambda unit: unit.id)
