"""Classes of queries: read, create, change."""

from __future__ import annotations

from typing import Any

from headgate.server.access.roles import Role, allow
from headgate.server.routes.common import Answer, Asked, Body, router
from headgate.server.workspace.classes import class_json

routes = router("classes")


class NewClass(Body):
    """A class to declare."""

    name: str
    priority: float
    lag: str | None = None
    target: str | float | None = None


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


@routes.post("/classes", status_code=201, openapi_extra=allow(Role.OPERATE, tenants=False), response_model=ClassAnswer)
def create(new: NewClass, asked: Asked) -> dict[str, Any]:
    """Declare a class; the same one may be declared again."""
    return class_json(asked.classes.create(new.name, new.priority, new.lag, new.target))


@routes.get("/classes", openapi_extra=allow(Role.VIEW), response_model=ClassList)
def listed(asked: Asked) -> dict[str, Any]:
    """All classes that whoever asks may use."""
    classes = sorted(asked.classes.all().values(), key=lambda made: (-made.priority, made.name))
    return {"items": [class_json(made) for made in classes], "next": None}


@routes.get("/classes/{name}", openapi_extra=allow(Role.VIEW), response_model=ClassAnswer)
def describe(name: str, asked: Asked) -> dict[str, Any]:
    """One class."""
    return class_json(asked.classes.get(name))
