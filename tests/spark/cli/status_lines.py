"""Status as an engine would give it, made up for tests of what shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headgate.metrics.measures.qos import Quality
from headgate.metrics.measures.response import Distribution
from headgate.spark.status import Status, StatusLine

PRIORITIES = {"critical": 60.0, "background": 10.0}


def line(name: str, query_class: str = "critical", state: str = "running", **more: object) -> StatusLine:
    """A query, or a class, with numbers of some length."""
    known = StatusLine(
        name=name,
        query_class=query_class,
        state=state,
        error="",
        waiting=1234,
        oldest_wait=0.25,
        response_time=Distribution(mean=0.1, p50=0.1, p95=12.25, max=20.0),
        runs=7,
        tuples_in=54_321,
        tuples_out=4_321,
        dead_letters=3,
        priority=PRIORITIES[query_class],
        rate=400.0,
        recent=Distribution(mean=0.2, p50=0.2, p95=0.75, max=1.0),
    )
    return replace(known, **more)  # type: ignore[arg-type]


def status_of(queries: Sequence[StatusLine], rejected: int = 0) -> Status:
    """The status of an engine with these queries, whose only stream has rejected so many tuples."""
    classes = []
    for name in PRIORITIES:
        members = [query for query in queries if query.query_class == name]
        letters = sum(query.dead_letters for query in members)
        with_graph = [query.quality.missed for query in members if query.quality.missed is not None]
        quality = Quality(missed=sum(with_graph)) if with_graph else Quality()
        classes.append(line(name, name, dead_letters=letters, quality=quality))
    letters = sum(query.dead_letters for query in queries) + rejected
    doing = ("q0…q9 (10 queries): 1,234 tuples", "")
    return Status("mbd, inversion=dsp", 1.0, 7, 7, tuple(classes), tuple(queries), doing, {"s": letters})


def some_queries(count: int) -> Status:
    """The status of an engine with so many queries."""
    return status_of([line(f"query-{number}") for number in range(count)])
