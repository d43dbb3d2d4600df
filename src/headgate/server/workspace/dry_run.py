"""Dry runs: what starting a query would lead to. Nothing is started, and nothing is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from headgate.model import DEFAULT_CLASS, HeadgateError, Query, QueryClass
from headgate.plan.fusion_template import template
from headgate.server.replays import Replays
from headgate.server.workspace.classes import Classes
from headgate.server.workspace.names import Names
from headgate.server.workspace.plans import declared_tree
from headgate.server.workspace.queries import NewQuery, columns_json
from headgate.spark.new_query import new_query
from headgate.spark.session import Session
from headgate.what_if.similar import most_similar

LIMIT = 15.0  # seconds that the replay may take
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DryRun:
    """Checks queries of a tenant as if they were started."""

    session: Session
    names: Names
    classes: Classes
    replays: Replays

    def of(self, new: NewQuery, slows: bool = True) -> dict[str, Any]:
        """What would become of a query; refused with the error of creating it, if that would be refused.

        Whom it slows down takes seconds to compute: without `slows` the answer comes at once.
        """
        engine = self.session.engine
        query = self._declared(new)
        made = None if query.query_class in engine.overview().classes else QueryClass(query.query_class)
        checked = engine.check_query(query, made)
        present = {view.query.name: view.query for view in engine.overview().queries}
        group = [present[name] for name in checked.group if name in present and self.names.has(name)]
        return {
            "name": new.name,
            "class": query.query_class,
            "columns": columns_json(checked.columns),
            "plan": declared_tree(query.plan, self.names, group),
            "form": _form(query),
            "group": [self.names.short(member.name) for member in group],
            "cost": self._cost(query, group, [one for one in present.values() if self.names.has(one.name)]),
            **(self._slowed(query) if slows else _untold("it was not asked for")),
        }

    def _declared(self, new: NewQuery) -> Query:
        if new.query_class is not None:
            self.classes.check(new.query_class)
        query = new_query(self.session.engine, self.names.new(new.name, "query"), new.sql, **new.settings())
        return query if query.query_class else replace(query, query_class=DEFAULT_CLASS.name)

    def _cost(self, query: Query, group: Iterable[Query], present: Iterable[Query]) -> dict[str, Any] | str:
        """Seconds of a run by those measured of the group, or of the query most like it; "unknown" before any."""
        costs = self.session.engine.costs()
        measured = {name for name, cost in costs.queries.items() if cost.runs}
        members = [member for member in group if member.name in measured]
        others = [other for other in present if other.name in measured and other.name != query.name]
        if not members and not others:
            return UNKNOWN
        like = members[0] if members else most_similar(query, others)
        cost = costs.queries[like.name]
        return {
            "seconds_per_run": costs.run_overhead + cost.overhead,
            "seconds_per_tuple": cost.cost,
            "measured_of": self.names.short(like.name),
            "runs": cost.runs,
            "in_group": bool(members),
        }

    def _slowed(self, query: Query) -> dict[str, Any]:
        """Which classes would get slower, by what-if; null with a reason where that cannot be told."""
        if self.names.tenant:
            return _untold("it is computed from the work of all tenants, and told to none of them")
        if query.sql is None:
            return _untold("it has no SQL")
        added = {"sql": query.sql, "class": query.query_class, "name": query.name}
        try:
            answer = self.replays.ask(self.session, {"added": added, "last": 60.0}, LIMIT)
        except HeadgateError as error:
            return _untold(str(error))
        return {"slows": answer["added"], "slows_reason": None}


def _untold(reason: str) -> dict[str, Any]:
    return {"slows": None, "slows_reason": reason}


def _form(query: Query) -> str | None:
    """What queries of one job have in common: rows, aggregate or join; None if it always has jobs of its own."""
    found = template(query.plan)
    return None if found is None or not isinstance(found.form, tuple) else str(found.form[0])
