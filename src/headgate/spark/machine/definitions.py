"""Definitions: what somebody has declared of a stream, table, class or query, in the form that commits store.

Something may be declared again as long as it is the same; `check_same` compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from headgate.model import ConflictError, Operator, QoS, Query, Target

STREAMS, TABLES, CLASSES, SETTINGS = "streams", "tables", "classes", "settings"  # kinds of entries in the catalog
DROPPED = "dropped"  # streams whose files are to be removed; a new stream of that name takes the entry away
QUERIES = "queries"  # described in commits together with where they stand

Entry = Mapping[str, Any]

_SINGULAR = {STREAMS: "stream", TABLES: "table", CLASSES: "class", QUERIES: "query"}
_HINTS = {
    STREAMS: "declare it as it is, give it another name, or choose a new data directory",
    TABLES: "declare it as it is, give it another name, or choose a new data directory",
    CLASSES: "change it with change_class, or choose another name",
    QUERIES: "change it with replace or move, stop it first, or choose another name",
}


def check_same(kind: str, name: str, before: Entry, now: Entry) -> None:
    """Refuse something else under a name that is taken; the error shows both.

    What an older format did not store, such as the source of a stream, is not compared.

    >>> check_same("classes", "low", {"priority": 1.0, "lag": None}, {"priority": 2.0, "lag": None})
    Traceback (most recent call last):
    headgate.model.errors.ConflictError: class 'low' exists already with priority 1, declared now with priority 2; change it with change_class, or choose another name
    """  # noqa: E501
    differing = [key for key in now if key in before and before[key] != now[key]]
    if differing:
        there, here = (", ".join(f"{key} {shown(entry[key])}" for key in differing) for entry in (before, now))
        raise ConflictError(
            f"{_SINGULAR[kind]} '{name}' exists already with {there}, declared now with {here}", hint=_HINTS[kind]
        )


def shown(value: object) -> str:
    """A value of an entry as users read it.

    >>> shown([["id", "bigint"], ["ts", "timestamp"]]), shown(None), shown(60.0), shown("hnr")
    ('(id bigint, ts timestamp)', 'none', '60', "'hnr'")
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return f"({', '.join(' '.join(map(str, part)) for part in value)})"
    return f"'{value}'"


def stored_target(entry: Entry) -> Target | None:
    """The target of a class or query; older formats have none."""
    return None if entry.get("target") is None else Target.parse(str(entry["target"]))


# -- queries -------------------------------------------------------------------------------------------------------


def definition(query: Query) -> dict[str, Any]:
    """What has been declared of a query, in the form that commits store."""
    return {
        "sql": query.sql,
        "class": query.query_class,
        "sink": query.sink or "parquet",
        "qos": None if query.qos is None else [list(point) for point in query.qos.points],
        "since": query.since,
        "once": query.once,
        "lag": query.lag,
        "target": None if query.target is None else str(query.target),
        "start": query.start,
        "end": None if query.end == inf else query.end,
    }


def declared_query(name: str, description: Entry, plan: Operator) -> Query:
    """The query that was declared, from its description in commits; those of older formats lack some of it."""
    qos, end, once = description.get("qos"), description.get("end"), "until" in description
    return Query(
        name=name,
        query_class=str(description["class"]),
        plan=plan,
        sql=str(description["sql"]),
        qos=None if qos is None else QoS.of(qos),
        start=float(description.get("start", 0.0)),
        end=inf if end is None else float(end),
        sink=str(description.get("sink", "parquet")),
        since=str(description.get("since", "start" if once else "now")),
        once=bool(description.get("once", once)),
        lag=description.get("lag"),
        target=stored_target(description),
    )
