"""Expressions as Spark columns that tell failure from NULL.

A run is tried with plain expressions. Only where one fails on some row (a division by zero, a cast of nonsense) the run
is repeated with guarded ones, and from then on the query's runs are guarded from the start: guarding hides conditions
from Spark's optimiser, which then could not hash a join, and costs a little.

A guarded expression is Spark's `TryEval` around something that is never null, a struct or a number: null means failed.
Spark computes what two expressions have in common once, before either of them, and so outside of any `TryEval`. It does
not look into the branch of a CASE: hence `ALIVE`, a condition that always holds, though Spark cannot know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sqlglot
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.classic.column import Column as ClassicColumn
from sqlglot import exp

from headgate.plan.sql.aggregates import is_aggregate
from headgate.spark.compile.event_times import is_reference
from headgate.spark.compile.schemas import ARRIVAL

ALIVE = f"{ARRIVAL} IS NOT NULL"
NO, YES, FAILS = 0, 1, 2  # what a guarded condition may say of a row
PIN = "(monotonically_increasing_id() & 0L)"  # 0; what holds it is not computed again by a filter above
_TOTALS: dict[type[exp.Expr], str] = {exp.Sum: "try_sum", exp.Avg: "try_avg"}


def tried(spark: SparkSession, text: str, alive: str = ALIVE) -> Column:
    """An expression that is null where it fails, and where a row is not alive."""
    jvm: Any = spark._jvm
    utilities, tries = jvm.org.apache.spark.sql.classic.ExpressionUtils, jvm.org.apache.spark.sql.catalyst
    plain: Any = F.expr(f"CASE WHEN {alive} THEN {text} END")
    return ClassicColumn(utilities.column(tries.expressions.TryEval(utilities.expression(plain._jc))))


def verdict(spark: SparkSession, condition: str, alive: str = ALIVE) -> Column:
    """NO, YES or FAILS, as a number. In a struct, or Spark would move the `TryEval` into the branches of the CASE."""
    computed = tried(spark, f"struct(CASE WHEN {condition} THEN {YES}L ELSE {NO}L END AS said)", alive)
    return F.coalesce(computed.getField("said"), F.lit(FAILS))


def pinned(column: Column) -> Column:
    """A number that a filter above does not compute a second time."""
    return column.bitwiseOR(F.expr(PIN))


def safe(text: str) -> bool:
    """Whether an expression can fail on no row: a column as it is, or a constant.

    >>> safe("a.id"), safe("'x'"), safe("TRUE"), safe("v / 2"), safe("CAST(s AS INT)")
    (True, True, True, False, False)
    """
    return is_reference(text) or isinstance(sqlglot.parse_one(text, dialect="spark"), exp.Literal | exp.Boolean)


def arguments(aggregate: str) -> list[str]:
    """What an aggregate computes of each row, as expressions; an argument counts only where its FILTER lets it.

    >>> arguments("SUM(a / b)"), arguments("COUNT(*)"), arguments("COUNT(DISTINCT a % b, c)")
    (['a / b'], [], ['a % b', 'c'])
    >>> arguments("SUM(a / b) FILTER(WHERE b <> 0)")
    ['CASE WHEN b <> 0 THEN STRUCT(a / b) END']
    """
    node = sqlglot.parse_one(aggregate, dialect="spark")
    if isinstance(node, exp.Filter):
        own = ", ".join(_sql(one) for one in _arguments(node.this))
        return [f"CASE WHEN {_sql(node.expression.this)} THEN STRUCT({own or 'TRUE'}) END"]
    return [_sql(one) for one in _arguments(node)]


def total(aggregate: str) -> tuple[str, str | None]:
    """A sum or average that is null where it overflows, and a condition that tells this from a group without values.

    >>> total("SUM(a)")
    ('try_sum(a)', 'COUNT(a) > 0 AND try_sum(a) IS NULL')
    >>> total("MAX(a)")
    ('MAX(a)', None)
    """
    node = sqlglot.parse_one(aggregate, dialect="spark")
    inner = node.this if isinstance(node, exp.Filter) else node
    if inner is not node:  # what two aggregates compute alike, Spark computes before it asks their filters
        _hold(_arguments(inner), _sql(node.expression.this))
    name = _TOTALS.get(type(inner))
    if name is None:
        return _sql(node), None

    def called(call: exp.Expr) -> str:
        return _sql(exp.Filter(this=call, expression=node.expression.copy()) if node is not inner else call)

    made = called(exp.Anonymous(this=name, expressions=[inner.this.copy()]))
    return made, f"{called(exp.Count(this=inner.this.copy()))} > 0 AND {made} IS NULL"


def only_where(aggregate: str, condition: str) -> str:
    """An aggregate whose arguments are computed only where a condition holds, and null elsewhere.

    >>> only_where("SUM(a / b) FILTER(WHERE c)", "m = 1")
    'SUM(CASE WHEN m = 1 THEN a / b END) FILTER(WHERE CASE WHEN m = 1 THEN c END)'
    """
    node = sqlglot.parse_one(aggregate, dialect="spark")
    inner = node.this if isinstance(node, exp.Filter) else node
    _hold([*_arguments(inner), *([node.expression.this] if node is not inner else [])], condition)
    return _sql(node)


def _hold(parts: Iterable[exp.Expr], condition: str) -> None:
    """Let parts of an expression be computed only where a condition holds."""
    for part in list(parts):
        part.replace(sqlglot.parse_one(f"CASE WHEN {condition} THEN {_sql(part)} END", dialect="spark"))


def _arguments(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.ArraySort) and is_aggregate(node.this):
        node = node.this
    for value in node.args.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, exp.Distinct):
                yield from one.expressions
            elif isinstance(one, exp.Order):
                yield from (one.this, *(each.this for each in one.expressions))
            elif isinstance(one, exp.Expr) and not isinstance(one, exp.Star | exp.Literal):
                yield one


def _sql(node: exp.Expr) -> str:
    return node.sql(dialect="spark", normalize_functions=False)
