"""Statistics of small networks, and units to ask about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.model import Level, Query, QueryClass, Stream, Unit, streams
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.plan.units import units
from headgate.policies.checks.short_plans import ShortPlan, build_plan
from headgate.stats import Measured, Stats


@dataclass(frozen=True)
class Scene:
    network: Network
    measured: Measured
    stats: Stats

    def units(self, level: Level, fuse: Fuse = Fuse.OFF) -> tuple[Unit, ...]:
        return units(self.network, level, fuse)


def scene(
    queries: Mapping[str, ShortPlan],
    rates: Mapping[str, float] | None = None,
    *,
    run_overhead: float = 0.0,
    train: float = 1.0,
) -> Scene:
    made = [Query(name=name, query_class="all", plan=build_plan(short)) for name, short in queries.items()]
    return of_queries(made, rates, run_overhead=run_overhead, train=train)


def of_queries(
    queries: list[Query], rates: Mapping[str, float] | None = None, *, run_overhead: float = 0.0, train: float = 1.0
) -> Scene:
    names = dict.fromkeys(name for query in queries for name in streams(query.plan))
    network = Network.of(queries, [Stream(name=name, bytes=10) for name in names], [QueryClass("all", 3.0)])
    measured = Measured.of(network, rates, run_overhead, train)
    return Scene(network, measured, Stats(network, measured))
