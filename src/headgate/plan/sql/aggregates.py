"""GROUP BY, HAVING and DISTINCT: a windowed Aggregate, and what is computed above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from headgate.model import Aggregate, Column, HeadgateError, Select, Window
from headgate.plan.sql.functions import aggregates
from headgate.plan.sql.normal import column, conjunction, conjuncts, name_of, normal, text
from headgate.plan.sql.parse import refusal
from headgate.plan.sql.scope import END, START, WHOLE, Field, Relation, Scope, outer_columns, whole_window
from headgate.plan.sql.windows import is_window, window_call

_PARTS = {"start": START, "end": END}


def is_aggregate(node: exp.Expr) -> bool:
    """An aggregate call, with its FILTER, and with the sort that makes a collected list deterministic."""
    if isinstance(node, exp.Filter | exp.ArraySort):
        return is_aggregate(node.this)
    return isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.name.lower() in aggregates())


def aggregates_in(nodes: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """The outermost aggregate calls."""
    for node in nodes:
        yield from (part for part in node.walk(prune=is_aggregate) if is_aggregate(part))


@dataclass(frozen=True, slots=True)
class Grouping:
    """A window, keys and aggregates over a relation, and how expressions above refer to them."""

    scope: Scope
    relation: Relation
    window: Window
    time: str
    call: str  # the canonical window(…) call; empty where the window comes with the relation
    keys: dict[str, str]  # canonical expression: name
    aggregates: dict[str, str]

    def planned(self) -> Relation:
        """The Aggregate as a relation."""
        keys, values = (
            tuple(Column(name, key) for key, name in named.items()) for named in (self.keys, self.aggregates)
        )
        plan = Aggregate(inputs=(self.relation.plan,), window=self.window, time=self.time, keys=keys, aggregates=values)
        names = [START, END, *(output.name for output in (*keys, *values))]
        ends = {START: START, END: END}
        return Relation(plan, tuple(Field(name, column(name)) for name in names), ends, self.window, ends, cut=START)

    def above(self, node: exp.Expr) -> exp.Expr:
        """An expression of SELECT or HAVING in terms of the Aggregate's output."""
        return normal(self._over(node.copy()))

    def _over(self, node: exp.Expr) -> exp.Expr:
        output = self._output(node)
        if output is not None:
            return output
        if isinstance(node, exp.Column):
            hint = f"add {text(node)} to GROUP BY, or aggregate it: max({text(node)})"
            raise refusal(node, f"column '{text(node)}' is neither grouped nor aggregated", hint)
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, self._over(value))
            elif isinstance(value, list):
                node.set(key, [self._over(item) if isinstance(item, exp.Expr) else item for item in value])
        return node

    def _output(self, node: exp.Expr) -> exp.Expr | None:
        part = window_part(node, self.scope, self.relation, self.call)
        if part is not None:
            return whole_window() if part == WHOLE else column(part)
        if is_aggregate(node):
            return column(self.aggregates[text(self.scope.resolve(node))])
        if isinstance(node, exp.Identifier) or any(self._special(inner) for inner in node.walk()):
            return None
        key = self.keys.get(text(self.scope.resolve(node))) if self.keys else None
        return column(key) if key is not None else None

    def _special(self, node: exp.Expr) -> bool:
        return is_aggregate(node) or window_part(node, self.scope, self.relation, self.call) is not None


def aggregate(query: exp.Select, scope: Scope, relation: Relation) -> tuple[Relation, list[tuple[str, exp.Expr]]]:
    """The Aggregate with HAVING above it, and the columns that SELECT makes of it."""
    named = {name_of(item.args["alias"]): item.this for item in query.expressions if isinstance(item, exp.Alias)}
    having = query.args.get("having")
    tests = [_without_aliases(test, named, scope) for test in conjuncts(having.this if having else None)]
    items = [item.unalias() for item in query.expressions]
    grouping = _grouping(query, _groups(query, named, scope), [*items, *tests], scope, relation)
    grouped = grouping.planned()
    outputs = [(output_name(item), grouping.above(item.unalias())) for item in query.expressions]
    if tests:
        predicate = conjunction(grouping.above(test) for test in tests)
        grouped = _with_plan(grouped, Select(inputs=(grouped.plan,), predicate=predicate))
    return grouped, outputs


def output_name(item: exp.Expr) -> str:
    """The name of a SELECT item: its alias, its column, or its text."""
    if isinstance(item, exp.Alias):
        name = name_of(item.args["alias"])
        if name.startswith("_"):
            raise refusal(
                item, f"column '{name}' begins with _", "names that begin with _ are Headgate's own: rename it"
            )
        return name
    if isinstance(item, exp.Column):
        return name_of(item.this)
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return name_of(item.expression)
    return "window" if is_window(item) else text(normal(item))


def window_part(node: exp.Expr, scope: Scope, relation: Relation, call: str) -> str | None:
    """Which part of the rows' window an expression names: its start, its end, or the whole."""
    if call and is_window(node):
        if text(scope.resolve(node)) != call:
            raise refusal(node, "this is another window than the one in GROUP BY", "use one window per GROUP BY")
        return WHOLE
    if call and isinstance(node, exp.Dot) and is_window(node.this):
        return _PARTS.get(node.expression.name.lower())
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    return _called_part(node, scope) if call else relation.marks.get(text(scope.resolve(node)))


def _called_part(node: exp.Column, scope: Scope) -> str | None:
    names = [part.name.lower() for part in node.parts]
    if scope.knows(names[0]) or any(item.name == names[0] for item in scope.items):
        return None
    if names in ([START], [END], [WHOLE]):
        return names[0]
    return _PARTS.get(names[1]) if len(names) == 2 and names[0] == WHOLE else None


def _groups(query: exp.Select, named: dict[str, exp.Expr], scope: Scope) -> list[exp.Expr]:
    """What to group by: aliases and ordinals replaced; DISTINCT groups by everything it selects."""
    group = query.args.get("group")
    if query.args.get("distinct"):
        if group or list(aggregates_in(query.expressions)):
            hint = "aggregate in a subquery, and select DISTINCT from it within the window"
            raise refusal(query, "DISTINCT over an aggregate is not supported", hint)
        return [item.unalias() for item in query.expressions]
    if group is None:
        return []
    for key, value in group.args.items():
        if value and key != "expressions":
            raise refusal(group, f"GROUP BY {key.upper()} is not supported", "list the window and the keys")
    flat: list[exp.Expr] = []
    for expression in group.expressions:
        flat += expression.expressions if isinstance(expression, exp.Tuple) else [expression]
    return [_without_aliases(_ordinal(expression, query), named, scope) for expression in flat]


def _ordinal(node: exp.Expr, query: exp.Select) -> exp.Expr:
    if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets):
        raise refusal(node, f"GROUP BY {node.key.upper()} is not supported", "list the window and the keys")
    if not (isinstance(node, exp.Literal) and node.is_int):
        return node
    position = int(node.name)
    if not 1 <= position <= len(query.expressions):
        raise refusal(node, f"GROUP BY {position} names no column", f"SELECT has {len(query.expressions)}")
    item: exp.Expr = query.expressions[position - 1]
    return item.unalias()


def _without_aliases(node: exp.Expr, named: dict[str, exp.Expr], scope: Scope) -> exp.Expr:
    root = exp.Paren(this=node.copy())
    for part in list(outer_columns(root)):
        replaced = named.get(name_of(part.parts[0]))
        if replaced is None or _is_input(part, replaced, scope):
            continue
        path = replaced.copy()
        for field in part.parts[1:]:
            path = exp.Dot(this=path, expression=field.copy())
        part.replace(path)
    expression: exp.Expr = root.this
    return expression


def _is_input(part: exp.Column, replaced: exp.Expr, scope: Scope) -> bool:
    """An input column hides an alias. Without a schema we know of one if the alias itself is made of it."""
    name = part.parts[0].name.lower()
    return (
        scope.knows(name)
        or any(item.name == name and len(part.parts) > 1 for item in scope.items)
        or any(column.parts[0].name.lower() == name for column in outer_columns(replaced))
    )


def _grouping(
    query: exp.Select, groups: list[exp.Expr], used: list[exp.Expr], scope: Scope, relation: Relation
) -> Grouping:
    window, time = _window_of(query, groups, scope, relation)
    call = next((text(scope.resolve(_call(expression))) for expression in groups if is_window(_call(expression))), "")
    plain = [expression for expression in groups if window_part(expression, scope, relation, call) is None]
    for expression in aggregates_in(plain):
        raise refusal(expression, "GROUP BY holds an aggregate", "group by columns, and test aggregates with HAVING")
    keys = _named([scope.resolve(expression) for expression in plain], {START, END})
    calls = list(aggregates_in(used))
    for expression in calls:
        _refuse_nested(expression)
    values = _named([scope.resolve(expression) for expression in calls], {START, END, *keys.values()})
    return Grouping(scope, relation, window, time, call, keys, values)


def _call(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Dot) else node


def _window_of(query: exp.Select, groups: list[exp.Expr], scope: Scope, relation: Relation) -> tuple[Window, str]:
    for expression in groups:
        if is_window(_call(expression)):
            return window_call(_call(expression), scope, relation)
    if relation.window is None or not any(window_part(expression, scope, relation, "") for expression in groups):
        raise _unbounded(query, relation)
    if not relation.pending and not (relation.window.tumbling and relation.cut):
        hint = "aggregate TUMBLE windows and keep window_start in the subquery"
        raise refusal(query, "an aggregate over sliding windows cannot be aggregated by the same window", hint)
    return relation.window, relation.cut


def _unbounded(query: exp.Select, relation: Relation) -> HeadgateError:
    what = "DISTINCT" if query.args.get("distinct") else "an aggregate"
    at = query.args.get("group") or next(aggregates_in(query.expressions), query)
    time = next(iter(relation.times), "ts")
    hint = f"add window({time}, '10 seconds') to GROUP BY"
    if query.args.get("distinct"):
        hint = f"add window({time}, '10 seconds') to the selected columns"
    if relation.window is not None:
        hint = hint.replace(f"window({time}, '10 seconds')", next(iter(relation.marks)))
    return refusal(at, f"{what} without a window never ends", hint)


def _refuse_nested(node: exp.Expr) -> None:
    inner = node.this if isinstance(node, exp.Filter | exp.ArraySort) else node
    for part in inner.walk():
        if part is not inner and is_aggregate(part):
            raise refusal(part, "an aggregate holds another one", "compute the inner one in a subquery")


def _named(expressions: list[exp.Expr], taken: set[str]) -> dict[str, str]:
    """Canonical expressions in their order, each with a name of its own: `SUM(a)` is `sum_a`."""
    names: dict[str, str] = {}
    for written, node in sorted({text(expression): expression for expression in expressions}.items()):
        plain = node.name if isinstance(node, exp.Column) else re.sub(r"\W+", "_", written.lower()).strip("_")
        name, count = plain or "value", 1
        while name in taken or name in names.values():
            count += 1
            name = f"{plain}_{count}"
        names[written] = name
    return names


def _with_plan(relation: Relation, plan: Select) -> Relation:
    return Relation(plan, relation.fields, relation.times, relation.window, relation.marks, relation.cut)
