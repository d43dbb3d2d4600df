"""Queries: submit, list, describe, steer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from headgate.server.access.roles import Role, allow
from headgate.server.routes.common import Answer, Asked, Body, Done, router
from headgate.server.workspace import queries as submitted

routes = router("queries")


class NewQuery(Body):
    """A query to start; the words are those of a workload file."""

    name: str
    sql: str
    query_class: str | None = Field(None, alias="class")
    sink: str = "parquet"
    target: str | float | None = Field(None, examples=["500 ms"])
    qos: list[list[float]] | None = None
    since: str = "now"
    once: bool = False
    start: float | str = 0.0
    end: float | str | None = None
    lag: str | None = None


class Move(Body):
    """The class to move a query to."""

    query_class: str = Field(alias="class")


class Replace(Body):
    """Other SQL with the same columns."""

    sql: str


class QueryAnswer(Answer):
    """A query: what was declared, its plan, and how it is doing."""

    name: str
    sql: str | None
    query_class: str = Field(alias="class")
    state: str


@routes.post("/queries", status_code=201, openapi_extra=allow(Role.SUBMIT), response_model=QueryAnswer)
def create(new: NewQuery, asked: Asked) -> dict[str, Any]:
    """Start a query."""
    with asked.new_query(new.query_class, new.sink):
        asked.queries.create(submitted.NewQuery(**{name: getattr(new, name) for name in NewQuery.model_fields}))
    return asked.queries.describe(new.name)


@routes.get("/queries/{name}", openapi_extra=allow(Role.VIEW), response_model=QueryAnswer)
def describe(name: str, asked: Asked) -> dict[str, Any]:
    """One query: what was declared, its plan, its columns and how it is doing."""
    return asked.queries.describe(name)


@routes.post("/queries/{name}/pause", openapi_extra=allow(Role.SUBMIT))
def pause(name: str, asked: Asked) -> Done:
    """Let it take no more rows until it is resumed."""
    asked.queries.handle(name).pause()
    return Done()


@routes.post("/queries/{name}/resume", openapi_extra=allow(Role.SUBMIT))
def resume(name: str, asked: Asked) -> Done:
    """Go on where it was paused, or suspended."""
    asked.queries.handle(name).resume()
    return Done()


@routes.post("/queries/{name}/move", openapi_extra=allow(Role.SUBMIT))
def move(name: str, to: Move, asked: Asked) -> Done:
    """Put it into another class."""
    handle = asked.queries.handle(name)
    asked.classes.check(to.query_class)
    handle.move(to.query_class)
    return Done()


@routes.post("/queries/{name}/replace", openapi_extra=allow(Role.SUBMIT))
def replace(name: str, by: Replace, asked: Asked) -> Done:
    """Give it other SQL with the same columns."""
    asked.queries.handle(name).replace(by.sql)
    return Done()


@routes.delete("/queries/{name}", openapi_extra=allow(Role.SUBMIT))
def stop(name: str, asked: Asked) -> Done:
    """Remove it for good; its results stay."""
    asked.queries.handle(name).stop()
    return Done()
