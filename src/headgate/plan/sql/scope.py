"""What a query can refer to: the relations in its FROM, their columns, and which of those are event time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from headgate.model import (
    Column,
    Expression,
    HeadgateError,
    Operator,
    Project,
    Source,
    Stream,
    Table,
    Window,
    form_of,
    streams,
    unknown,
    walk,
)
from headgate.plan.sql.normal import Types, canonical, name_of, quoted
from headgate.plan.sql.parse import expression, place, refusal
from headgate.plan.sql.words import put, written

START, END = "window_start", "window_end"
WHOLE = "window"
WHOLE_WINDOW = f"STRUCT({START} AS start, {END} AS end)"  # Spark's `window` column, made of its two ends


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation: its name, and how operators above refer to it (`k`, or `a.k` above a join)."""

    name: str
    ref: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A sub-plan and what is known of its rows.

    `times` maps the text of each event-time reference to the one that stands for the moment; `marks` tells which
    references name the rows' window, and which part of it; `cut` is the time by which rows fall into `window`. `types`
    are the declared types of references, as far as they are known.
    """

    plan: Operator | Source
    fields: tuple[Field, ...] | None  # None: no schema was declared
    times: Mapping[str, str] = field(default_factory=dict)
    window: Window | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    cut: str = ""
    pending: bool = False  # TUMBLE or HOP that no operator has applied yet
    types: Types = field(default_factory=dict)
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
        return tuple(Field(name, quoted(name)) for name in names) or None

    @property
    def qualified(self) -> bool:
        return self.relation is not None and bool(self.relation.aliases)

    @property
    def types(self) -> Types:
        if self.relation is not None:
            return self.relation.types
        return {quoted(name): kind for name, kind in self.table.schema} if self.table else {}

    def above(self, ref: str) -> str:
        """A reference of its own as it is written above a join."""
        return ref if self.qualified else f"{quoted(self.alias)}.{ref}"


@dataclass(frozen=True, slots=True)
class Scope:
    """The entries of one FROM, in the order written."""

    items: tuple[FromItem, ...]

    @property
    def types(self) -> Types:
        """Declared types, by references as `resolve` writes them."""
        if len(self.items) == 1:
            return self.items[0].types
        return {item.above(ref): kind for item in self.items for ref, kind in item.types.items()}

    def find(self, node: exp.Column) -> tuple[FromItem, str]:
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
        """An expression with its columns as references; `own` writes it in the terms of the one entry it refers to."""
        root = exp.Paren(this=node.copy())
        for part in list(outer_columns(root)):
            item, ref = self.find(part)
            try:
                put(part, _as_named(part, ref if own or len(self.items) == 1 else item.above(ref)))
            except HeadgateError as error:
                raise error.at(place(part)) from None
        resolved: exp.Expr = root.this.pop()
        return resolved

    def canonical(self, node: exp.Expr) -> Expression:
        """An expression with its columns as references, as it stands in a plan."""
        return canonical(self.resolve(node), self.types)

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

    def _of(self, item: FromItem, part: exp.Expr, node: exp.Expr) -> str:
        name = part.name.lower()
        if item.fields is None:
            if item.qualified:
                raise _undeclared(node, item)
            return quoted(name_of(part))
        matching = [field for field in item.fields if field.name.lower() == name]
        if len(matching) > 1:
            raise refusal(node, f"'{item.name}' has several columns '{part.name}'", "name them apart with AS")
        if not matching:
            raise unknown("column", part.name, (field.name for field in item.fields), where=place(node))
        return matching[0].ref

    def _names(self) -> list[str]:
        return [item.name for item in self.items]


def _as_named(part: exp.Column, ref: str) -> exp.Expr:
    """A reference in the place of a column; where Spark takes a field's name from it, with the letters of its author.

    `struct(ID)` and `(ID, x)` have a field ID, whatever the stream calls the column. Only STRUCT knows AS as well,
    which holds where operators below rename columns, too.
    """
    reference, named = expression(ref), "`" + part.name.replace("`", "``") + "`"
    function = part.parent.name.lower() if isinstance(part.parent, exp.Anonymous) else ""
    if function == "struct":
        alias: exp.Expr = expression(f"struct({ref} AS {named})").expressions[0]
        return alias
    if isinstance(reference, exp.Column | exp.Dot) and (function == "arrays_zip" or isinstance(part.parent, exp.Tuple)):
        return expression(".".join([*map(written, reference.parts[:-1]), named]))
    return reference


def outer_columns(node: exp.Expr) -> Iterable[exp.Column]:
    """The columns of an expression; `count(*)` has none."""
    return (part for part in node.find_all(exp.Column) if not isinstance(part.this, exp.Star))


def of_stream(stream: Stream) -> Relation:
    """A stream as a leaf of a plan.

    >>> of_stream(Stream(name="s", event_time="ts")).times
    {'ts': 'ts'}
    """
    fields = tuple(Field(name, quoted(name)) for name in stream.columns) or None
    time = quoted(stream.event_time) if stream.event_time else ""
    types = {quoted(name): kind for name, kind in stream.schema}
    return Relation(Source(stream.name, stream.name), fields, times={time: time} if time else {}, types=types)


def projected(relation: Relation, outputs: list[tuple[str, Expression]]) -> Relation:
    """The relation that a projection gives: names, event time and window follow the columns kept as they are."""
    columns = tuple(Column(name, value) for name, value in outputs)
    fields = tuple(Field(name, quoted(name)) for name, _ in outputs)
    plan = relation.plan if _identity(relation, columns) else Project(inputs=(relation.plan,), columns=columns)
    times, marks = dict[str, str](), dict[str, str]()
    for kept in columns:
        _follow(relation, kept, times, marks)
    starts = [ref for ref, part in marks.items() if part == START]
    window = relation.window if marks else None
    types = {quoted(kept.name): kind for kept in columns if (kind := relation.types.get(form_of(kept.expression)))}
    return Relation(plan, fields, times, window, marks, cut=starts[0] if starts else "", types=types)


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
    return projected(relation, [(field.name, Expression(field.ref)) for field in relation.fields])


def leaves(plan: Operator | Source) -> int:
    """How many streams a plan reads, each as often as it is read."""
    return sum(isinstance(node, Source) for node in walk(plan))


def _follow(relation: Relation, kept: Column, times: dict[str, str], marks: dict[str, str]) -> None:
    name = quoted(kept.name)
    if relation.window and form_of(kept.expression) == WHOLE_WINDOW:
        times.update({name: f"{name}.start", f"{name}.start": f"{name}.start", f"{name}.end": f"{name}.end"})
        marks.update({name: WHOLE, f"{name}.start": START, f"{name}.end": END})
    own = form_of(kept.expression)
    for ref, moment in relation.times.items():
        if ref == own or ref.startswith(f"{own}."):
            rest = len(own)
            times[name + ref[rest:]] = name + moment[rest:]
    for ref, part in relation.marks.items():
        if ref == own or ref.startswith(f"{own}."):
            marks[name + ref[len(own) :]] = part


def _identity(relation: Relation, columns: tuple[Column, ...]) -> bool:
    if relation.fields is None or relation.aliases or relation.pending:
        return False
    return [(field.name, field.ref) for field in relation.fields] == [
        (field.name, form_of(field.expression)) for field in columns
    ]


def _path(ref: str, rest: list[exp.Expr]) -> str:
    return ".".join((ref, *(quoted(name_of(part)) for part in rest)))


def _undeclared(node: exp.Expr, item: FromItem | None) -> HeadgateError:
    of = f"of '{item.name}' " if item else ""
    return refusal(node, f"the columns {of}are not declared", "give its streams a schema, or list the columns")
