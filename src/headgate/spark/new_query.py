"""What the arguments of `Session.query` become: a `Query` with its plan, checked as far as that needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from headgate.model import DEFAULT_CLASS, Operator, Query, QueryClass, check_known
from headgate.model.names import namespace
from headgate.model.values import located, text
from headgate.spark import arguments
from headgate.spark.engine.engine import Engine


def new_query(
    engine: Engine,
    name: str,
    sql: str,
    *,
    query_class: str | None = None,
    sink: str = "parquet",
    qos: Sequence[Sequence[float]] | None = None,
    since: str = "now",
    once: bool = False,
    start: float | str = 0.0,
    end: float | str = inf,
    lag: str | None = None,
    target: str | float | None = None,
    classes: Mapping[str, QueryClass] | None = None,
) -> Query:
    """The query that somebody wants to start; its class is "" for the default one. `classes` are those known."""
    arguments.name(name, "query")
    first, last = arguments.start_and_end(start, end)
    one_time = arguments.flag(once, "once")
    with located("since"):
        text(since, "now")
    with located("sink"):
        text(sink, "parquet")
    if query_class == DEFAULT_CLASS.name:  # made for the first query that is in it
        query_class = None
    known = engine.overview().classes if classes is None and query_class is not None else classes or {}
    return Query(
        name=name,
        query_class="" if query_class is None else check_known("class", query_class, known),
        plan=plan_for(engine, name, sql),
        sql=sql,
        qos=arguments.quality(qos),
        start=first,
        end=last,
        sink=sink,
        since="start" if one_time else since,
        once=one_time,
        lag=arguments.optional_text(lag, "lag", "skip, tuples=100000"),
        target=arguments.target(target),
    )


def plan_for(engine: Engine, query: str, sql: str) -> Operator:
    """The plan of a query's SQL: one in a namespace, as `acme..hot`, sees the streams and tables of that."""
    with located("sql"):
        text(sql, "SELECT id FROM sensors WHERE temp > 90")
    return engine.plan(sql, namespace(query))
