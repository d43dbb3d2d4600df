"""What ran, what was decided, and how long results took, over the last ten minutes."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Path, Query, Response
from pydantic import Field

from headgate.history.ring import KEPT
from headgate.server.access.roles import Role, allow
from headgate.server.routes.common import Answer, Asked, Cursor, Limit, router
from headgate.server.workspace.runs import Number

routes = router("insight")
Since = Annotated[float, Query(gt=0, le=KEPT, allow_inf_nan=False, description="of how many seconds")]


class RunLine(Answer):
    """A run; times are seconds since 1970."""

    id: int
    worker: int
    query_class: str = Field(alias="class")
    unit: str
    members: int = Field(description="how many queries it evaluated")
    tuples: int
    oldest: float = Field(description="when the oldest tuple that it took had arrived")
    began: float
    ended: float | None = Field(None, description="when it was committed; missing while it runs")
    state: str = Field(description="done, cancelled, failed, unfinished (its engine died) or running")


class RunList(Answer):
    """Runs, the oldest first, and the cursor for those that end later."""

    runs: list[RunLine]
    running: list[RunLine]
    next: str
    at: float
    kept_from: float = Field(alias="from", description="the earliest moment that is kept")
    started: float = Field(description="when the engine started: numbers of runs begin again with it")
    workers: int


class Decisions(Answer):
    """Decisions, the newest first."""

    items: list[dict[str, Any]]
    next: str | None = None


class Waited(Answer):
    """A unit that was ready at a decision, and was not chosen."""

    unit: str
    query_class: str = Field(alias="class")
    queries: list[str]
    tuples: int | None
    waited: float = Field(description="seconds that its oldest tuple had waited")
    numbers: dict[str, float | None]


class DecisionAnswer(Answer):
    """A decision in full: an item of `GET /v1/decisions`, in words, and who waited when it was made."""

    at: float
    winner: str
    query_class: str = Field(alias="class")
    queries: list[str]
    tuples: int
    waited: float
    run: int
    sentence: str
    waiting: list[Waited]


def as_json(told: object) -> Response:
    """An answer that is asked for often: it is as declared, without being checked every time."""
    text = json.dumps(told, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), media_type="application/json")


@routes.get("/runs", openapi_extra=allow(Role.VIEW), response_model=RunList)
def runs(asked: Asked, since: Since = 60.0, cursor: Cursor = None) -> Response:
    """The runs of the last `since` seconds, or those that ended after `cursor`, and what is running.

    Whoever is limited to a tenant sees its own runs, all as of worker 0.
    """
    return as_json(asked.runs.listed(since, cursor))


@routes.get("/decisions", openapi_extra=allow(Role.VIEW), response_model=Decisions)
def decisions(asked: Asked, limit: Limit = 100, cursor: Cursor = None) -> dict[str, Any]:
    """The decisions of the last minutes, the newest first: winner and runner-up with the numbers that decided."""
    return asked.runs.decisions(limit, cursor)


@routes.get("/decisions/{number}", openapi_extra=allow(Role.VIEW), response_model=DecisionAnswer)
def decision(
    number: Annotated[int, Path(ge=1, le=1 << 53)],
    asked: Asked,
    by: Annotated[Number, Query(description="whether the number is `run` of a decision, or `decision`")] = "run",
) -> dict[str, Any]:
    """One decision in full: its numbers, in words, and who waited how long when it was made.

    The number is that of the run it led to: `id` in `GET /v1/runs`, `run` in `GET /v1/decisions`.
    """
    return asked.runs.decision(number, by)
