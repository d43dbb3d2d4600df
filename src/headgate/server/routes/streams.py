"""Streams: define, list, describe, feed, end."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from headgate.server.access.roles import Role, allow
from headgate.server.pushing import push, read_body
from headgate.server.routes.common import Answer, Asked, Body, Done, router, workspace

routes = router("streams")
ROWS = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"id": 1, "v": 0.5}\n'},
            "text/csv": {"schema": {"type": "string"}, "example": "id,v\n1,0.5\n"},
            "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


class NewStream(Body):
    """A stream to declare."""

    name: str
    columns: str = Field(alias="schema", examples=["id bigint, v double, ts timestamp"])
    event_time: str | None = Field(None, description="the timestamp column that windows use")
    watermark: str | float = Field(0.0, description="how late a row may be", examples=["5 s"])
    ahead: str | float | None = Field(None, description="how far ahead of its arrival an event time may be")
    source: str | None = Field(None, description="where rows come from; without one they are pushed")


class StreamAnswer(Answer):
    """A stream: what was declared, and how it is doing."""

    name: str
    columns: str = Field(alias="schema")


class StreamList(Answer):
    """Streams, and where the next page begins."""

    items: list[StreamAnswer]
    next: str | None = None


class Pushed(Answer):
    """How many rows are durable in the stream, and how many are dead letters."""

    accepted: int
    rejected: int


@routes.post("/streams", status_code=201, openapi_extra=allow(Role.SUBMIT), response_model=StreamAnswer)
def create(new: NewStream, asked: Asked) -> dict[str, Any]:
    """Declare a stream; the same one may be declared again."""
    asked.resources.check_source(new.source, asked.principal)
    asked.streams.create(
        new.name,
        new.columns,
        event_time=new.event_time,
        watermark=new.watermark,
        ahead=new.ahead,
        source=new.source,
    )
    return asked.streams.describe(new.name)


@routes.get("/streams", openapi_extra=allow(Role.VIEW), response_model=StreamList)
def listed(asked: Asked) -> dict[str, Any]:
    """All streams."""
    overview = asked.session.engine.overview()
    return {"items": [asked.streams.describe(name, overview) for name in sorted(asked.streams.all())], "next": None}


@routes.get("/streams/{name}", openapi_extra=allow(Role.VIEW), response_model=StreamAnswer)
def describe(name: str, asked: Asked) -> dict[str, Any]:
    """One stream: what was declared, its rate, the size of its log and the lag of its slowest reader."""
    return asked.streams.describe(name)


@routes.post("/streams/{name}/rows", openapi_extra=allow(Role.SUBMIT) | ROWS)
async def rows(
    name: str,
    request: Request,
    content_type: Annotated[str, Header()] = "",
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Pushed:
    """Append rows: JSON lines, CSV with a header, or an Arrow stream. Answered when they are durable.

    With an `Idempotency-Key`, repeating the same request appends nothing twice, even after a crash.
    """
    asked = workspace(request)
    whole = await run_in_threadpool(asked.streams.find, name)
    body = await read_body(request)
    await run_in_threadpool(asked.admit_push, len(body))
    accepted, rejected = await run_in_threadpool(push, asked, whole, content_type, body, idempotency_key)
    return Pushed(accepted=accepted, rejected=rejected)


@routes.post("/streams/{name}/finish", openapi_extra=allow(Role.SUBMIT))
def finish(name: str, asked: Asked) -> Done:
    """End a stream: all its windows close."""
    asked.streams.finish(name)
    return Done()


@routes.get("/streams/{name}/sample", openapi_extra=allow(Role.VIEW))
def sample(name: str, asked: Asked, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> Response:
    """The newest rows, with their offsets and times of arrival."""
    return Response(asked.streams.sample(name, limit), media_type="application/json")
