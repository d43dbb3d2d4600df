"""What a query can refer to: the relations in its FROM, their columns, and which of those are event time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from headgate.model import (
    Column,
    HeadgateError,
    Operator,
    Project,
    Source,
    Stream,
    Table,
    Window,
    streams,
    unknown,
    walk,
)
from headgate.plan.sql.normal import column, name_of, normal, text
from headgate.plan.sql.parse import SPARK, place, refusal

START, END = "window_start", "window_end"
WHOLE = "window"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation: its name, and how operators above refer to it (`k`, or `a.k` above a join)."""

    name: str
    ref: exp.Expr


@dataclass(frozen=True, slots=True)
class Relation:
    """A sub-plan and what is known of its rows.

    `times` maps the text of each event-time reference to the one that stands for the moment; `marks` tells which
    references name the rows' window, and which part of it; `cut` is the time by which rows fall into `window`.
    """

    plan: Operator | Source
    fields: tuple[Field, ...] | None  # None: no schema was declared
    times: Mapping[str, str] = field(default_factory=dict)
    window: Window | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    cut: str = ""
    pending: bool = False  # TUMBLE or HOP that no operator has applied yet
    aliases: frozenset[str] = frozenset()  # a join's output: its columns are qualified by these

    @property
    def base(self) -> str:
        """The canonical alias that a join gives it."""
        return streams(self.plan)[0]


@dataclass(frozen=True, slots=True)
class FromItem:
    """One entry of FROM: the name the query gives it, the canonical one, and a relation or a stored table."""

    name: str
    alias: str
    node: exp.Expr
    relation: Relation | None = None
    table: Table | None = None

    @property
    def fields(self) -> tuple[Field, ...] | None:
        if self.relation is not None:
            return self.relation.fields
        names = self.table.columns if self.table else ()
        return tuple(Field(name, column(name)) for name in names) or None

    @property
    def qualified(self) -> bool:
        return self.relation is not None and bool(self.relation.aliases)

    def above(self, ref: exp.Expr) -> exp.Expr:
        """A reference of its own as it is written above a join."""
        return ref.copy() if self.qualified else _qualified(ref.copy(), self.alias)


@dataclass(frozen=True, slots=True)
class Scope:
    """The entries of one FROM, in the order written."""

    items: tuple[FromItem, ...]

    def find(self, node: exp.Column) -> tuple[FromItem, exp.Expr]:
        """The entry that a column belongs to, and the reference in that entry's own terms."""
        parts = list(node.parts)
        named = [item for item in self.items if item.name == parts[0].name.lower()]
        if named and len(parts) > 1:
            return named[0], _path(self._of(named[0], parts[1], node), parts[2:])
        if len(parts) > 1 and not self._candidates(parts[0]):
            raise unknown("stream, table or alias", parts[0].name, self._names(), where=place(node))
        item = self._owner(parts[0], node)
        return item, _path(self._of(item, parts[0], node), parts[1:])

    def items_of(self, node: exp.Expr) -> set[int]:
        """Which entries an expression refers to, by position."""
        items = [self.find(part)[0] for part in outer_columns(node)]
        return {self.items.index(item) for item in items}

    def resolve(self, node: exp.Expr, own: bool = False) -> exp.Expr:
        """The canonical expression; `own` writes it in the terms of the one entry it refers to."""
        copy = node.copy()
        root = exp.Paren(this=copy)
        for part in list(outer_columns(copy)):
            item, ref = self.find(part)
            part.replace(ref if own or len(self.items) == 1 else item.above(ref))
        return normal(root.this)

    def knows(self, name: str) -> bool:
        """Whether some entry declares a column of that name."""
        return any(field.name.lower() == name for item in self.items for field in item.fields or ())

    def _candidates(self, part: exp.Expr) -> list[FromItem]:
        name = part.name.lower()
        declared = [item for item in self.items if any(field.name.lower() == name for field in item.fields or ())]
        return declared or [item for item in self.items if item.fields is None]

    def _owner(self, part: exp.Expr, node: exp.Expr) -> FromItem:
        owners = self._candidates(part)
        if not owners:
            names = {field.name for item in self.items for field in item.fields or ()}
            raise unknown("column", part.name, names, where=place(node))
        if len(owners) > 1:
            choices = " or ".join(f"{item.name}.{part.name}" for item in owners)
            raise refusal(node, f"column '{part.name}' is ambiguous", f"write {choices}")
        return owners[0]

    def _of(self, item: FromItem, part: exp.Expr, node: exp.Expr) -> exp.Expr:
        name = part.name.lower()
        if item.fields is None:
            if item.qualified:
                raise _undeclared(node, item)
            return column(name_of(part))
        matching = [field for field in item.fields if field.name.lower() == name]
        if len(matching) > 1:
            raise refusal(node, f"'{item.name}' has several columns '{part.name}'", "name them apart with AS")
        if not matching:
            raise unknown("column", part.name, (field.name for field in item.fields), where=place(node))
        return matching[0].ref.copy()

    def _names(self) -> list[str]:
        return [item.name for item in self.items]


def outer_columns(node: exp.Expr) -> Iterable[exp.Column]:
    """The columns of an expression; `count(*)` has none."""
    return (part for part in node.find_all(exp.Column) if not isinstance(part.this, exp.Star))


def of_stream(stream: Stream) -> Relation:
    """A stream as a leaf of a plan.

    >>> of_stream(Stream(name="s", event_time="ts")).times
    {'ts': 'ts'}
    """
    fields = tuple(Field(name, column(name)) for name in stream.columns) or None
    time = text(column(stream.event_time)) if stream.event_time else ""
    return Relation(Source(stream.name, stream.name), fields, times={time: time} if time else {})


def projected(relation: Relation, outputs: list[tuple[str, exp.Expr]]) -> Relation:
    """The relation that a projection gives: names, event time and window follow the columns kept as they are."""
    columns = tuple(Column(name, text(value)) for name, value in outputs)
    fields = tuple(Field(name, column(name)) for name, _ in outputs)
    plan = relation.plan if _identity(relation, columns) else Project(inputs=(relation.plan,), columns=columns)
    times, marks = dict[str, str](), dict[str, str]()
    for kept in columns:
        _follow(relation, kept, times, marks)
    starts = [ref for ref, part in marks.items() if part == START]
    window = relation.window if marks else None
    return Relation(plan, fields, times, window, marks, cut=starts[0] if starts else "")


def flat(relation: Relation, node: exp.Expr) -> Relation:
    """A join's output under plain column names."""
    if not relation.aliases:
        return relation
    if relation.fields is None:
        raise _undeclared(node, None)
    names = [field.name for field in relation.fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refusal(node, f"this query outputs several columns '{twice[0]}'", "name them apart with AS")
    return projected(relation, [(field.name, field.ref.copy()) for field in relation.fields])


def leaves(plan: Operator | Source) -> int:
    """How many streams a plan reads, each as often as it is read."""
    return sum(isinstance(node, Source) for node in walk(plan))


def whole_window() -> exp.Expr:
    """Spark's `window` column, made of its two ends."""
    struct: exp.Expr = exp.maybe_parse(f"struct({START} AS start, {END} AS end)", dialect=SPARK)
    return normal(struct)


@lru_cache(maxsize=1)
def _whole_window_text() -> str:
    return text(whole_window())


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """A name as it is written in an expression."""
    return text(column(name))


def _follow(relation: Relation, kept: Column, times: dict[str, str], marks: dict[str, str]) -> None:
    name = quoted(kept.name)
    if relation.window and kept.expression == _whole_window_text():
        times.update({name: f"{name}.start", f"{name}.start": f"{name}.start", f"{name}.end": f"{name}.end"})
        marks.update({name: WHOLE, f"{name}.start": START, f"{name}.end": END})
    for ref, moment in relation.times.items():
        if ref == kept.expression or ref.startswith(f"{kept.expression}."):
            rest = len(kept.expression)
            times[name + ref[rest:]] = name + moment[rest:]
    for ref, part in relation.marks.items():
        if ref == kept.expression or ref.startswith(f"{kept.expression}."):
            marks[name + ref[len(kept.expression) :]] = part


def _identity(relation: Relation, columns: tuple[Column, ...]) -> bool:
    if relation.fields is None or relation.aliases or relation.pending:
        return False
    return [(field.name, text(field.ref)) for field in relation.fields] == [
        (field.name, field.expression) for field in columns
    ]


def _qualified(ref: exp.Expr, alias: str) -> exp.Expr:
    column_ref = ref if isinstance(ref, exp.Column) else ref.find(exp.Column)
    if column_ref is not None:
        column_ref.set("table", column(alias).this)
    return ref


def _path(ref: exp.Expr, rest: list[exp.Expr]) -> exp.Expr:
    for part in rest:
        ref = exp.Dot(this=ref, expression=column(name_of(part)).this)
    return ref


def _undeclared(node: exp.Expr, item: FromItem | None) -> HeadgateError:
    of = f"of '{item.name}' " if item else ""
    return refusal(node, f"the columns {of}are not declared", "give its streams a schema, or list the columns")
