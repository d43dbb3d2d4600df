from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headgate.model import IDLE, Choice, HeadgateError, Idle, Unit, UnitId, WorkerId
from headgate.policies.contract import View
from headgate.policies.order import Line, Order
from headgate.policies.registry import register
from headgate.policies.settings import Setting
from headgate.policies.slowdown.clusters import Clusters, cluster_of, edges
from headgate.policies.slowdown.rate_based import RateBased
from headgate.policies.slowdown.sharing import SHARING, Rate
from headgate.stats import Stats


@register("bsd")
class BalanceSlowdown(RateBased):
    """Normalized rate times current slowdown, highest first: balances the mean slowdown against the largest.

    Between `hnr`, which lets unproductive queries starve, and `lsf`, which spends time on tuples that yield nothing:
    the rate decides until somebody has waited too long. It aims at the ℓ2 norm of slowdowns.

    >>> from headgate.policies.checks import Situation
    >>> queries = {"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"}
    >>> Situation(queries).order("bsd")
    ['q2', 'q1']
    >>> Situation(queries, heads={"q2": 0.9}, now=1.0).order("bsd")
    ['q1', 'q2']

    With `clusters` a decision compares clusters of units of like rate instead of units; in a cluster the oldest
    tuple goes first. With one cluster nothing else decides.

    >>> Situation(queries, heads={"q2": 0.1}, now=1.0).order("bsd")
    ['q2', 'q1']
    >>> Situation(queries, heads={"q2": 0.1}, now=1.0).order("bsd, clusters=1")
    ['q1', 'q2']
    """

    source = "Sharaf, Chrysanthis, Labrinidis, Pruhs 2006, sections 4.2.2, 6.2 and 7"
    rule = "highest S·W/(C·T²)"
    needs = frozenset({"balanced_rate"})
    settings = (
        SHARING,
        Setting("clusters", 0, "how many clusters of units a decision looks at; 0: at every unit", least=0),
        Setting("clustering", "log", "clusters of equal ratio or of equal width", choices=("log", "uniform")),
        Setting("pruning", "none", "fagin: stop as soon as no other cluster can win", choices=("none", "fagin")),
        Setting(
            "batch",
            "none",
            "cluster: one run of all units of the cluster that the head tuple awaits, whatever schedule says",
            choices=("none", "cluster"),
        ),
    )

    clusters: int
    clustering: str
    pruning: str
    batch: str

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in ("clustering", "pruning", "batch"):
            if not self.clusters and getattr(self, name) != self._default(name):
                raise HeadgateError(f"{name} goes with clusters", hint=f"write clusters=12, {name}={settings[name]}")
        self._streams: dict[UnitId, frozenset[str]] = {}
        if self._batches:
            self.needs = self.needs | {"streams"}

    def rate(self, stats: Stats) -> Rate:
        return stats.balanced_rate

    def line(self, unit: Unit, stats: Stats) -> Line:
        return 0.0, self.worth(unit, stats)

    def changed(self, view: View) -> None:
        super().changed(view)
        if self._batches:
            self._streams = {unit.id: view.stats.streams(unit) for unit in view.units.values()}

    def arrange(self, lines: Mapping[UnitId, Line], view: View) -> Order:
        if not self.clusters:
            return super().arrange(lines, view)
        lower = edges((slope for _, slope in lines.values()), self.clusters, self.clustering)
        pseudo = {number: cluster_of(slope, lower) for number, (_, slope) in lines.items()}
        return Clusters(pseudo, view, self.tally, pruned=self.pruning == "fagin")

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        if not (self._batches and isinstance(self._order, Clusters)):
            return super().choose(view, worker)
        units = self._order.pop_all(view, self._streams)
        return Choice(tuple(units), self.train, together=len(units) > 1) if units else IDLE

    def numbers(self, view: View, unit: Unit) -> dict[str, float]:
        numbers = super().numbers(view, unit)
        if isinstance(self._order, Clusters):
            numbers["pseudo_priority"] = self._order.pseudo_priority(unit)
            numbers["priority"] = self._order.priorities(view)[unit.id]
        return numbers

    def runner_up(self, view: View, chosen: Collection[UnitId]) -> Unit | None:
        if not isinstance(self._order, Clusters):
            return super().runner_up(view, chosen)
        priorities = self._order.priorities(view)
        others = [unit for unit in view.ready.values() if unit.id not in chosen]
        return min(others, key=lambda unit: (-priorities[unit.id], *self._rank(view, unit)[1:]), default=None)

    @property
    def _batches(self) -> bool:
        return self.batch == "cluster"

    def _default(self, name: str) -> str:
        return str(next(setting.default for setting in self.settings if setting.name == name))
