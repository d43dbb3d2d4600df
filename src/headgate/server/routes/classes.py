"""Classes of queries: read, create, change, remove."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from pydantic import Field

from headgate.model import HeadgateError, QueryClass
from headgate.server.access.roles import Role, allow, creates
from headgate.server.etags import etag
from headgate.server.paging import Order
from headgate.server.paging import listed as page_json
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
    router,
)
from headgate.server.workspace.classes import class_json

routes = router("classes")
MOST_IMPORTANT_FIRST: Order[QueryClass] = Order(
    "classes", lambda made: made.name, lambda made: made.priority, descending=True
)


class NewClass(Body):
    """A class to declare."""

    name: str = Field(examples=["critical"])
    priority: Number = Field(description="above 0; larger is more important", examples=[60])
    lag: str | None = Field(None, description="for queries that have none of their own")
    target: Target = Field(None, description="for queries that have none of their own", examples=["500 ms"])


class ChangedClass(Body):
    """What is to be different; what is left out stays, and null takes a `lag` or `target` away."""

    priority: Number = 1.0
    lag: str | None = None
    target: Target = None


class ClassAnswer(Answer):
    """A class of queries."""

    name: str
    priority: float
    lag: str | None = None
    target: str | None = None


class ClassList(Answer):
    """Classes, the most important first."""

    items: list[ClassAnswer]
    next: str | None = None


@routes.post(
    "/classes",
    status_code=201,
    openapi_extra=creates(Role.OPERATE, tenants=False),
    response_model=ClassAnswer,
    responses=TAGGED,
)
def create(new: NewClass, asked: Asked, response: Response) -> dict[str, Any]:
    """Declare a class; the same one may be declared again."""
    return _shown(asked.classes.create(new.name, new.priority, new.lag, new.target), response)


@routes.get("/classes", openapi_extra=allow(Role.VIEW), response_model=ClassList)
def listed(asked: Asked, cursor: Cursor = None, limit: Limit = 100) -> dict[str, Any]:
    """All classes that whoever asks may use, the most important first."""
    return page_json(MOST_IMPORTANT_FIRST.page(asked.classes.all().values(), cursor, limit), class_json)


@routes.get("/classes/{name}", openapi_extra=allow(Role.VIEW), response_model=ClassAnswer, responses=TAGGED)
def describe(name: str, asked: Asked, response: Response) -> dict[str, Any]:
    """One class."""
    return _shown(asked.classes.get(name), response)


@routes.patch(
    "/classes/{name}",
    openapi_extra=allow(Role.OPERATE, tenants=False),
    response_model=ClassAnswer,
    responses=TAGGED,
)
def change(
    name: str, changed: ChangedClass, asked: Asked, response: Response, if_match: IfMatch = None
) -> dict[str, Any]:
    """Change a class while its queries run; they follow at once."""
    changes = changed.model_dump(exclude_unset=True)
    if not changes:
        raise HeadgateError("nothing is to be changed", where="body", hint="give priority, lag or target")
    with asked.classes.changing(name, if_match):
        return _shown(asked.classes.change(name, changes), response)


@routes.delete("/classes/{name}", openapi_extra=allow(Role.OPERATE, tenants=False))
def drop(name: str, asked: Asked, if_match: IfMatch = None) -> Done:
    """Remove a class that has no queries."""
    with asked.classes.changing(name, if_match):
        asked.classes.drop(name)
    return Done()


def _shown(made: QueryClass, response: Response) -> dict[str, Any]:
    shown = class_json(made)
    response.headers["ETag"] = etag(shown)
    return shown
