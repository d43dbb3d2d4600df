"""Policies whose priority is a rate of results, with a reading of shared operators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from headgate.model import Level, Unit
from headgate.plan.network import Network
from headgate.policies.contract import Cut
from headgate.policies.linear import Linear
from headgate.policies.settings import Setting
from headgate.policies.slowdown.sharing import SHARING, Rate, trees, worth
from headgate.stats import Stats


class RateBased(Linear):
    """Highest rate first. At level `path` a query over several streams is one unit per stream, each with its own."""

    levels = (Level.QUERY, Level.OPERATOR, Level.PATH)
    settings: ClassVar[tuple[Setting, ...]] = (SHARING,)

    sharing: str

    @abstractmethod
    def rate(self, stats: Stats) -> Rate:
        """The rate that decides."""

    def worth(self, unit: Unit, stats: Stats) -> float:
        return worth(unit, self.rate(stats), self.sharing)

    def regroup(self, network: Network, stats: Stats, cut: Cut) -> Sequence[Unit] | None:
        if self.sharing == "pdt" and self.level is Level.QUERY:
            return trees(network, self.rate(stats))
        return None
