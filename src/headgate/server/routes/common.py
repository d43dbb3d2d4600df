"""What all routes share: their router, the workspace of whoever asks, and the shapes of answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from headgate.server.access.roles import Principal
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
Limit = Annotated[int, Field(ge=1, le=1000)]


class Done(Answer):
    """An answer that has nothing more to say."""

    done: bool = True
