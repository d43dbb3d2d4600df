"""SQL expressions as Python functions: the few kinds that the simulation's queries are written with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

Ref = tuple[str, ...]
Values = Mapping[Ref, Any]
Scalar = Callable[[Values], Any]
Fold = Callable[[Sequence[Values]], Any]

_BINARY: Mapping[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.EQ: operator.eq,
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mod: operator.mod,  # by zero it raises, as Spark does
    exp.And: lambda left, right: left and right,
}


@cache
def scalar(text: str) -> Scalar:
    """An expression over one row.

    >>> scalar("a.v + 1")({("a", "v"): 2})
    3
    """
    return _scalar(_parsed(text))


@cache
def fold(text: str) -> Fold:
    """An aggregate over the rows of a group.

    >>> fold("SUM(v)")([{("v",): 2}, {("v",): 3}])
    5
    """
    node = _parsed(text)
    if isinstance(node, exp.Count):
        return len
    if isinstance(node, exp.Sum):
        inner = _scalar(node.this)
        return lambda rows: sum(inner(row) for row in rows)
    raise NotImplementedError(text)


def _parsed(text: str) -> Any:
    return sqlglot.parse_one(text, dialect="spark")


def _scalar(node: exp.Expression) -> Scalar:
    if isinstance(node, exp.Paren):
        return _scalar(node.this)
    if isinstance(node, exp.Column):
        ref = (node.table, node.name) if node.table else (node.name,)
        return lambda row: row[ref]
    if isinstance(node, exp.Literal):
        value = int(node.this)
        return lambda row: value
    if type(node) in _BINARY:
        apply, left, right = _BINARY[type(node)], _scalar(node.this), _scalar(node.expression)
        return lambda row: apply(left(row), right(row))
    raise NotImplementedError(node.sql())
