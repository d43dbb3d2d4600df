"""Queries as a tenant sees them: submit, list, describe, steer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import inf, isfinite
from typing import Any

from headgate.model import streams, unknown
from headgate.plan.tree import render
from headgate.server.hosting import EngineHost
from headgate.server.live.numbers import QueryNumbers
from headgate.server.live.snapshots import Snapshot
from headgate.server.paging import Order, Page, Value, listed
from headgate.server.problems import own_words
from headgate.server.workspace.classes import Classes
from headgate.server.workspace.journal import JournalLines, entry_json
from headgate.server.workspace.names import Names
from headgate.server.workspace.plans import plan_tree
from headgate.spark.handle import Handle
from headgate.spark.machine.views import QueryView
from headgate.spark.session import Session
from headgate.spark.status import commits_json, query_status

LINES = 20  # of the journal that a description has


@dataclass(frozen=True, slots=True)
class NewQuery:
    """What somebody asks for when submitting a query; the words are those of `Session.query`."""

    name: str
    sql: str
    query_class: str | None = None
    sink: str = "parquet"
    target: str | float | None = None
    qos: Sequence[Sequence[float]] | None = None
    since: str = "now"
    once: bool = False
    start: float | str = 0.0
    end: float | str | None = None
    lag: str | None = None

    def settings(self) -> dict[str, Any]:
        """The arguments of `Session.query` behind name and SQL."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("name", "sql")}
        return given | {"end": inf if self.end is None else self.end}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which queries a list has, and in which order."""

    query_class: str | None = None
    state: str | None = None
    text: str | None = None  # in the name or the SQL
    sort: str = "name"  # with "-" before it, the largest first

    def __call__(self, numbers: QueryNumbers, short: str) -> bool:
        query = numbers.view.query
        if self.query_class not in (None, query.query_class) or self.state not in (None, numbers.view.state):
            return False
        text = (self.text or "").lower()
        return not text or text in short.lower() or text in (query.sql or "").lower()


SORTS: dict[str, Callable[[QueryNumbers], Value]] = {
    "name": lambda numbers: numbers.view.query.name,
    "class": lambda numbers: numbers.view.query.query_class,
    "state": lambda numbers: numbers.view.state,
    "priority": lambda numbers: numbers.view.priority,
    "waiting": lambda numbers: numbers.view.waiting,
    "oldest_wait": lambda numbers: numbers.json["oldest_wait"],
    "rate": lambda numbers: numbers.json["rate"],
    "tuples_in": lambda numbers: numbers.view.tuples_in,
    "tuples_out": lambda numbers: numbers.view.tuples_out,
    "dead_letters": lambda numbers: numbers.json["dead_letters"],
    "p50": lambda numbers: numbers.times.latency["last_minute"].get("p50"),
    "p95": lambda numbers: numbers.times.latency["last_minute"].get("p95"),
}


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of a tenant."""

    host: EngineHost
    names: Names
    classes: Classes

    @property
    def session(self) -> Session:
        return self.host.session()

    def create(self, new: NewQuery) -> None:
        if new.query_class is not None:
            self.classes.check(new.query_class)
        self.session.query(self.names.new(new.name, "query"), new.sql, **new.settings())

    def find(self, name: str) -> str:
        """The engine's name of a query that must be there."""
        return self.names.find("query", name, self.host.snapshot().queries)

    def handle(self, name: str) -> Handle:
        return self.session[self.find(name)]

    def view(self, name: str) -> QueryView:
        return self.session.engine.query(self.find(name))

    @contextmanager
    def changing(self, name: str, if_match: str | None) -> Iterator[Handle]:
        """Change a query meanwhile, if its ETag is the one that was sent."""
        key = "query", self.names.whole(name)
        with self.host.changes.of(key, f"query '{name}'", if_match, lambda: self.definition(self.view(name))):
            yield self.handle(name)

    # -- lists -------------------------------------------------------------------------------------------------

    def listed(self, wanted: Wanted, after: str | None, limit: int) -> bytes:
        """The queries that somebody wants to see, with their numbers, as JSON."""
        snapshot = self.host.snapshot()

        def encoded() -> bytes:
            page = listed(self.page(snapshot, wanted, after, limit), self.line)
            text = json.dumps(page, separators=(",", ":"), ensure_ascii=False)
            return text.encode("utf-8", "backslashreplace")

        return snapshot.page((self.names.tenant, wanted, after, limit), encoded)

    def page(self, snapshot: Snapshot, wanted: Wanted, after: str | None, limit: int) -> Page[QueryNumbers]:
        """A page of the queries in a snapshot."""
        field = wanted.sort.removeprefix("-")
        if field not in SORTS:
            raise unknown("order", field, SORTS)

        def name(numbers: QueryNumbers) -> str:
            return self.names.short(numbers.view.query.name)

        value = name if field == "name" else SORTS[field]
        order = Order(f"queries by {wanted.sort}", name, value, descending=wanted.sort.startswith("-"))
        found = [
            numbers
            for name, numbers in snapshot.queries.items()
            if self.names.has(name) and wanted(numbers, self.names.short(name))
        ]
        return order.page(found, after, limit)

    def line(self, numbers: QueryNumbers) -> dict[str, Any]:
        """A query in a list: what it is, and how it is doing."""
        query = numbers.view.query
        return {
            "name": self.names.short(query.name),
            "sql": query.sql,
            **numbers.json,
            "target": None if query.target is None else str(query.target),
            "target_status": numbers.json.get("target"),
            "error": self._own(numbers.view.error),
        }

    # -- one query ---------------------------------------------------------------------------------------------

    def describe(self, name: str) -> dict[str, Any]:
        """What was declared, what became of it, and how it is doing."""
        whole = self.find(name)
        engine = self.session.engine
        view, line, plan = engine.query(whole), query_status(engine, whole), engine.plan_of(whole)

        def rate(stream: str) -> float | None:
            log = engine.logs.get(stream)
            return None if log is None else log.rate(engine.now())

        journal = JournalLines(self.session.directory, self.names).page(self.names.short(whole), None, LINES)
        return {
            **line.to_json(),
            **self.definition(view),
            "state": view.state,
            "error": self._own(view.error),
            "columns": columns_json(view.columns),
            "plan": plan_tree(plan, self.names, rate),
            "plan_text": self._own(render(view.query.plan)),
            "group": [self.names.short(one.name) for one in plan.group if self.names.has(one.name)],
            "streams": sorted(self.names.short(stream) for stream in streams(view.query.plan)),
            "runs": view.runs,
            "skipped": line.skipped,
            "undelivered": line.undelivered,
            "is_late": line.is_late,
            **commits_json(line),
            "quality": line.to_json()["qos"],
            "target_status": line.to_json().get("target"),
            "journal": [entry_json(entry, self.names) for entry in journal.items],
        }

    def definition(self, view: QueryView) -> dict[str, Any]:
        """What was declared of a query."""
        query = view.query
        return {
            "name": self.names.short(query.name),
            "sql": query.sql,
            "class": query.query_class,
            "sink": query.sink or "parquet",
            "target": None if query.target is None else str(query.target),
            "qos": None if query.qos is None else [list(point) for point in query.qos.points],
            "since": query.since,
            "once": query.once,
            "lag": query.lag,
            "start": query.start,
            "end": query.end if isfinite(query.end) else None,
        }

    def _own(self, text: str) -> str:
        return own_words(text, self.names.tenant)


def columns_json(columns: Any) -> list[dict[str, str]]:
    """The columns of results as the API shows them."""
    return [] if columns is None else [{"name": column.name, "type": str(column.type)} for column in columns]
