"""The network of operators as a graph."""

from __future__ import annotations

from fastapi import Response
from pydantic import Field

from headgate.server.access.roles import Role, allow
from headgate.server.routes.common import Answer, Asked, router

routes = router("network")


class NetworkNode(Answer):
    """A stream, a table, an operator or a query; rates are tuples per second."""

    id: str
    kind: str = Field(description="stream, table, operator or query")
    text: str
    operator: str | None = Field(None, description="of an operator: select, project, join, aggregate, …")
    query_class: str | None = Field(None, alias="class")
    group: str | None = Field(None, description="the id of the group with which it runs")
    queries: list[str] = Field(description="that use it")
    waiting: int = Field(description="tuples; of a stream, those that wait for its slowest reader")
    rate: float
    cost: float | None = Field(None, description="seconds per tuple, at the topmost operator of a job")
    selectivity: float | None = Field(None, description="rows that come out per tuple, likewise")


class NetworkEdge(Answer):
    """What flows from one node to another."""

    begin: str = Field(alias="from")
    end: str = Field(alias="to")
    rate: float
    waiting: int


class NetworkGroup(Answer):
    """Queries that run together."""

    id: str
    query_class: str = Field(alias="class")
    queries: list[str]
    waiting: int
    oldest_wait: float
    rate: float
    runs: int


class NetworkAnswer(Answer):
    """The graph: streams and tables, operators, queries. Fields that are unknown are left out."""

    nodes: list[NetworkNode]
    edges: list[NetworkEdge]
    groups: list[NetworkGroup]


@routes.get("/network", openapi_extra=allow(Role.VIEW), response_model=NetworkAnswer)
def network(asked: Asked) -> Response:
    """Operators, queues and groups as a graph, with what flows and waits; parts that a group shares are there once."""
    return Response(asked.network_json(), media_type="application/json")
