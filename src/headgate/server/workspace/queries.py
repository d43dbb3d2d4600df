"""Queries as a tenant sees them: submit, list, describe, steer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from headgate.plan.tree import render
from headgate.server.workspace.classes import Classes
from headgate.server.workspace.names import Names
from headgate.spark.handle import Handle
from headgate.spark.machine.views import QueryView
from headgate.spark.session import Session
from headgate.spark.status import query_status


@dataclass(frozen=True, slots=True)
class NewQuery:
    """What somebody asks for when submitting a query; the words are those of `Session.query`."""

    name: str
    sql: str
    query_class: str | None = None
    sink: str = "parquet"
    target: str | float | None = None
    qos: Sequence[Sequence[float]] | None = None
    since: str = "now"
    once: bool = False
    start: float | str = 0.0
    end: float | str | None = None
    lag: str | None = None


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of a tenant."""

    session: Session
    names: Names
    classes: Classes

    def create(self, new: NewQuery) -> None:
        if new.query_class is not None:
            self.classes.check(new.query_class)
        self.session.query(
            self.names.new(new.name, "query"),
            new.sql,
            query_class=new.query_class,
            sink=new.sink,
            qos=new.qos,
            since=new.since,
            once=new.once,
            start=new.start,
            end=inf if new.end is None else new.end,
            lag=new.lag,
            target=new.target,
        )

    def find(self, name: str) -> str:
        """The engine's name of a query that must be there."""
        return self.names.find("query", name, (view.query.name for view in self.session.engine.overview().queries))

    def handle(self, name: str) -> Handle:
        return self.session[self.find(name)]

    def view(self, name: str) -> QueryView:
        return self.session.engine.query(self.find(name))

    def describe(self, name: str) -> dict[str, Any]:
        """What was declared, what became of it, and how it is doing."""
        whole = self.find(name)
        view = self.session.engine.query(whole)
        line = query_status(self.session.engine, whole)
        return {
            **self.definition(view),
            "columns": columns_json(view.columns),
            "plan": self._own(render(view.query.plan)),
            "state": view.state,
            "error": self._own(view.error),
            "skipped": line.skipped,
            "undelivered": line.undelivered,
            **line.to_json(),
            "target_status": line.to_json().get("target"),
            "target": None if view.query.target is None else str(view.query.target),
        }

    def definition(self, view: QueryView) -> dict[str, Any]:
        """What was declared of a query."""
        query = view.query
        return {
            "name": self.names.short(query.name),
            "sql": query.sql,
            "class": query.query_class,
            "sink": query.sink or "parquet",
            "target": None if query.target is None else str(query.target),
            "qos": None if query.qos is None else [list(point) for point in query.qos.points],
            "since": query.since,
            "once": query.once,
            "lag": query.lag,
            "start": query.start,
            "end": query.end if isfinite(query.end) else None,
        }

    def _own(self, text: str) -> str:
        return text.replace(f"{self.names.tenant}..", "") if self.names.tenant else text


def columns_json(columns: Any) -> list[dict[str, str]]:
    """The columns of results as the API shows them."""
    return [] if columns is None else [{"name": column.name, "type": str(column.type)} for column in columns]
