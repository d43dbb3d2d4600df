"""How the network is cut into the units that a policy chooses between, and when that is done again."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model import Level, Unit
from headgate.plan.fusion import FULL, Fuse
from headgate.plan.network import Network
from headgate.plan.units import units
from headgate.policies.contract import Policy
from headgate.stats import Stats

REGROUP_INTERVAL = 60.0  # seconds after which groups are formed again if costs have changed


class UnitFormation:
    """Forms units at the policy's level, or lets the policy form its own."""

    def __init__(self) -> None:
        self._formed_by_policy = False
        self._checked = 0.0  # when groups were last formed because of the interval

    def form(self, policy: Policy, network: Network, fuse: Fuse, declared: Stats, stats: Stats) -> Sequence[Unit]:
        """The units to choose between; the policy sees the statistics that it `declared` only."""

        def at_level(level: Level) -> Sequence[Unit]:
            return units(network, level, fuse, stats.load)

        formed = policy.regroup(network, declared, at_level)
        self._formed_by_policy = formed is not None
        return at_level(policy.level) if formed is None else formed

    def is_due(self, current: Sequence[Unit], fuse: Fuse, stats: Stats, now: float) -> bool:
        """Whether new statistics may lead to other units: the policy's own, or groups that should change."""
        return self._formed_by_policy or self._groups_are_due(current, fuse, stats, now)

    def _groups_are_due(self, current: Sequence[Unit], fuse: Fuse, stats: Stats, now: float) -> bool:
        """Whether the interval is over, or a group has far too much work by now."""
        if fuse is Fuse.OFF:
            return False
        if now >= self._checked + REGROUP_INTERVAL:
            self._checked = now
            return True
        return any(stats.load(unit) > 2 * FULL for unit in current if unit.level is Level.GROUP)


def same_units(formed: Sequence[Unit], current: Sequence[Unit]) -> bool:
    """Whether units are the same in everything that scheduling depends on."""
    return list(map(_identity, formed)) == list(map(_identity, current))


def _identity(unit: Unit) -> tuple[object, ...]:
    return unit.id, unit.level, unit.calls, unit.queues, unit.queries
