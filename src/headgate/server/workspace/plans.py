"""The plan of a query as a tree, with what was measured of it.

One Spark job evaluates several operators, and what they cost cannot be told apart: numbers stand at the topmost
operator of a job, which lists those that it covers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headgate.model import Operator, Query, Source
from headgate.plan.places import Place
from headgate.server.problems import own_words
from headgate.server.workspace.names import Names
from headgate.spark.machine.plan_views import JobView, PlanView

Rate = Callable[[str], float | None]  # rows per second of a stream


def plan_tree(view: PlanView, names: Names, rate: Rate) -> dict[str, Any]:
    """The plan from its root down to the streams; null where nothing was measured."""
    return _Tree(view, names, rate).node(view.query.plan, ())


def declared_tree(plan: Operator, names: Names, group: Iterable[Query] = ()) -> dict[str, Any]:
    """The plan of a query that does not run."""
    query = Query(name="", query_class="", plan=plan)
    return _Tree(PlanView(query, {}, tuple(group), {}), names, lambda stream: None).node(plan, ())


class _Tree:
    def __init__(self, view: PlanView, names: Names, rate: Rate) -> None:
        self._view, self._names, self._rate = view, names, rate

    def node(self, node: Operator | Source, place: Place) -> dict[str, Any]:
        inputs = (
            [] if isinstance(node, Source) else [self.node(one, (*place, at)) for at, one in enumerate(node.inputs)]
        )
        text, kind = self._words(node)
        tree: dict[str, Any] = {
            "id": "/".join(map(str, place)) or "root",
            "kind": kind,
            "text": text,
            "rows_in_per_second": None,
            "rows_out_per_second": None,
            "cost": None,
            "selectivity": None,
            "shared_with": self._shared(node),
            "inputs": inputs,
        }
        if isinstance(node, Source):
            tree["rows_out_per_second"] = self._rate(node.stream)
        else:
            tree["rows_in_per_second"] = _sum(one["rows_out_per_second"] for one in inputs)
            if (job := self._view.jobs.get(place)) is not None:
                self._measured(tree, job)
        return tree

    def _measured(self, tree: dict[str, Any], job: JobView) -> None:
        covered, entering = _covered(tree, self._view.jobs)
        rate = _sum(one["rows_out_per_second"] for one in entering)
        known = None not in (rate, job.selectivity)
        tree["cost"], tree["selectivity"] = job.cost, job.selectivity
        tree["rows_out_per_second"] = (rate or 0.0) * (job.selectivity or 0.0) if known else None
        tree["covers"], tree["runs"], tree["overhead"] = covered, job.runs, job.overhead

    def _words(self, node: Operator | Source) -> tuple[str, str]:
        if isinstance(node, Source):
            return self._own(str(node)), "stream"
        return self._own(" ".join(filter(None, (node.name or "", node.describe())))), str(node.kind)

    def _own(self, text: str) -> str:
        return own_words(text, self._names.tenant)

    def _shared(self, node: Operator | Source) -> list[str]:
        """The other queries of its job that have the same part, and so read or compute it once."""
        others = (query for query in self._view.group if query.name != self._view.query.name)
        found = [query.name for query in others if _contains(query.plan, node)]
        return [self._names.short(name) for name in found if self._names.has(name)]


def _covered(tree: dict[str, Any], jobs: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """The operators that are evaluated in the job of the topmost one, and the nodes whose rows enter it."""
    covered, entering, waiting = [], [], [tree]
    while waiting:
        node = waiting.pop(0)
        covered.append(node["id"])
        for child in node["inputs"]:
            if child["kind"] == "stream" or _place(child["id"]) in jobs:
                entering.append(child)
            else:
                waiting.append(child)
    return covered, entering


def _place(identity: str) -> Place:
    return () if identity == "root" else tuple(map(int, identity.split("/")))


def _contains(plan: Operator | Source, part: Operator | Source) -> bool:
    if plan == part:
        return True
    return isinstance(plan, Operator) and any(_contains(one, part) for one in plan.inputs)


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
