from __future__ import annotations

from dataclasses import dataclass

from headgate.model.operator import Operator
from headgate.model.qos import QoS


@dataclass(frozen=True, slots=True)
class QueryClass:
    """A name and a priority; every query belongs to one, and both can change while it runs."""

    name: str
    priority: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A continuous query: a plan over streams, a class, optionally a QoS graph."""

    name: str
    query_class: str
    plan: Operator
    sql: str | None = None
    qos: QoS | None = None
    start: float = 0.0
    end: float = float("inf")
    sink: str | None = None
