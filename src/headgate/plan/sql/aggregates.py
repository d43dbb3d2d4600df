"""GROUP BY, HAVING and DISTINCT: a windowed Aggregate, and what is computed above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from headgate.model import Aggregate, Column, Expression, HeadgateError, Select, Window, form_of
from headgate.plan.sql.functions import aggregates
from headgate.plan.sql.normal import canonical, conjunction, conjuncts, form, name_of, quoted
from headgate.plan.sql.parse import expression, refusal
from headgate.plan.sql.scope import END, START, WHOLE, WHOLE_WINDOW, Field, Relation, Scope, outer_columns
from headgate.plan.sql.windows import is_window, window_call
from headgate.plan.sql.words import bare, put, span_of

_PARTS = {"start": START, "end": END}
_SORTS = frozenset({"sort_array", "array_sort"})


def is_aggregate(node: exp.Expr) -> bool:
    """An aggregate call, with its FILTER, and with the sort that makes a collected list deterministic."""
    if isinstance(node, exp.Filter):
        return is_aggregate(node.this)
    if not isinstance(node, exp.Anonymous):
        return False
    name = node.name.lower()
    return name in aggregates() or (name in _SORTS and any(map(is_aggregate, node.expressions[:1])))


def inside_of(call: exp.Expr) -> exp.Expr:
    """The aggregate call without its FILTER, and without the sort of what it collects."""
    while isinstance(call, exp.Filter) or (isinstance(call, exp.Anonymous) and call.name.lower() in _SORTS):
        call = call.this if isinstance(call, exp.Filter) else call.expressions[0]
    return call


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
    keys: dict[Expression, str]  # by their names
    aggregates: dict[Expression, str]

    def planned(self) -> Relation:
        """The Aggregate as a relation."""
        keys, values = (
            tuple(Column(name, key) for key, name in named.items()) for named in (self.keys, self.aggregates)
        )
        plan = Aggregate(inputs=(self.relation.plan,), window=self.window, time=self.time, keys=keys, aggregates=values)
        names = [START, END, *(output.name for output in (*keys, *values))]
        ends = {START: START, END: END}
        known = {name: self.relation.types.get(form_of(key)) for key, name in self.keys.items()}
        types = {quoted(name): kind for name, kind in known.items() if kind} | dict.fromkeys(ends, "timestamp")
        return Relation(
            plan, tuple(Field(name, quoted(name)) for name in names), ends, self.window, ends, START, types=types
        )

    def above(self, node: exp.Expr) -> exp.Expr:
        """An expression of SELECT or HAVING in terms of the Aggregate's output."""
        root = exp.Paren(this=node.copy())
        self._over(root.this)
        above: exp.Expr = root.this.pop()
        return above

    def _over(self, node: exp.Expr) -> None:
        output = self._output(node)
        if output is not None:
            put(node, expression(output))
        elif isinstance(node, exp.Column):
            hint = f"add {form(node)} to GROUP BY, or aggregate it: max({form(node)})"
            raise refusal(node, f"column '{form(node)}' is neither grouped nor aggregated", hint)
        else:
            for inner in list(node.iter_expressions()):
                self._over(inner)

    def _output(self, node: exp.Expr) -> str | None:
        part = window_part(node, self.scope, self.relation, self.call)
        if part is not None:
            return WHOLE_WINDOW if part == WHOLE else part
        if is_aggregate(node):
            return quoted(self.aggregates[self.scope.canonical(node)])
        if isinstance(node, exp.Identifier) or span_of(node) is None:
            return None
        if not self.keys or any(self._special(inner) for inner in node.walk()):
            return None
        key = self.keys.get(self.scope.canonical(node))
        return quoted(key) if key is not None else None

    def _special(self, node: exp.Expr) -> bool:
        return is_aggregate(node) or window_part(node, self.scope, self.relation, self.call) is not None


def aggregate(query: exp.Select, scope: Scope, relation: Relation) -> tuple[Relation, list[tuple[str, Expression]]]:
    """The Aggregate with HAVING above it, and the columns that SELECT makes of it."""
    named = {name_of(item.args["alias"]): item.this for item in query.expressions if isinstance(item, exp.Alias)}
    having = query.args.get("having")
    tests = [_without_aliases(test, named, scope) for test in conjuncts(having.this if having else None)]
    items = [item.unalias() for item in query.expressions]
    grouping = _grouping(query, _groups(query, named, scope), [*items, *tests], scope, relation)
    grouped = grouping.planned()
    above = ((output_name(item), grouping.above(item.unalias())) for item in query.expressions)
    outputs = [(name, canonical(item, grouped.types)) for name, item in above]
    if tests:
        predicate = conjunction((grouping.above(test) for test in tests), grouped.types)
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
    return "window" if is_window(item) else form(item)


def window_part(node: exp.Expr, scope: Scope, relation: Relation, call: str) -> str | None:
    """Which part of the rows' window an expression names: its start, its end, or the whole."""
    if call and is_window(node):
        if form(scope.resolve(node)) != call:
            raise refusal(node, "this is another window than the one in GROUP BY", "use one window per GROUP BY")
        return WHOLE
    if call and isinstance(node, exp.Dot) and is_window(node.this):
        return _PARTS.get(node.expression.name.lower())
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    return _called_part(node, scope) if call else relation.marks.get(form(scope.resolve(node)))


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
    for item in group.expressions:
        flat += item.expressions if isinstance(item, exp.Tuple) else [item]
    return [_without_aliases(_ordinal(item, query), named, scope) for item in flat]


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
        whole = canonical(replaced)
        fields = "".join(f".{quoted(name_of(field))}" for field in part.parts[1:])
        put(part, expression(f"({whole}){fields}") if fields else replaced.copy())
    return bare(root.this.pop())


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
    call = next((form(scope.resolve(_call(group))) for group in groups if is_window(_call(group))), "")
    plain = [group for group in groups if window_part(group, scope, relation, call) is None]
    for part in aggregates_in(plain):
        raise refusal(part, "GROUP BY holds an aggregate", "group by columns, and test aggregates with HAVING")
    keys = _named([scope.resolve(group) for group in plain], scope, {START, END})
    calls = list(aggregates_in(used))
    for part in calls:
        _refuse_nested(part)
    values = _named([scope.resolve(part) for part in calls], scope, {START, END, *keys.values()})
    return Grouping(scope, relation, window, time, call, keys, values)


def _call(node: exp.Expr) -> exp.Expr:
    return bare(node.this) if isinstance(node, exp.Dot) else node


def _window_of(query: exp.Select, groups: list[exp.Expr], scope: Scope, relation: Relation) -> tuple[Window, str]:
    for group in groups:
        if is_window(_call(group)):
            return window_call(_call(group), scope, relation)
    if relation.window is None or not any(window_part(group, scope, relation, "") for group in groups):
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
    inner = inside_of(node)
    for part in inner.walk():
        if part is not inner and is_aggregate(part):
            raise refusal(part, "an aggregate holds another one", "compute the inner one in a subquery")


def _named(nodes: list[exp.Expr], scope: Scope, taken: set[str]) -> dict[Expression, str]:
    """Expressions in the order of their forms, each with a name of its own: `SUM(a)` is `sum_a`."""
    first = {said: node for node in reversed(nodes) if (said := canonical(node, scope.types))}
    names: dict[Expression, str] = {}
    for said in sorted(first, key=form_of):
        column = bare(first[said])
        plain = column.name if isinstance(column, exp.Column) else re.sub(r"\W+", "_", said.form.lower()).strip("_")
        name, count = plain or "value", 1
        while name in taken or name in names.values():
            count += 1
            name = f"{plain}_{count}"
        names[said] = name
    return names


def _with_plan(relation: Relation, plan: Select) -> Relation:
    return Relation(plan, relation.fields, relation.times, relation.window, relation.marks, relation.cut)
