"""Expressions as Spark columns: as they are, or so that a row on which one fails does not fail the job.

A run is tried with plain expressions. Only if one fails on some row (a division by zero, a cast of nonsense) the run is
repeated with guarded ones: there a failing expression is null, so a failing predicate drops its row. Guarding all the
time would hide conditions from Spark's optimiser, which then could not hash a join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import sqlglot
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.classic.column import Column as ClassicColumn
from sqlglot import exp

_TRIED: dict[type[exp.Expr], str] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Div: "try_divide",
    exp.Mod: "try_mod",
    exp.Sum: "try_sum",
    exp.Avg: "try_avg",
}


class Guard(Protocol):
    """Makes columns of SQL text."""

    def scalar(self, text: str) -> Column:
        """A column of an expression over one row."""

    def aggregate(self, text: str) -> Column:
        """A column of an aggregate."""


class Plain:
    """Expressions as they are."""

    def scalar(self, text: str) -> Column:
        return F.expr(text)

    def aggregate(self, text: str) -> Column:
        return F.expr(text)


PLAIN = Plain()


@dataclass(frozen=True, slots=True)
class Careful:
    """Expressions that are null where they fail."""

    spark: SparkSession

    def scalar(self, text: str) -> Column:
        jvm: Any = self.spark._jvm
        utilities, tries = jvm.org.apache.spark.sql.classic.ExpressionUtils, jvm.org.apache.spark.sql.catalyst
        plain: Any = F.expr(text)
        return ClassicColumn(utilities.column(tries.expressions.TryEval(utilities.expression(plain._jc))))

    def aggregate(self, text: str) -> Column:
        return F.expr(tried(text))


def tried(text: str) -> str:
    """An aggregate with the forms of its functions that give null where they fail: TryEval cannot hold aggregates.

    >>> tried("SUM(a / CAST(b AS INT))")
    'try_sum(try_divide(a, TRY_CAST(b AS INT)))'
    """
    return _tried(sqlglot.parse_one(text, dialect="spark")).sql(dialect="spark", normalize_functions=False)


def _tried(node: exp.Expr) -> exp.Expr:
    """Operands first: sqlglot's own `transform` does not look below a node that it has replaced."""
    for key, value in list(node.args.items()):
        if isinstance(value, exp.Expr):
            node.set(key, _tried(value))
        elif isinstance(value, list):
            node.set(key, [_tried(one) if isinstance(one, exp.Expr) else one for one in value])
    return _try_form(node)


def _try_form(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Cast):  # in this dialect sqlglot reads CAST as a TryCast that is not safe
        return exp.TryCast(**{**node.args, "safe": True})
    name = _TRIED.get(type(node))
    if name is None or isinstance(node.this, exp.Distinct):
        return node
    operands = [node.this, node.expression] if isinstance(node, exp.Binary) else [node.this]
    return exp.Anonymous(this=name, expressions=operands)
