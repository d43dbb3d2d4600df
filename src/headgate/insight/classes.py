"""The classes of a history: which query belongs to which, and how important each is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headgate.history.history import History
from headgate.model import QueryClass

_ALONE = frozenset({"Source", "Select", "Project", "Split", "TableJoin", "Union"})  # operators that keep no tuple


@dataclass(frozen=True, slots=True)
class Classes:
    """Queries and their classes, as the settings of a history say, the newest last."""

    of: dict[str, str] = field(default_factory=dict)  # by query
    priority: dict[str, float] = field(default_factory=dict)  # by class
    joins: frozenset[str] = frozenset()  # queries that join streams
    windows: frozenset[str] = frozenset()  # queries that aggregate windows
    filters: frozenset[str] = frozenset()  # queries that look at each tuple alone
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the streams of each query

    @classmethod
    def of_history(cls, history: History) -> Classes:
        of: dict[str, str] = {}
        priority: dict[str, float] = {}
        plans: dict[str, str] = {}
        for run in history.runs:  # for histories without settings: the class that pays for a run
            of.update((query, run.query_class) for query in run.queries if len(run.queries) == 1 or query not in of)
        for setting in history.settings:
            for query in setting.header.get("queries", ()):
                of[query["name"]] = query["query_class"]
                plans[query["name"]] = query.get("plan", {})
            classes = setting.header.get("classes", ())
            priority.update((one["name"], one.get("priority", QueryClass("").priority)) for one in classes)
        kinds = {name: frozenset(_operators(plan)) for name, plan in plans.items()}
        return cls(
            of,
            priority,
            frozenset(name for name, found in kinds.items() if "Join" in found),
            frozenset(name for name, found in kinds.items() if "Aggregate" in found),
            frozenset(name for name, found in kinds.items() if found <= _ALONE),
            {name: tuple(_streams(plan)) for name, plan in plans.items()},
        )

    def ordered(self) -> list[str]:
        """Classes by falling priority, then by name."""
        names = {*self.of.values(), *self.priority}
        return sorted(names, key=lambda name: (-self.priority.get(name, 0.0), name))

    def lower(self, one: str, other: str) -> bool:
        """Whether a class is less important than another."""
        return self.priority.get(one, 0.0) < self.priority.get(other, 0.0)

    def has_above(self, query_class: str) -> bool:
        """Whether a more important class has queries."""
        return any(self.lower(query_class, other) for other in self.of.values())

    def lower_queries(self, queries: Iterable[str], query: str) -> list[str]:
        """Those queries whose class is less important than that of a query."""
        own = self.of.get(query, "")
        return [other for other in queries if self.lower(self.of.get(other, own), own)]

    def work(self, queries: Iterable[str]) -> str:
        """What queries do, in a word.

        >>> Classes(joins=frozenset({"pairs"})).work(["pairs"])
        'window joins'
        """
        names = set(queries)
        if names and names <= self.joins:
            return "window joins"
        if names and names <= self.windows:
            return "window aggregates"
        if names and names <= self.filters:
            return "filters"
        return "runs"


def _streams(plan: object) -> Iterable[str]:
    """The streams that a plan reads, from its plain form."""
    if isinstance(plan, dict):
        if plan.get("is") == "Source":
            yield plan["stream"]
        for part in plan.get("inputs", ()):
            yield from _streams(part)


def _operators(plan: object) -> Iterable[str]:
    """The kinds of a plan's operators, from its plain form."""
    if isinstance(plan, dict):
        yield str(plan.get("is", ""))
        for part in plan.get("inputs", ()):
            yield from _operators(part)
