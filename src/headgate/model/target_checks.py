"""Refuses targets that nobody could keep to: both drivers ask this before they begin."""

from __future__ import annotations

from math import inf

from headgate.model.errors import HeadgateError
from headgate.model.number_text import duration
from headgate.model.qos import GRACE
from headgate.model.query import Query, QueryClass
from headgate.model.target import Target


def check_not_contradicted(query: Query, query_class: QueryClass) -> None:
    """Refuse a QoS graph by which results that miss the query's target, or its class's, still have their full value.

    A query's own target may be looser or stricter than its class's: it is the one that counts. A graph that falls
    before the target's limit does not contradict it: single results may come later than what is wanted of most.

    >>> from headgate.model import QoS, Select, Source
    >>> graph = QoS.of([[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]])
    >>> query = Query(name="q", query_class="c", plan=Select(inputs=(Source("s"),)), qos=graph, target=Target(0.5))
    >>> check_not_contradicted(query, QueryClass("c"))
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: target p95 500 ms contradicts the qos of query 'q', which gives results their full value up to 2 s; let the graph fall at 500 ms or before, or leave one of them out
    """  # noqa: E501
    target = query.target or query_class.target
    deadline = inf if query.qos is None else query.qos.deadline
    if target is None or deadline == inf or deadline <= target.limit + GRACE:
        return
    own = query.target is not None
    whose = f"target {target}" if own else f"target {target} of class '{query_class.name}'"
    either = "leave one of them out" if own else "give the query a target of its own"
    raise HeadgateError(
        f"{whose} contradicts the qos of query '{query.name}', which gives results their full value up to "
        f"{duration(deadline)}",
        hint=f"let the graph fall at {duration(target.limit)} or before, or {either}",
    )


def check_reachable(target: Target | None, shortest: float, what: str) -> None:
    """Refuse a target that is missed even if nothing else runs; `what` takes `shortest` seconds at least.

    >>> check_reachable(Target(0.02), 0.05, "a Spark job")
    Traceback (most recent call last):
    headgate.model.errors.HeadgateError: target p95 20 ms cannot be met: a Spark job takes 50 ms even alone; give more than that
    """  # noqa: E501
    if target is not None and target.limit < shortest - GRACE:
        raise HeadgateError(
            f"target {target} cannot be met: {what} takes {duration(shortest)} even alone", hint="give more than that"
        )
