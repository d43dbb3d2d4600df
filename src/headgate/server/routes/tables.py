"""Stored tables that queries join with: register, refresh, remove."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import Field

from headgate.server.access.roles import Role, allow, creates
from headgate.server.etags import etag
from headgate.server.paging import listed as page_json
from headgate.server.paging import of_names
from headgate.server.routes.common import TAGGED, Answer, Asked, Body, Cursor, Done, IfMatch, Limit, router
from headgate.server.workspace import Workspace

routes = router("tables")


class NewTable(Body):
    """A table to register: a file or folder that the server can read."""

    name: str = Field(examples=["machines"])
    path: str = Field(description="Parquet, ORC, CSV with a header, or JSON lines", examples=["/data/machines.csv"])


class TableAnswer(Answer):
    """A table: its columns, where its rows are, why it cannot be read if so, and the queries that join with it."""

    name: str
    columns: str = Field(alias="schema")
    path: str | None
    error: str | None
    queries: list[str]


class TableList(Answer):
    """Tables, and where the next page begins."""

    items: list[TableAnswer]
    next: str | None = None


@routes.post(
    "/tables",
    status_code=201,
    openapi_extra=creates(Role.OPERATE, tenants=False),
    response_model=TableAnswer,
    responses=TAGGED,
)
def create(new: NewTable, asked: Asked, response: Response) -> dict[str, Any]:
    """Register a table. It is read now; `refresh` reads it again."""
    within = asked.resources.check_table(new.path, asked.principal)
    asked.tables.create(new.name, new.path, within)
    return _described(asked, new.name, response)


@routes.get("/tables", openapi_extra=allow(Role.VIEW), response_model=TableList)
def listed(asked: Asked, cursor: Cursor = None, limit: Limit = 100) -> dict[str, Any]:
    """All tables."""
    page = of_names("tables", asked.tables.all(), cursor, limit)
    snapshot = asked.host.snapshot()
    return page_json(page, lambda name: asked.tables.describe(name, snapshot))


@routes.get("/tables/{name}", openapi_extra=allow(Role.VIEW), response_model=TableAnswer, responses=TAGGED)
def describe(name: str, asked: Asked, response: Response) -> dict[str, Any]:
    """One table."""
    return _described(asked, name, response)


@routes.post(
    "/tables/{name}/refresh",
    openapi_extra=allow(Role.OPERATE, tenants=False),
    response_model=TableAnswer,
    responses=TAGGED,
)
def refresh(name: str, asked: Asked, response: Response, if_match: IfMatch = None) -> dict[str, Any]:
    """Read its rows anew; queries use them from their next run on."""
    with asked.tables.changing(name, if_match) as whole:
        asked.tables.refresh(whole)
    return _described(asked, name, response)


@routes.delete("/tables/{name}", openapi_extra=allow(Role.OPERATE, tenants=False))
def drop(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """Remove a table that no query reads."""
    with asked.tables.changing(name, if_match) as whole:
        asked.tables.drop(whole)
    return Done()


def _described(asked: Workspace, name: str, response: Response) -> dict[str, Any]:
    response.headers["ETag"] = etag(asked.tables.definition(asked.tables.find(name)))
    return asked.tables.describe(name, asked.host.snapshot())
