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
    evaluated: float | None = Field(None, description="when its worker was free for the next run")
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


class LatencySteps(Answer):
    """How long results took, over time; lists of one length, with null where there were no results."""

    step: float
    at: list[float] = Field(description="the end of each step, in seconds since 1970; the last one ends now")
    results: list[int]
    p50: list[float | None] = Field(description="response times, as targets count them; percentiles are estimated")
    p95: list[float | None]
    max: list[float | None]
    mean: list[float | None] = Field(description="of the whole time, with windows and sinks: the sum of the parts")
    parts: dict[str, list[float | None]] = Field(description="window, queue, running, commit and sink")


class ClassCurves(Answer):
    """A class over time: what its results took in the 10 s before each moment, and what waited."""

    p50: list[float | None]
    p95: list[float | None]
    waiting: list[int | None]
    rate: list[float | None]


class Latencies(Answer):
    """Curves of all classes and queries; lists of one length, with null where something is unknown."""

    step: float
    at: list[float] = Field(description="in seconds since 1970")
    classes: dict[str, ClassCurves]
    queries: dict[str, list[float | None]] = Field(description="p95 by query; those without results are missing")


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


@routes.get("/queries/{name}/latency", openapi_extra=allow(Role.VIEW), response_model=LatencySteps)
def latency(
    name: str,
    asked: Asked,
    over: Since = KEPT,
    step: Annotated[float, Query(ge=0.1, le=KEPT, allow_inf_nan=False, description="seconds")] = 5.0,
) -> Response:
    """How long a query's results took in the last `over` seconds, step by step, and where that time went.

    It is from the record of the last ten minutes, from the engine's last start on.
    """
    return as_json(asked.insight.latency(asked.queries.find(name), over, step))


@routes.get("/latencies", openapi_extra=allow(Role.VIEW), response_model=Latencies)
def latencies(
    asked: Asked,
    after: Annotated[float | None, Query(allow_inf_nan=False, description="only later ones: the last of `at`")] = None,
) -> Response:
    """How long results took in the last ten minutes, by class and by query.

    The server notes that every 5 s, whether somebody looks or not; it begins anew when the server does.
    """
    return as_json(asked.latencies_json(after))
