"""All queries as they are scheduled: which run together, what waits before their operators, what those cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headgate.core import Scheduler
from headgate.plan.places import Place
from headgate.spark.machine.lifecycle import Life
from headgate.spark.machine.plan_views import JobView, jobs_of


@dataclass(frozen=True, slots=True)
class ScheduledQuery:
    """A query that is scheduled: its jobs by the place of their topmost operator, and what waits by its place."""

    jobs: Mapping[Place, JobView] = field(default_factory=dict)
    waiting: Mapping[Place, int] = field(default_factory=dict)  # of streams, and of operators whose rows wait


@dataclass(frozen=True, slots=True)
class NetworkView:
    """All scheduled queries, by name, and which of them run together."""

    queries: Mapping[str, ScheduledQuery]
    groups: tuple[tuple[str, ...], ...]  # every query is in one


def network_view(scheduler: Scheduler, lives: Iterable[Life]) -> NetworkView:
    """The queries as the scheduler knows them now."""
    queries = {
        life.name: ScheduledQuery(
            jobs_of(scheduler, life), {place: len(scheduler.queue(queue)) for place, queue in life.queues.items()}
        )
        for life in lives
        if life.entered
    }
    return NetworkView(queries, tuple(dict.fromkeys(unit.queries for unit in scheduler.units if unit.queries)))
