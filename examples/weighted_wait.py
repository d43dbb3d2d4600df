"""A policy of one's own, in a file.

headgate simulate examples/sensors.toml --policy fcfs --policy examples/weighted_wait.py:WeightedWait

docs/policies.md has the kinds of policy to derive from, and all that one may read.
"""

from __future__ import annotations

from headgate.model import Unit
from headgate.policies.linear import Linear
from headgate.policies.order import Line
from headgate.policies.settings import Setting
from headgate.stats import Stats


class WeightedWait(Linear):
    """The unit whose head tuple has the highest product of wait and a power of its class's priority.

    With power=0 classes do not count, and it is first come, first served.
    """

    rule = "highest wait · priority^power"
    source = "no document: an example"
    needs = frozenset({"class_priority"})  # the statistics it reads; reading another one is an error
    settings = (Setting("power", 1.0, "how much the class counts", least=0.0),)

    power: float  # each setting becomes an attribute

    def line(self, unit: Unit, stats: Stats) -> Line:
        """The priority of a unit, as (a, b): a + b · wait of its head tuple."""
        return 0.0, stats.class_priority(unit) ** self.power
