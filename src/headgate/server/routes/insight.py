"""Why results were late, who delayed whom, and what would have been."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from headgate.history.ring import raw_history
from headgate.server.access.roles import Role, allow
from headgate.server.routes.common import Answer, Asked, Body, router
from headgate.server.workspace.policy import check_registered
from headgate.spark import arguments

routes = router("insight")
Time = Annotated[str | None, Query(max_length=100, examples=["12.5 s"])]
TRACE = "application/x-ndjson"


class WhyAnswer(Answer):
    """What a result waited for; times are seconds since the engine began."""

    query: str
    sentence: str
    seconds: float
    parts: dict[str, float]
    causes: dict[str, float]
    delays: list[dict[str, Any]]


class WhyOfQuery(WhyAnswer):
    """The same, and where the time of all its results of the last ten minutes went."""

    means: dict[str, Any]


class InversionsAnswer(Answer):
    """Classes that answer later than less important ones, and queries that starve."""

    inversions: list[dict[str, Any]]
    starving: list[WhyAnswer]


class Starving(Answer):
    """Queries that wait far longer than their results ever took."""

    items: list[WhyAnswer]
    next: str | None = None


class Added(Body):
    """A query that is not there."""

    sql: str = Field(max_length=100_000)
    query_class: str = Field(alias="class", max_length=200)
    name: str = Field("added", max_length=200)


class Question(Body):
    """What is to be different from what was recorded; the words are those of `headgate what-if`."""

    policies: list[Annotated[str, Field(max_length=2000)]] = Field(default_factory=list, max_length=8)
    fuse: str | None = None
    priorities: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    workers: int | None = Field(None, ge=1, le=1000)
    rate: float = Field(1.0, gt=0, le=1000, description="so many times as many tuples")
    added: Added | None = None
    last: float | None = Field(None, gt=0, description="only the newest so many seconds")
    by: str | None = Field(None, max_length=200, examples=["critical.p95"])
    seed: int = Field(0, ge=0, le=1 << 31)


class WhatIfAnswer(Answer):
    """What `headgate what-if --json` prints."""

    policies: dict[str, Any]
    error: dict[str, float | None]
    ranking: list[str]


@routes.get("/queries/{name}/why", openapi_extra=allow(Role.VIEW), response_model=WhyOfQuery)
def why(name: str, asked: Asked, at: Time = None, worst: bool = False, last: bool = False) -> dict[str, Any]:
    """What a result of a query waited for: the slowest (`worst`, the default), the newest, or one `at` a time.

    Whoever is limited to a tenant is told of others only how long their work was in the way.
    """
    return asked.insight.why(asked.queries.find(name), at, last)


@routes.get("/inversions", openapi_extra=allow(Role.VIEW), response_model=InversionsAnswer)
def inversions(asked: Asked, over: Time = None) -> dict[str, Any]:
    """Classes that answer later than less important ones, and what they lost to whom, in the last minute or `over`."""
    return asked.insight.inversions(over)


@routes.get("/starvation", openapi_extra=allow(Role.VIEW), response_model=Starving)
def starvation(asked: Asked) -> dict[str, Any]:
    """Queries that wait far longer than their results ever took, and what they wait behind."""
    return asked.insight.starvation()


@routes.post("/what-if", openapi_extra=allow(Role.OPERATE, tenants=False), response_model=WhatIfAnswer)
def what_if(question: Question, asked: Asked) -> dict[str, Any]:
    """What another policy or setting would have made of the last minutes; one question at a time, else 429."""
    for policy in question.policies:
        check_registered(policy)
    if question.fuse is not None:
        arguments.fusion(question.fuse)
    return asked.deciding.replays.ask(asked.session, question.model_dump(by_alias=True))


@routes.get(
    "/trace",
    status_code=200,
    openapi_extra=allow(Role.VIEW, tenants=False),
    response_class=StreamingResponse,
    responses={200: {"content": {TRACE: {"schema": {"type": "string"}}}, "description": "Lines of JSON"}},
)
def trace(asked: Asked) -> StreamingResponse:
    """The history of the last ten minutes as a file, for `headgate why QUERY FILE` and `headgate what-if FILE`."""
    lines: Iterator[bytes] = raw_history(asked.session.directory)
    names = {"Content-Disposition": 'attachment; filename="headgate-trace.jsonl"'}
    return StreamingResponse(lines, media_type=TRACE, headers=names)
