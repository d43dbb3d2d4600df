"""Queries and their classes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

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


DEFAULT_CLASS = QueryClass("default")  # of queries that name none


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


def effective_target(query: Query, query_class: QueryClass) -> Target | None:
    """The target that counts for a query: its own, else its class's, else the deadline of its QoS graph, for 95 %.

    >>> from headgate.model.operator import Select, Source
    >>> graph = QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]])
    >>> query = Query(name="q", query_class="c", plan=Select(inputs=(Source("s"),)), qos=graph)
    >>> str(effective_target(query, QueryClass("c"))), str(effective_target(query, QueryClass("c", target=Target(2.0))))
    ('p95 500 ms', 'p95 2 s')
    """
    if query.target is not None or query_class.target is not None:
        return query.target or query_class.target
    # A graph that falls at once, or never, names no latency that could be reached or missed.
    return Target(query.qos.deadline) if query.qos is not None and 0 < query.qos.deadline < inf else None
