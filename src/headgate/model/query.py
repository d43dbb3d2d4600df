"""Queries and their classes."""

from __future__ import annotations

from dataclasses import dataclass

from headgate.model.operator import Operator
from headgate.model.qos import QoS
from headgate.model.target import Target


@dataclass(frozen=True, slots=True)
class QueryClass:
    """A name and a priority; every query belongs to one, and both can change while it runs."""

    name: str
    priority: float = 1.0
    lag: str | None = None  # for its queries that say nothing of theirs
    target: Target | None = None  # likewise


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query: a plan over streams, a class, optionally a QoS graph.

    `since` says whether it reads from "now" on or from the "start" of what is kept. With `once` it is no continuous
    query: it reads what is there when it starts, and ends. `lag` limits how far it may fall behind its streams.
    """

    name: str
    query_class: str
    plan: Operator
    sql: str | None = None
    qos: QoS | None = None
    start: float = 0.0
    end: float = float("inf")
    sink: str | None = None
    since: str = "now"
    once: bool = False
    lag: str | None = None  # "skip, tuples=100000"
    target: Target | None = None  # how soon its results are wanted
