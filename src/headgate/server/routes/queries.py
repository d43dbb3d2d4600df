"""Queries: submit, list, describe, steer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import Field

from headgate.server.access.roles import Role, allow, creates
from headgate.server.etags import etag
from headgate.server.routes.common import (
    TAGGED,
    Answer,
    Asked,
    Body,
    Cursor,
    Done,
    IfMatch,
    Limit,
    Number,
    Target,
    Time,
    router,
)
from headgate.server.workspace import Workspace
from headgate.server.workspace import queries as submitted
from headgate.server.workspace.queries import SORTS, Wanted

routes = router("queries")
DryRun = Annotated[bool, Query(description="start nothing, and say what starting it would lead to")]
Slows = Annotated[bool, Query(description="in a dry run: also compute whom it would slow down, which takes seconds")]
ORDERS = {"enum": [*SORTS, *(f"-{field}" for field in SORTS)]}


class NewQuery(Body):
    """A query to start; the words are those of a workload file."""

    name: str = Field(examples=["hot"])
    sql: str = Field(examples=["SELECT machine, temp FROM readings WHERE temp > 90"])
    query_class: str | None = Field(None, alias="class", description="without one, `default`")
    sink: str = Field("parquet", description="where results go: parquet, jsonl, …")
    target: Target = Field(None, description="how soon results are wanted", examples=["500 ms"])
    qos: list[list[Number]] | None = Field(None, description="what a result is worth: [seconds, utility], …")
    since: str = Field("now", description="`start` reads also what the streams have kept")
    once: bool = Field(False, description="read what is there, and end")
    start: Time = Field(0.0, description="seconds from now, or a text with a unit")
    end: Time | None = None
    lag: str | None = Field(None, description="what happens when too many rows wait", examples=["skip, tuples=100000"])


class Move(Body):
    """The class to move a query to."""

    query_class: str = Field(alias="class")


class Replace(Body):
    """Other SQL with the same columns."""

    sql: str


class Column(Answer):
    """A column of results."""

    name: str
    type: str


class QueryLine(Answer):
    """A query in a list: what it is, and how it is doing."""

    name: str
    sql: str | None
    query_class: str = Field(alias="class")
    state: str
    error: str
    sink: str
    priority: float
    waiting: int
    oldest_wait: float
    rate: float
    tuples_in: int
    tuples_out: int
    dead_letters: int
    latency: dict[str, dict[str, float | None]] = Field(description="last_10_s, last_minute, last_10_minutes")
    target: str | None
    target_status: dict[str, Any] | None


class QueryAnswer(QueryLine):
    """A query: what was declared, its plan, and how it is doing."""

    columns: list[Column]
    streams: list[str]
    since: str
    once: bool
    start: float
    end: float | None
    lag: str | None
    qos: list[list[float]] | None
    skipped: int
    undelivered: int
    where_its_time_goes: dict[str, Any] | None = Field(
        None, description="with `time`: mean seconds in windows, queues, runs, commits and sinks"
    )
    journal: list[dict[str, Any]]


class QueryList(Answer):
    """Queries, and where the next page begins."""

    items: list[QueryLine]
    next: str | None = None


class DryRunAnswer(Answer):
    """What starting a query would lead to."""

    name: str
    query_class: str = Field(alias="class")
    columns: list[Column]
    plan: dict[str, Any]
    form: str | None = Field(description="what queries of one job have in common; null: it has jobs of its own")
    group: list[str] = Field(description="queries whose job it would share")
    cost: dict[str, Any] | str = Field(description="of a run, by what was measured of others; or `unknown`")
    slows: dict[str, Any] | None = Field(description="what it would do to each class, by what-if")
    slows_reason: str | None = Field(description="why that cannot be told")


@routes.post(
    "/queries",
    status_code=201,
    openapi_extra=creates(Role.SUBMIT),
    response_model=QueryAnswer,
    responses=TAGGED | {200: {"model": DryRunAnswer, "description": "Of a dry run: nothing was started"}},
)
def create(new: NewQuery, asked: Asked, response: Response, dry_run: DryRun = False, slows: Slows = True) -> Any:
    """Start a query. With `dry_run=true` nothing is started: 200, and what starting it would lead to."""
    query = submitted.NewQuery(**{name: getattr(new, name) for name in NewQuery.model_fields})
    with asked.new_query(new.query_class, new.sink):
        if dry_run:
            return JSONResponse(jsonable_encoder(asked.dry_run(query, slows)))
        asked.queries.create(query)
    asked.host.changed()
    return _described(asked, new.name, response)


@routes.get("/queries", openapi_extra=allow(Role.VIEW), response_model=QueryList)
def all_queries(
    asked: Asked,
    query_class: Annotated[str | None, Query(alias="class", description="only those of a class")] = None,
    state: Annotated[str | None, Query(description="only those in a state, as `running`")] = None,
    q: Annotated[str | None, Query(description="only those with this text in their name or SQL")] = None,
    sort: Annotated[str, Query(description="with `-`, the largest first", json_schema_extra=ORDERS)] = "name",
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Queries with their numbers: filtered, sorted, page by page."""
    body = asked.queries.listed(Wanted(query_class, state, q, sort), cursor, limit)
    return Response(body, media_type="application/json")


@routes.get("/queries/{name}", openapi_extra=allow(Role.VIEW), response_model=QueryAnswer, responses=TAGGED)
def describe(
    name: str,
    asked: Asked,
    response: Response,
    time: Annotated[bool, Query(description="also where the time of its results went, which takes longer")] = False,
) -> dict[str, Any]:
    """One query: what was declared, its plan, its columns and how it is doing."""
    described = _described(asked, name, response)
    return described | {"where_its_time_goes": asked.insight.times(name)} if time else described


def _described(asked: Workspace, name: str, response: Response) -> dict[str, Any]:
    response.headers["ETag"] = etag(asked.queries.definition(asked.queries.view(name)))
    return asked.queries.describe(name)


@routes.post("/queries/{name}/pause", openapi_extra=allow(Role.SUBMIT))
def pause(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """Let it take no more rows until it is resumed."""
    with asked.queries.changing(name, if_match) as handle:
        handle.pause()
    return Done()


@routes.post("/queries/{name}/resume", openapi_extra=allow(Role.SUBMIT))
def resume(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """Go on where it was paused, or suspended."""
    with asked.queries.changing(name, if_match) as handle:
        asked.admit_resume()
        handle.resume()
    return Done()


@routes.post("/queries/{name}/move", openapi_extra=allow(Role.SUBMIT))
def move(name: str, to: Move, asked: Asked, if_match: IfMatch = None) -> Done:
    """Put it into another class."""
    with asked.queries.changing(name, if_match) as handle:
        asked.classes.check(to.query_class)
        handle.move(to.query_class)
    return Done()


@routes.post("/queries/{name}/replace", openapi_extra=allow(Role.SUBMIT))
def replace(name: str, by: Replace, asked: Asked, if_match: IfMatch = None) -> Done:
    """Give it other SQL with the same columns."""
    with asked.queries.changing(name, if_match) as handle:
        handle.replace(by.sql)
    return Done()


@routes.delete("/queries/{name}", openapi_extra=allow(Role.SUBMIT))
def stop(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """Remove it for good; its results stay."""
    with asked.queries.changing(name, if_match) as handle:
        handle.stop()
    return Done()
