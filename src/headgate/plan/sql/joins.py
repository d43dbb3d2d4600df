"""FROM and WHERE: filters below joins, window joins with their time bounds, joins with stored tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from headgate.model import Expression, HeadgateError, Join, Select, TableJoin
from headgate.plan.sql.bounds import check_leaves
from headgate.plan.sql.normal import canonical, conjunction, conjuncts, form, quoted
from headgate.plan.sql.parse import expression, place, refusal
from headgate.plan.sql.scope import START, Field, FromItem, Relation, Scope, leaves
from headgate.plan.sql.windows import applied, duration, without_event_time
from headgate.plan.sql.words import bare, is_atomic, written

_FOREVER = float("inf")
_BOUND_HINT = (
    "bound their event times in ON: {right} BETWEEN {left} - INTERVAL 10 SECONDS AND {left} + INTERVAL 10 SECONDS"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of FROM with its LEFT JOIN condition, if it has one; `applies` a window still pending below joins."""

    item: FromItem
    left_on: exp.Expr | None = None
    applies: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """`lower <= right - left <= upper`, in seconds, and which conjuncts say no more than that."""

    left: str
    right: str
    lower: float = -_FOREVER
    upper: float = _FOREVER
    said: frozenset[int] = frozenset()


def joined(entries: list[Entry], tests: list[exp.Expr], scope: Scope) -> Relation:
    """All entries of FROM as one relation, every test at the lowest place that knows its columns."""
    tests = [part for test in tests for part in _halves(test, scope)]
    order = _order(entries, scope)
    placed: dict[int, list[exp.Expr]] = {position: [] for position in order}
    below: dict[int, list[exp.Expr]] = {position: [] for position in order}
    for test in tests:
        items = scope.items_of(test) or {order[0]}
        last = max(items, key=order.index)
        alone = len(items) == 1 and entries[last].item.relation is not None
        (below if alone else placed)[last].append(test)
    relation = _filtered(entries[order[0]], below[order[0]], scope)
    left = "" if len(order) == 1 else entries[order[0]].item.alias
    for position in order[1:]:
        entry = entries[position]
        if entry.item.table is not None:
            relation = _with_table(relation, left, entry, placed[position], scope)
        else:
            right = _filtered(entry, below[position], scope)
            relation = _with_stream(relation, left, replace(entry.item, relation=right), placed[position], scope)
        left = ""
    return relation


def equalities(condition: str) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    """The conjuncts of a join's condition that equate two columns, and the others.

    The sides of an equality are evaluated each over its own rows, so it is the same whichever comes first.
    """
    keys, rest = list[Expression](), list[Expression]()
    for part in conjuncts(expression(condition)):
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
            keys.append(Expression(written(part), " = ".join(sorted((form(part.this), form(part.expression))))))
        else:
            rest.append(canonical(part))
    return tuple(keys), tuple(rest)


def equated(equality: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the two columns that an equality equates, with what qualifies them.

    >>> equated("a.id = b.`my key`")
    (('a', 'id'), ('b', 'my key'))
    """
    part = expression(equality)
    assert isinstance(part, exp.EQ)
    left, right = (tuple(name.name for name in side.parts) for side in (part.this, part.expression))
    return left, right


def _halves(test: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """A BETWEEN over several entries as two comparisons: time bounds are read from those."""
    if not isinstance(test, exp.Between) or len(scope.items_of(test)) < 2:
        return [test]
    value, low, high = (_side(test.args[key]) for key in ("this", "low", "high"))
    return [expression(f"{value} >= {low}"), expression(f"{value} <= {high}")]


def _side(node: exp.Expr) -> str:
    return written(node) if is_atomic(node) else f"({written(node)})"


def _order(entries: list[Entry], scope: Scope) -> list[int]:
    """Positions in the order of joining: as written, but from a stream on."""
    first = next((place for place, entry in enumerate(entries) if entry.item.relation is not None), None)
    if first is None:
        hint = "read FROM a stream and join the table with it"
        raise refusal(entries[0].item.node, f"'{entries[0].item.name}' is a stored table and no stream is read", hint)
    if first and any(entry.left_on is not None for entry in entries):
        hint = "write the stream first: FROM stream LEFT JOIN table"
        raise refusal(entries[0].item.node, "a LEFT JOIN cannot start from a stored table", hint)
    return [first, *(place for place in range(len(scope.items)) if place != first)]


def _filtered(entry: Entry, tests: list[exp.Expr], scope: Scope) -> Relation:
    relation = entry.item.relation
    assert relation is not None
    resolved = [scope.resolve(test, own=True) for test in tests]
    if not (relation.pending and entry.applies):
        return _selected(relation, resolved)
    early = [test for test in resolved if not any(part.name in relation.marks for part in test.find_all(exp.Column))]
    windowed = applied(_selected(relation, early), entry.item.node)
    return _selected(windowed, [test for test in resolved if test not in early])


def _selected(relation: Relation, tests: list[exp.Expr]) -> Relation:
    if not tests:
        return relation
    return replace(relation, plan=Select(inputs=(relation.plan,), predicate=conjunction(tests, relation.types)))


def _with_table(left: Relation, alias: str, entry: Entry, tests: list[exp.Expr], scope: Scope) -> Relation:
    item = entry.item
    outer = entry.left_on is not None
    on = conjuncts(entry.left_on) if outer else tests
    if not on:
        hint = f"add ON with a condition between the stream and {item.name}"
        raise refusal(item.node, f"the join with table '{item.name}' has no condition", hint)
    sided = _sided(left, alias)
    plan: TableJoin | Select = TableJoin(
        inputs=(left.plan,),
        table=item.table.name if item.table else "",
        alias=item.alias,
        left=alias if not left.aliases else "",
        condition=conjunction((scope.resolve(test) for test in on), scope.types),
        how="left" if outer else "inner",
    )
    if outer and tests:  # WHERE over a LEFT JOIN also tests the rows that found no partner
        predicate = conjunction((scope.resolve(test) for test in tests), scope.types)
        plan = Select(inputs=(plan,), predicate=predicate)
    fields = _both(sided.fields, _above(item))
    return replace(sided, plan=plan, fields=fields, aliases=sided.aliases | {item.alias})


def _with_stream(left: Relation, alias: str, item: FromItem, tests: list[exp.Expr], scope: Scope) -> Relation:
    assert item.relation is not None
    check_leaves(leaves(left.plan) + leaves(item.relation.plan), place(item.node))
    mine, other = _sided(left, alias), _sided(item.relation, item.alias)
    parts = [scope.resolve(test) for test in tests]
    bound = _bound(parts, (mine, other), (left, item), scope)
    plan = Join(
        inputs=(left.plan, item.relation.plan),
        left="" if left.aliases else alias,
        right=item.alias,
        left_time=bound.left,
        right_time=bound.right,
        condition=conjunction((part for at, part in enumerate(parts) if at not in bound.said), scope.types),
        lower=bound.lower,
        upper=bound.upper,
    )
    same = _same_window(mine, other, bound)
    return Relation(
        plan,
        _both(mine.fields, other.fields),
        times={**mine.times, **other.times},
        window=mine.window if same else None,
        marks={**mine.marks, **other.marks} if same else {},
        cut=mine.cut if same else "",
        types={**mine.types, **other.types},
        aliases=mine.aliases | other.aliases,
    )


def _sided(relation: Relation, alias: str) -> Relation:
    """A join's input as it is referred to above the join."""
    if relation.aliases:
        return relation
    item = FromItem(name=alias, alias=alias, node=exp.Null(), relation=relation)
    prefix = quoted(alias)

    def above(refs: Mapping[str, str]) -> dict[str, str]:
        return {f"{prefix}.{ref}": part for ref, part in refs.items()}

    return replace(
        relation,
        types=above(relation.types),
        fields=_above(item),
        times={ref: f"{prefix}.{moment}" for ref, moment in above(relation.times).items()},
        marks=above(relation.marks),
        cut=f"{prefix}.{relation.cut}" if relation.cut else "",
        aliases=frozenset({alias}),
    )


def _above(item: FromItem) -> tuple[Field, ...] | None:
    return None if item.fields is None else tuple(Field(field.name, item.above(field.ref)) for field in item.fields)


def _both(left: tuple[Field, ...] | None, right: tuple[Field, ...] | None) -> tuple[Field, ...] | None:
    return None if left is None or right is None else (*left, *right)


def _same_window(left: Relation, right: Relation, bound: Bound) -> bool:
    named = left.marks.get(bound.left), right.marks.get(bound.right)
    return (
        left.window is not None
        and left.window == right.window
        and named[0] == named[1]
        and bound.upper == bound.lower == 0
    )


def _bound(
    parts: list[exp.Expr], sides: tuple[Relation, Relation], inputs: tuple[Relation, FromItem], scope: Scope
) -> Bound:
    """The narrowest bound that the conjuncts put on the two sides' event times."""
    (left, right), (before, item) = sides, inputs
    for side in (before, item.relation):
        if side is not None and not side.times:
            raise without_event_time(item.node, side)
    bounds: dict[tuple[str, str], Bound] = {}
    for number, part in enumerate(parts):
        bound = _read(part, number, left.times, right.times)
        if bound is not None:
            pair = (bound.left, bound.right)
            bounds[pair] = _narrowed(bounds.get(pair, Bound(*pair)), bound)
    closed = [bound for bound in bounds.values() if bound.upper - bound.lower < _FOREVER]
    if not closed:
        raise _unbounded(list(bounds.values()), left, right, item, scope)
    # Of equal ones the window's start before its end, then by text: the order of writing must not matter.
    best = min(
        closed,
        key=lambda bound: (bound.upper - bound.lower, left.marks.get(bound.left) != START, bound.left, bound.right),
    )
    if best.lower > best.upper:
        raise refusal(item.node, f"the time bound of the join with '{item.name}' can never hold", "swap its two ends")
    return best


def _unbounded(bounds: list[Bound], left: Relation, right: Relation, item: FromItem, scope: Scope) -> HeadgateError:
    bound = bounds[0] if bounds else Bound(next(iter(left.times)), next(iter(right.times)))
    ours, theirs = _as_written(bound.left, scope), _as_written(bound.right, scope)
    if not bounds:
        hint = _BOUND_HINT.format(left=ours, right=theirs)
        return refusal(item.node, f"the join with '{item.name}' has no time bound", hint)
    missing = f">= {ours} - " if bound.lower == -_FOREVER else f"<= {ours} + "
    hint = f"add the other end: AND {theirs} {missing}INTERVAL 10 SECONDS"
    return refusal(item.node, f"the join with '{item.name}' is bounded in time on one end only", hint)


def _as_written(ref: str, scope: Scope) -> str:
    """A reference under the alias that the query uses."""
    for item in scope.items:
        prefix = f"{quoted(item.alias)}."
        if not item.qualified and ref.startswith(prefix):
            return f"{item.name}.{ref.removeprefix(prefix)}"
    return ref


def _narrowed(bound: Bound, other: Bound) -> Bound:
    lower, upper = max(bound.lower, other.lower), min(bound.upper, other.upper)
    return replace(bound, lower=lower, upper=upper, said=bound.said | other.said)


def _read(part: exp.Expr, place: int, left: Mapping[str, str], right: Mapping[str, str]) -> Bound | None:
    """A comparison of a left time and a right time, give or take an interval."""
    if not isinstance(part, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
        return None
    moments = _difference(part, {**left, **right})
    if moments is None:
        return None
    factors, offset = moments
    ours, theirs = ([ref for ref in factors if ref in side] for side in (left, right))
    if len(factors) != 2 or len(ours) != 1 or len(theirs) != 1 or factors[ours[0]] != -factors[theirs[0]]:
        return None
    return _oriented(part, place, (left[ours[0]], right[theirs[0]]), factors[theirs[0]], offset)


def _oriented(part: exp.Expr, place: int, pair: tuple[str, str], sign: int, offset: float) -> Bound:
    """From `sign * (right - left) + offset <op> 0` to bounds of `right - left`."""
    value = -offset * sign + 0.0
    said = frozenset() if isinstance(part, exp.GT | exp.LT) else frozenset({place})  # strict: the condition keeps it
    if isinstance(part, exp.EQ):
        return Bound(*pair, value, value, said)
    if isinstance(part, exp.GT | exp.GTE) == (sign > 0):
        return Bound(*pair, lower=value, said=said)
    return Bound(*pair, upper=value, said=said)


def _difference(part: exp.Expr, times: Mapping[str, str]) -> tuple[dict[str, int], float] | None:
    return _sum(part.this, part.expression, times, -1)


def _sum(left: exp.Expr, right: exp.Expr, times: Mapping[str, str], sign: int) -> tuple[dict[str, int], float] | None:
    left_side, right_side = _linear(left, times), _linear(right, times)
    if left_side is None or right_side is None:
        return None
    factors = {
        ref: left_side[0].get(ref, 0) + sign * right_side[0].get(ref, 0) for ref in {**left_side[0], **right_side[0]}
    }
    return {ref: factor for ref, factor in factors.items() if factor}, left_side[1] + sign * right_side[1]


def _linear(node: exp.Expr, times: Mapping[str, str]) -> tuple[dict[str, int], float] | None:
    """A sum of times and intervals: how often each time counts, and the seconds added."""
    node = bare(node)
    if form(node) in times:
        return {form(node): 1}, 0.0
    if isinstance(node, exp.Interval | exp.Neg):
        length = duration(node)
        return None if length is None else ({}, length)
    if isinstance(node, exp.Add | exp.Sub):
        return _sum(node.this, node.expression, times, 1 if isinstance(node, exp.Add) else -1)
    return None
