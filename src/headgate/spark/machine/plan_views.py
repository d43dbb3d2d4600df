"""The plan of a query as it runs: what was measured of its operators, and which queries share its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.core import Scheduler
from headgate.model import Query, QueryClass
from headgate.plan.network import Network
from headgate.plan.places import Place
from headgate.plan.units import units
from headgate.spark.machine.lifecycle import Life


@dataclass(frozen=True, slots=True)
class JobView:
    """What was measured of the operators that one Spark job evaluates; None before the first run."""

    cost: float | None  # seconds per tuple
    overhead: float | None  # seconds per run, beyond what every run costs
    selectivity: float | None  # rows that come out per tuple
    runs: int


@dataclass(frozen=True, slots=True)
class PlanView:
    """A query's plan: the jobs that evaluate it by the place of their topmost operator, and who runs with it."""

    query: Query
    jobs: Mapping[Place, JobView]
    group: tuple[Query, ...]  # of the unit that runs it, itself among them; empty while it does not run
    rates: Mapping[str, float]  # tuples per second of its streams, where known


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """A query that could be started, though it is not."""

    columns: Any
    group: tuple[str, ...]  # queries whose job it would share


def plan_view(scheduler: Scheduler, life: Life) -> PlanView:
    """A query as the scheduler knows it now."""
    network, name = scheduler.network, life.name
    if name not in network.queries:
        return PlanView(life.query, {}, (), {})
    names = dict.fromkeys(other for unit in scheduler.units if name in unit.queries for other in unit.queries)
    return PlanView(
        network.queries[name],
        jobs_of(scheduler, life),
        tuple(network.queries[other] for other in names),
        dict(scheduler.measured.rates),
    )


def jobs_of(scheduler: Scheduler, life: Life) -> dict[Place, JobView]:
    """The jobs that evaluate a query, by the place of their topmost operator."""
    jobs: dict[Place, JobView] = {}
    for number in sorted(life.operators, reverse=True):  # a job's numbers are booked on its first operator
        operator = scheduler.measured.operators.get(number)
        if operator is not None:
            known = operator.runs > 0
            jobs[life.operators[number].place] = JobView(
                operator.cost if known else None,
                operator.overhead if known else None,
                operator.selectivity if known else None,
                operator.runs,
            )
    return jobs


def group_of(scheduler: Scheduler, query: Query, query_class: QueryClass | None = None) -> tuple[str, ...]:
    """The queries whose job a query would share; `query_class` if that is not there either."""
    network = with_query(scheduler.network, query, query_class)
    known = scheduler.measured.operators.keys()
    formed = units(
        network,
        scheduler.policy.level,
        scheduler.fuse,
        lambda draft: scheduler.stats.load(draft) if known >= set(draft.calls) else 0.0,
    )
    members = dict.fromkeys(name for unit in formed if query.name in unit.queries for name in unit.queries)
    return tuple(name for name in members if name != query.name)


def with_query(network: Network, query: Query, query_class: QueryClass | None = None) -> Network:
    """The network if a query were there, in the place of one of its name."""
    if query_class is not None and query_class.name not in network.classes:
        network = network.declare(query_class=query_class)
    return (network.remove(query.name) if query.name in network.queries else network).add(query)
