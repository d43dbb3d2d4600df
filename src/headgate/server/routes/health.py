"""Whether the server lives, is ready, and how everything is doing."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request, Response
from pydantic import Field

from headgate.server.access.roles import Role, allow
from headgate.server.hosting import EngineHost
from headgate.server.routes.common import Answer, Asked, router

routes = router("status")
READY = ("ready", "restarting")  # rows are taken while Spark is started again


class Health(Answer):
    """What the engine is doing, and for how many seconds."""

    state: str
    detail: str = ""
    seconds: float = 0.0


class WorkersLoad(Answer):
    """Shares of the workers' time in the last 10 s; a tenant gets its own share as `running`, and nothing else."""

    running: float
    idle: float | None = None
    workers: int | None = None
    queued: int | None = Field(None, description="units that wait for a worker now")
    decisions_per_second: float | None = None


class DiskAnswer(Answer):
    """The disk of the data directory; a tenant is told only whether it is full."""

    full: bool
    free: int | None = Field(None, description="bytes, to three digits")
    error: str | None = Field(None, description="why a write was refused lately")


class StatusAnswer(Answer):
    """How everything is doing; while the engine starts, only `engine`. Fields that are unknown are left out."""

    engine: Health
    load: WorkersLoad | None = None
    disk: DiskAnswer | None = None
    classes: dict[str, Any] | None = Field(None, description="numbers by class")
    queries: dict[str, Any] | None = Field(
        None, description="by query; with last_commit, stalled, failing and backfill if so"
    )
    streams: dict[str, Any] | None = Field(None, description="by stream; with its lag if tuples wait")


@routes.get("/health/live", openapi_extra=allow(Role.PUBLIC))
def live() -> Health:
    """Whether the server answers at all."""
    return Health(state="live")


@routes.get("/health/ready", openapi_extra=allow(Role.PUBLIC), responses={503: {"model": Health}})
def ready(request: Request, response: Response) -> Health:
    """Whether queries can be submitted and rows pushed: 200, or 503 while the engine starts or stops."""
    host: EngineHost = request.app.state.host
    status = host.status()
    response.status_code = 200 if status.state.value in READY else 503
    return Health(state=status.state.value, seconds=round(status.seconds, 3))


@routes.get("/status", openapi_extra=allow(Role.VIEW), response_model=StatusAnswer)
def status(asked: Asked) -> Response:
    """How everything is doing: the engine, classes, queries, streams and workers. What is unknown is left out."""
    body = json.dumps(asked.status_json(), separators=(",", ":"), ensure_ascii=False)
    return Response(body.encode("utf-8", "backslashreplace"), media_type="application/json")


class Drained(Answer):
    """Whether all is done."""

    drained: bool


@routes.get("/drained", openapi_extra=allow(Role.VIEW, tenants=False))
def drained(asked: Asked) -> Drained:
    """Whether every query has taken all rows that are in its streams, and its sink all results."""
    return Drained(drained=asked.session.engine.drained())
