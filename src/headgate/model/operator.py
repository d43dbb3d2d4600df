"""Operators of a query's plan, as a tree of frozen nodes.

A plan is written in SQL or directly as operators with given costs. Both give the same nodes: SQL fills in
what the operator computes (predicate, columns, condition), a workload file what it costs (`given`).
Expressions are SQL as their authors wrote it, with columns by their full names; equal ones compare equal
(`Expression`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from headgate.model.expression import form_of
from headgate.model.window import Window


class Kind(StrEnum):
    """What an operator does."""

    SELECT = "select"
    PROJECT = "project"
    SPLIT = "split"
    TABLE_JOIN = "table-join"
    JOIN = "join"
    AGGREGATE = "aggregate"
    UNION = "union"
    EXCEPT = "except"
    READ = "read"


@dataclass(frozen=True, slots=True)
class Given:
    """What is said about an operator beforehand; measured statistics start from here.

    `passes` is a fixed pattern of outcomes and repeats; `attribute` makes the outcome a predicate on a uniform
    attribute of the tuple, the same for all operators that name it; otherwise each tuple is drawn by itself.
    """

    cost: float = 0.0  # seconds per tuple
    overhead: float = 0.0  # seconds per call
    selectivity: float | None = None  # results per tuple; per pair for a join; None: the kind's own
    passes: tuple[bool, ...] = ()
    attribute: str | None = None
    tuples: int = 0  # of a join, in the simulator: so many tuples of each stream make a window; 0: by time
    bytes: int | None = None  # size of a tuple after the operator; None: as before it


@dataclass(frozen=True, slots=True)
class Column:
    """A named expression of a projection, a key or an aggregate."""

    name: str
    expression: str

    def __str__(self) -> str:
        form = form_of(self.expression)
        return form if form == self.name else f"{form} AS {self.name}"


@dataclass(frozen=True, slots=True)
class Source:
    """A leaf: a stream as a query reads it, under the alias its expressions use."""

    stream: str
    alias: str = ""

    def __str__(self) -> str:
        return f"{self.stream} AS {self.alias}" if self.alias and self.alias != self.stream else self.stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A node of a plan. `name` labels it and, for operators given by cost, lets queries share it."""

    kind: ClassVar[Kind]
    inputs: tuple[Operator | Source, ...]
    name: str | None = None
    given: Given = field(default_factory=Given)

    def describe(self) -> str:
        """What it computes, in a few words; empty for an operator given by cost only."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Operator):
    """Keeps the tuples that satisfy a predicate."""

    kind: ClassVar[Kind] = Kind.SELECT
    predicate: str = ""

    def describe(self) -> str:
        return form_of(self.predicate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Operator):
    """Computes columns, one result per tuple."""

    kind: ClassVar[Kind] = Kind.PROJECT
    columns: tuple[Column, ...] = ()

    def describe(self) -> str:
        return ", ".join(map(str, self.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Operator):
    """Hands its input to several consumers."""

    kind: ClassVar[Kind] = Kind.SPLIT


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJoin(Operator):
    """Joins a stream with a stored table.

    Columns above it are `left.column` and `alias.column`; `left` is empty over a join, whose columns are so already.
    """

    kind: ClassVar[Kind] = Kind.TABLE_JOIN
    table: str = ""
    alias: str = ""
    left: str = ""
    condition: str = ""
    how: str = "inner"  # inner or left

    def describe(self) -> str:
        return f"{self.how} {self.table} ON {form_of(self.condition)}" if self.table else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Operator):
    """Joins two streams within a time window: `lower <= right time - left time <= upper`, in seconds.

    Columns above it are `left.column` and `right.column`; `left` is empty over a join, whose columns are so already.
    """

    kind: ClassVar[Kind] = Kind.JOIN
    left: str = ""
    right: str = ""
    left_time: str = ""  # the event times that the window bounds, as the condition would write them
    right_time: str = ""
    condition: str = ""
    lower: float
    upper: float

    @property
    def reach(self) -> tuple[float, float]:
        """How far back, in seconds, a new left tuple and a new right tuple find partners: (V, V) for [-V, V]."""
        return max(0.0, min(self.upper, 0.0) - self.lower), max(0.0, self.upper - max(self.lower, 0.0))

    def describe(self) -> str:
        if self.given.tuples:
            return f"{form_of(self.condition)} within windows of {self.given.tuples} tuples".strip()
        return f"{form_of(self.condition)} within [{self.lower:g} s, {self.upper:g} s]".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(Operator):
    """Aggregates over a time window, by keys. DISTINCT within a window is an aggregate without aggregates."""

    kind: ClassVar[Kind] = Kind.AGGREGATE
    window: Window
    time: str = ""  # the event-time expression that the window cuts
    keys: tuple[Column, ...] = ()
    aggregates: tuple[Column, ...] = ()

    def describe(self) -> str:
        size = f"window {self.window.size:g} s" + ("" if self.window.tumbling else f" every {self.window.slide:g} s")
        keys = f" by {', '.join(map(str, self.keys))}" if self.keys else ""
        values = f": {', '.join(map(str, self.aggregates))}" if self.aggregates else ""
        return size + keys + values


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Operator):
    """All tuples of all inputs (UNION ALL)."""

    kind: ClassVar[Kind] = Kind.UNION


@dataclass(frozen=True, slots=True, kw_only=True)
class Except(Operator):
    """Rows of the left input that the right input does not have, in the same window."""

    kind: ClassVar[Kind] = Kind.EXCEPT
    window: Window

    def describe(self) -> str:
        return f"window {self.window.size:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(Operator):
    """Reads a stream for all of its queries, where that takes time of the workers. No query's plan has one."""

    kind: ClassVar[Kind] = Kind.READ

    def describe(self) -> str:
        return str(self.inputs[0])


def walk(node: Operator | Source) -> Iterator[Operator | Source]:
    """Post-order: every node after all of its inputs.

    >>> plan = Project(inputs=(Select(inputs=(Source("s"),), predicate="a > 1"),))
    >>> [type(node).__name__ for node in walk(plan)]
    ['Source', 'Select', 'Project']
    """
    if isinstance(node, Operator):
        for child in node.inputs:
            yield from walk(child)
    yield node


def streams(node: Operator | Source) -> tuple[str, ...]:
    """The streams a plan reads, each once, in order of first use."""
    return tuple(dict.fromkeys(leaf.stream for leaf in walk(node) if isinstance(leaf, Source)))
