"""Streams: define, list, describe, feed, end, remove."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from headgate.server.access.roles import Role, allow, creates
from headgate.server.etags import etag
from headgate.server.idempotency import KeptAnswers
from headgate.server.paging import listed as page_json
from headgate.server.paging import of_names
from headgate.server.pushing import check_plain, parser, push
from headgate.server.routes.common import (
    TAGGED,
    Answer,
    Asked,
    Body,
    Cursor,
    Done,
    IfMatch,
    Limit,
    Time,
    router,
    workspace,
)
from headgate.server.workspace import Workspace

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

    name: str = Field(examples=["readings"])
    columns: str = Field(alias="schema", examples=["id bigint, v double, ts timestamp"])
    event_time: str | None = Field(None, description="the timestamp column that windows use")
    watermark: Time = Field(0.0, description="how late a row may be", examples=["5 s"])
    ahead: Time | None = Field(None, description="how far ahead of its arrival an event time may be")
    source: str | None = Field(None, description="where rows come from; without one they are pushed")


class SlowestReader(Answer):
    """The query for which most tuples wait."""

    query: str
    tuples: int
    oldest_wait: float


class StreamAnswer(Answer):
    """A stream: what was declared, and how it is doing."""

    name: str
    columns: str = Field(alias="schema")
    event_time: str | None
    watermark: float
    ahead: float | None
    source: str | None
    tuples: int = Field(description="how many have come, ever")
    kept_from: int = Field(description="the offset of the oldest that is kept")
    finished: bool
    rate: float = Field(description="tuples per second, lately")
    bytes: int = Field(description="size of its log")
    dead_letters: int
    slowest_reader: SlowestReader | None
    source_error: str | None
    source_note: str | None


class StreamList(Answer):
    """Streams, and where the next page begins."""

    items: list[StreamAnswer]
    next: str | None = None


class Pushed(Answer):
    """How many rows are durable in the stream, and how many are dead letters."""

    accepted: int
    rejected: int


class SampleRow(Answer):
    """A tuple of a stream."""

    offset: int
    arrival: float
    late: bool
    row: dict[str, Any]


class Sample(Answer):
    """The newest tuples."""

    rows: list[SampleRow]


class DeadLetter(Answer):
    """A tuple that could not be processed: a row, a text, or the offset of a tuple in the stream."""

    reason: str
    arrival: float
    query: str | None = None
    row: dict[str, Any] | None = None
    text: str | None = None
    offset: int | None = None


class LetterList(Answer):
    """Dead letters, the newest first, and where the next page begins."""

    items: list[DeadLetter]
    next: str | None = None


class Replay(Body):
    """Which dead letters to append again."""

    reason: str = Field("", description="only those whose reason has this text")


class Replayed(Answer):
    """How many are rows of the stream now, how many are dead again, and how many could not be replayed, by reason."""

    taken: int
    dead_again: dict[str, int]
    left: dict[str, int]


@routes.post(
    "/streams", status_code=201, openapi_extra=creates(Role.SUBMIT), response_model=StreamAnswer, responses=TAGGED
)
def create(new: NewStream, asked: Asked, response: Response) -> dict[str, Any]:
    """Declare a stream; the same one may be declared again."""
    within = asked.resources.check_source(new.source, asked.principal)
    asked.streams.create(
        new.name,
        new.columns,
        event_time=new.event_time,
        watermark=new.watermark,
        ahead=new.ahead,
        source=new.source,
        within=within,
    )
    asked.host.changed()
    return _described(asked, new.name, response)


@routes.get("/streams", openapi_extra=allow(Role.VIEW), response_model=StreamList)
def listed(asked: Asked, cursor: Cursor = None, limit: Limit = 100) -> dict[str, Any]:
    """All streams."""
    page = of_names("streams", asked.streams.all(), cursor, limit)
    snapshot = asked.host.snapshot()
    return page_json(page, lambda name: asked.streams.describe(name, snapshot))


@routes.get("/streams/{name}", openapi_extra=allow(Role.VIEW), response_model=StreamAnswer, responses=TAGGED)
def describe(name: str, asked: Asked, response: Response) -> dict[str, Any]:
    """One stream: what was declared, its rate, the size of its log and the lag of its slowest reader."""
    return _described(asked, name, response)


def _described(asked: Workspace, name: str, response: Response) -> dict[str, Any]:
    response.headers["ETag"] = etag(asked.streams.definition(asked.streams.find(name)))
    return asked.streams.describe(name, asked.host.snapshot())


@routes.delete("/streams/{name}", openapi_extra=allow(Role.SUBMIT))
def drop(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """Remove a stream for good, with its rows and dead letters; no query may read it."""
    with asked.streams.changing(name, if_match) as whole:
        asked.streams.drop(whole)
    return Done()


@routes.post("/streams/{name}/rows", openapi_extra=allow(Role.SUBMIT) | ROWS, response_model=Pushed)
async def rows(
    name: str,
    request: Request,
    content_type: Annotated[str, Header()] = "",
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """Append rows: JSON lines, CSV with a header, or an Arrow stream. Answered when they are durable.

    With an `Idempotency-Key`, repeating the same request appends nothing twice, even after a crash.
    """
    asked = workspace(request)
    whole = await run_in_threadpool(asked.streams.find, name)
    parser(content_type)  # before a body is read that nobody could parse
    check_plain(request.headers.get("content-encoding", ""))
    body = await request.body()

    async def appended() -> Response:
        pushed = await run_in_threadpool(push, asked, whole, content_type, body, idempotency_key)
        request.app.state.requests.push(asked.names.tenant, **pushed)
        return JSONResponse(pushed)

    if idempotency_key is None:
        return await appended()
    kept: KeptAnswers = request.app.state.answers
    # Of this log alone: one who drops the stream and declares it again, and pushes the same, wants the rows in it.
    what = f"rows of log {asked.streams.log(whole).opened}"
    return await kept.answer(asked.principal, what, idempotency_key, body, appended)


@routes.post("/streams/{name}/finish", openapi_extra=allow(Role.SUBMIT))
def finish(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """End a stream: all its windows close."""
    with asked.streams.changing(name, if_match) as whole:
        asked.session.finish(whole)
    return Done()


@routes.get("/streams/{name}/sample", openapi_extra=allow(Role.VIEW), response_model=Sample)
def sample(name: str, asked: Asked, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> Response:
    """The newest rows, with their offsets and times of arrival."""
    return Response(asked.streams.sample(name, limit), media_type="application/json")


@routes.get("/streams/{name}/dead-letters", openapi_extra=allow(Role.VIEW), response_model=LetterList)
def dead_letters(
    name: str,
    asked: Asked,
    reason: Annotated[str, Query(description="only those whose reason has this text")] = "",
    query: Annotated[str | None, Query(description="only those on which an expression of this query failed")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Tuples that could not be processed, the newest first, each with its reason."""
    letters = asked.letters(name)
    return page_json(letters.page(reason, query, cursor, limit), letters.json)


@routes.post("/streams/{name}/dead-letters/replay", openapi_extra=allow(Role.SUBMIT), response_model=Replayed)
def replay(name: str, asked: Asked, which: Replay | None = None) -> dict[str, Any]:
    """Append dead letters to the stream again, with the checks of any append."""
    return asked.letters(name).replay("" if which is None else which.reason)
