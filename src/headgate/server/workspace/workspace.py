"""A workspace: the engine as one principal sees it. Routes ask it, and nothing else of the engine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import Any

from headgate.server.access.resources import Resources
from headgate.server.access.roles import Principal
from headgate.server.access.tenants import ALL_CLASSES, TenantLimits
from headgate.server.hosting import EngineHost
from headgate.server.workspace.classes import Classes
from headgate.server.workspace.names import Names
from headgate.server.workspace.queries import Queries
from headgate.server.workspace.quotas import Quotas
from headgate.server.workspace.scoped import own_overview
from headgate.server.workspace.streams import Streams
from headgate.spark.session import Session
from headgate.spark.status import Status, letters_by_query, status_of


class Workspace:
    """Streams, queries, classes and numbers of one tenant, or of all."""

    def __init__(
        self,
        host: EngineHost,
        principal: Principal,
        quotas: Quotas | None = None,
        resources: Resources | None = None,
    ) -> None:
        self.host, self.principal = host, principal
        self.names = Names(principal.tenant)
        self.quotas = quotas or Quotas(lambda tenant: TenantLimits(classes=(ALL_CLASSES,)))
        self.resources = resources or Resources()

    @property
    def session(self) -> Session:
        """The engine's session; `NotReadyError` while there is none."""
        return self.host.session()

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.session, self.names)

    @cached_property
    def queries(self) -> Queries:
        return Queries(self.session, self.names, self.classes)

    @cached_property
    def classes(self) -> Classes:
        limits = self.quotas.limits(self.names.tenant)
        return Classes(self.session, self.names, None if limits is None else limits.allowed)

    def limits_json(self) -> dict[str, Any] | None:
        """What the tenant may use; None without one."""
        limits = self.quotas.limits(self.names.tenant)
        return None if limits is None else limits.to_json()

    def admit_push(self, size: int) -> None:
        """Refuse a push of so many bytes if it goes beyond a limit of the tenant."""
        self.quotas.push(self.session, self.names.tenant, size)

    def new_query(self, query_class: str | None, sink: str) -> AbstractContextManager[None]:
        """Around the creation of a query: refuses what this principal may not use, and one too many."""
        self.resources.check_sink(sink, self.principal)
        return self.quotas.new_query(self.session, self.names.tenant, query_class, sink)

    def status(self) -> Status:
        """How everything of this tenant is doing; without a tenant, how the engine is doing."""
        session = self.session
        if not self.names.tenant:
            return session.status()
        overview, now = session.engine.overview(), session.engine.now()
        letters = self.names.own(letters_by_query(session.engine))
        status = status_of(own_overview(overview, self.names), now, letters)
        streams = {name: kept.count() for name, kept in self.names.own(session.engine.ingest.letters).items()}
        sources = session.sources.thread
        return replace(
            status,
            dead_letters=streams,
            source_errors=self.names.own(sources.errors),
            source_notes=self.names.own(sources.notes),
        )

    def status_json(self) -> dict[str, Any]:
        """The status with the state of the engine; also while that is starting."""
        engine = self.host.status()
        told = {"state": engine.state.value, "detail": engine.detail, "seconds": round(engine.seconds, 3)}
        if self.names.tenant:
            told["detail"] = ""
        if engine.state.value not in ("ready", "restarting"):
            return {"engine": told}
        return {"engine": told, **self.status().to_json()}
