"""A workspace: the engine as one principal sees it. Routes ask it, and nothing else of the engine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from headgate.server.access.resources import Resources
from headgate.server.access.roles import Principal
from headgate.server.access.tenants import ALL_CLASSES, TenantLimits
from headgate.server.histories import Histories
from headgate.server.hosting import EngineHost
from headgate.server.replays import Replays
from headgate.server.workspace.classes import Classes
from headgate.server.workspace.dry_run import DryRun
from headgate.server.workspace.insight import Insight
from headgate.server.workspace.latencies import latencies_json
from headgate.server.workspace.letters import Letters
from headgate.server.workspace.names import Names
from headgate.server.workspace.network import network_json
from headgate.server.workspace.policy import Deciding
from headgate.server.workspace.queries import NewQuery, Queries
from headgate.server.workspace.quotas import Quotas
from headgate.server.workspace.results import Results, results_of
from headgate.server.workspace.runs import Runs
from headgate.server.workspace.status import status_json
from headgate.server.workspace.streams import Streams
from headgate.server.workspace.tables import Tables
from headgate.spark.session import Session


class Workspace:
    """Streams, queries, classes and numbers of one tenant, or of all."""

    def __init__(
        self,
        host: EngineHost,
        principal: Principal,
        quotas: Quotas | None = None,
        resources: Resources | None = None,
        histories: Histories | None = None,
        replays: Replays | None = None,
    ) -> None:
        self.host, self.principal = host, principal
        self.names = Names(principal.tenant)
        self.quotas = quotas or Quotas(lambda tenant: TenantLimits(classes=(ALL_CLASSES,)))
        self.resources = resources or Resources()
        self._histories, self._replays = histories or Histories(), replays or Replays()

    @property
    def session(self) -> Session:
        """The engine's session; `NotReadyError` while there is none."""
        return self.host.session()

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.host, self.names)

    @cached_property
    def queries(self) -> Queries:
        return Queries(self.host, self.names, self.classes)

    @cached_property
    def classes(self) -> Classes:
        limits = self.quotas.limits(self.names.tenant)
        return Classes(self.host, self.names, None if limits is None else limits.allowed)

    def limits_json(self) -> dict[str, Any] | None:
        """What the tenant may use; None without one."""
        limits = self.quotas.limits(self.names.tenant)
        return None if limits is None else limits.to_json()

    def admit_push(self, size: int) -> None:
        """Refuse a push of so many bytes if it goes beyond a limit of the tenant."""
        self.quotas.push(self.session, self.names.tenant, size)

    def admit_resume(self) -> None:
        """Refuse to resume a query of a tenant that keeps too many rows."""
        self.quotas.resume(self.session, self.names.tenant)

    def new_query(self, query_class: str | None, sink: str) -> AbstractContextManager[None]:
        """Around the creation of a query: refuses what this principal may not use, and one too many."""
        self.resources.check_sink(sink, self.principal)
        return self.quotas.new_query(self.session, self.names.tenant, query_class, sink)

    @cached_property
    def deciding(self) -> Deciding:
        return Deciding(self.session, self._replays)

    @cached_property
    def insight(self) -> Insight:
        return Insight(self.session, self.names, self._histories)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self.session, self.names, self._histories)

    def latencies_json(self, after: float | None) -> dict[str, Any]:
        """How long results took in the last ten minutes, by class and query; only what was noted after a time."""
        return latencies_json(self.host.latencies.since(after), self.names)

    def dry_run(self, new: NewQuery, slows: bool = True) -> dict[str, Any]:
        """What starting a query would lead to, and whom it would slow down; nothing is started."""
        with self.new_query(new.query_class, new.sink):
            return DryRun(self.session, self.names, self.classes, self._replays).of(new, slows)

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.host, self.names)

    def results(self, query: str) -> Results:
        """The results of a query."""
        return results_of(self.host, self.names, query)

    def letters(self, stream: str) -> Letters:
        """The dead letters of a stream."""
        return Letters(self.session, self.names, self.streams.find(stream))

    def network_json(self) -> bytes:
        """The operators of this tenant's queries as one graph."""
        return network_json(self.session, self.host.snapshot(), self.names)

    def status_json(self) -> dict[str, Any]:
        """How everything of this tenant is doing, and the engine; also while that is starting."""
        return status_json(*self.host.look(), self.names)
