"""Plans that compute no more than is used: an expression that nobody reads must not fail, nor take time.

A batch on Spark does the same: there `SELECT id FROM (SELECT id, 100 / k AS q FROM s)` divides nothing, and a filter
around a subquery is asked before the subquery's columns are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from headgate.model import (
    Aggregate,
    Column,
    Except,
    Expression,
    Join,
    Operator,
    Project,
    Select,
    Source,
    TableJoin,
    Union,
    form_of,
)
from headgate.plan.sql.normal import is_column
from headgate.plan.sql.rewriting import columns_in, names_in, with_columns
from headgate.plan.sql.scope import WHOLE_WINDOW

LONGEST = 2_000  # characters of a predicate: one that looks through many levels may double with each

Used = frozenset[str] | None  # names that are read above; None: all columns are


def lazy(plan: Operator | Source) -> Operator | Source:
    """The plan without computed columns that nobody reads, and filters below the projections that they look through.

    >>> inner = Project(inputs=(Source("s"),), columns=(Column("id", "id"), Column("q", "100 / k")))
    >>> plan = Project(inputs=(Select(inputs=(inner,), predicate="id > 1"),), columns=(Column("id", "id"),))
    >>> below = lazy(plan).inputs[0]
    >>> below.describe(), below.inputs[0].describe()
    ('id', 'id > 1')
    """
    return _lazy(plan, None)


def _lazy(node: Operator | Source, used: Used) -> Operator | Source:
    if isinstance(node, Source):
        return node
    node = _without_unused(_looking_through(node), used)
    below = _used_below(node, used)
    return replace(node, inputs=tuple(_lazy(child, below) for child in node.inputs))


def _without_unused(node: Operator, used: Used) -> Operator:
    if used is None:
        return node
    if isinstance(node, Project):
        return replace(node, columns=_read(node.columns, used) or node.columns[:1])
    if isinstance(node, Aggregate):
        return replace(node, aggregates=_read(node.aggregates, used))
    return node


def _read(columns: tuple[Column, ...], used: frozenset[str]) -> tuple[Column, ...]:
    """Columns that somebody reads, or that cannot fail: those cost nothing, and may be what other queries share."""
    return tuple(column for column in columns if column.name in used or not _computed(column.expression))


def _computed(expression: str) -> bool:
    return not (is_column(expression) or expression.startswith("WINDOW(") or form_of(expression) == WHOLE_WINDOW)


def _used_below(node: Operator, used: Used) -> Used:
    """The names that an operator, and those above it, read of its inputs; too many rather than too few."""
    match node:
        case Project() | Aggregate():
            used = frozenset()
        case Union() | Except():
            return None  # columns are matched by their places
    return None if used is None else used | {name for expression in _texts(node) for name in names_in(expression)}


def _texts(node: Operator) -> Iterator[str]:
    match node:
        case Select():
            yield node.predicate
        case Project():
            yield from (column.expression for column in node.columns)
        case Aggregate():
            yield node.time
            yield from (column.expression for column in (*node.keys, *node.aggregates))
        case Join():
            yield from (node.condition, node.left_time, node.right_time)
        case TableJoin():
            yield node.condition


def _looking_through(node: Operator) -> Operator:
    """A filter over a projection as a projection over the filter, in terms of the projection's input."""
    if not isinstance(node, Select) or not isinstance(below := node.inputs[0], Project) or not node.predicate:
        return node
    if not any(_computed(column.expression) for column in below.columns):
        return node
    meant = {column.name: column.expression for column in below.columns}
    predicate = _meaning(node.predicate, meant)
    if predicate is None:
        return node  # it stays above, and is no less right there
    return replace(below, inputs=(replace(node, inputs=below.inputs, predicate=predicate),))


def _meaning(predicate: str, meant: Mapping[str, str]) -> Expression | None:
    """A predicate with columns replaced by what they are made of; None where that is a window, which is no expression.

    >>> _meaning("q > 3 AND id = 1", {"q": "100 / k", "id": "id"})
    '(100 / k) > 3 AND id = 1'
    """
    for name, *path in columns_in(predicate):
        if name not in meant or "WINDOW(" in meant[name] or (path and meant[name] != name):
            return None
    told = with_columns(predicate, meant)
    return told if told is not None and len(told) <= LONGEST else None
