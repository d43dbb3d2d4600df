"""What all routes share: their router, the workspace of whoever asks, and the shapes of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from headgate.model import HeadgateError
from headgate.server.access.roles import Principal, Role
from headgate.server.event_stream import EVENT_STREAM, Events, EventStream
from headgate.server.guard import GuardedRoute
from headgate.server.problems import PROBLEM
from headgate.server.workspace import Workspace


class Body(BaseModel):
    """A body of a request: fields that nobody knows are refused, so that a slip of the pen is noticed."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Answer(BaseModel):
    """A body of an answer; it may have more fields than are declared."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Problem(Answer):
    """What is wrong, as RFC 9457 has it: `detail` is the line that the command line would print."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    hint: str | None = None
    where: str | None = None


PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "content": {PROBLEM: {}}, "description": "Refused, with what to do"},
    "503": {"model": Problem, "content": {PROBLEM: {}}, "description": "The engine is starting or stopping"},
}


def router(tag: str, prefix: str = "/v1") -> APIRouter:
    """A router whose routes check who asks."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=GuardedRoute, responses=PROBLEMS)


def workspace(request: Request) -> Workspace:
    """The workspace of whoever asks; the route has checked that already."""
    principal: Principal = request.state.principal
    made: Workspace = request.app.state.workspace(principal)
    return made


Asked = Annotated[Workspace, Depends(workspace)]
Limit = Annotated[int, Query(ge=1, le=1000, description="how many at most")]
Cursor = Annotated[str | None, Query(max_length=2000, description="`next` of the page before")]
IfMatch = Annotated[str | None, Header(max_length=2000, description="the ETag that it must still have")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Time = Number | str  # seconds, or a text with a unit
Target = Time | None
TAGGED: dict[int | str, dict[str, Any]] = {
    "2XX": {"headers": {"ETag": {"description": "of what was declared", "schema": {"type": "string"}}}}
}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {EVENT_STREAM: {"schema": {"type": "string"}}}}
}


def event_stream(request: Request, events: Events) -> EventStream:
    """An answer that goes on as long as whoever asks may listen: a token that is revoked ends it."""
    return EventStream(events, request.app.state.ending, allowed=_still(request))


def _still(request: Request) -> Callable[[], bool]:
    def allowed() -> bool:
        try:
            return bool(request.app.state.access.principal(request, Role.VIEW) == request.state.principal)
        except HeadgateError:
            return False

    return allowed


class Done(Answer):
    """An answer that has nothing more to say."""

    done: bool = True
