"""Guarded expressions: Spark columns that are null where an expression fails, instead of failing the job.

Runs use plain expressions until one of them fails on a row; only then are they guarded, since guarding costs a little
and hides conditions from Spark's optimiser, which then cannot hash a join.

A guarded expression is Spark's `TryEval` around something that is itself never null, a struct or a number, so that null
means failed. Example: `100 / k` becomes TryEval(CASE WHEN _arrival <> -7.5 THEN struct(100 / k) END), which is
null exactly where k is 0. The CASE is there because Spark computes what two expressions have in common once, before
either of them, and so outside of any `TryEval`; but it does not look into the branch of a CASE. Its condition always
holds, though Spark cannot know that: tuples do not arrive at negative times.

Functions that build maps would leave the keys of a row on which they fail for the next one: see `map_keys`.

The condition has another number for every text, because to Spark `a OR b` and `b OR a` are the same expression, of
which it computes one for both; but `k = 0 OR 100 / k > 30` never fails, and the other way round it does where k is 0.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from pyspark.sql.classic.column import Column as ClassicColumn

from headgate.plan.sql.rewriting import AggregateCall, is_constant
from headgate.spark.compile.event_time_columns import is_reference
from headgate.spark.compile.map_keys import with_keys_checked
from headgate.spark.compile.schemas import ARRIVAL

NO, YES, FAILS = 0, 1, 2  # the verdicts of a guarded condition on a row
PIN = "(monotonically_increasing_id() & 0L)"  # always 0, but Spark takes it for nondeterministic: see `pinned`
_OVERFLOW_SAFE = {"sum": "try_sum", "avg": "try_avg", "mean": "try_avg"}


def try_eval(spark: SparkSession, text: str, where: str = "TRUE") -> Column:
    """An expression that is null where it fails, and where a condition does not hold."""
    jvm: Any = spark._jvm
    utilities, catalyst = jvm.org.apache.spark.sql.classic.ExpressionUtils, jvm.org.apache.spark.sql.catalyst
    always = f"{ARRIVAL} <> -{crc32(text.encode())}.5D"
    plain: Any = F.expr(f"CASE WHEN {always} AND {where} THEN {with_keys_checked(text)} END")
    return ClassicColumn(utilities.column(catalyst.expressions.TryEval(utilities.expression(plain._jc))))


def verdict(spark: SparkSession, condition: str) -> Column:
    """NO, YES or FAILS, as a number. In a struct, or Spark would move the `TryEval` into the branches of the CASE."""
    computed = try_eval(spark, f"struct(CASE WHEN {condition} THEN {YES}L ELSE {NO}L END AS said)")
    return F.coalesce(computed.getField("said"), F.lit(FAILS))


def pinned(column: Column) -> Column:
    """A number marked as nondeterministic, so that Spark neither pushes a filter below it nor computes it twice."""
    return column.bitwiseOR(F.expr(PIN))


def is_safe(text: str) -> bool:
    """Whether an expression can fail on no row: a column as it is, or a constant.

    >>> is_safe("a.id"), is_safe("'x'"), is_safe("TRUE"), is_safe("v / 2"), is_safe("CAST(s AS INT)")
    (True, True, True, False, False)
    """
    return is_reference(text) or is_constant(text)


def arguments(aggregate: str) -> list[str]:
    """What an aggregate computes from each row, as expressions; with a FILTER, only where that holds.

    >>> arguments("sum(a / b)"), arguments("COUNT(*)"), arguments("COUNT(DISTINCT a % b, c)")
    (['a / b'], [], ['a % b', 'c'])
    >>> arguments("SUM(a / b) FILTER (WHERE b <> 0)")
    ['CASE WHEN b <> 0 THEN STRUCT(a / b) END']
    """
    call = AggregateCall(aggregate)
    if call.where:
        return [f"CASE WHEN {call.where} THEN STRUCT({', '.join(call.computed) or 'TRUE'}) END"]
    return call.computed


def overflow_safe(aggregate: str) -> tuple[str, str | None]:
    """A sum or average as one that is null where it overflows, and a condition that holds exactly then.

    Null alone is not enough: the sum of a group without values is null too. Other aggregates stay as they are.

    >>> overflow_safe("SUM(a)")
    ('try_sum(a)', 'count(a) > 0 AND try_sum(a) IS NULL')
    >>> overflow_safe("MAX(a)")
    ('MAX(a)', None)
    """
    call = AggregateCall(aggregate)
    name = _OVERFLOW_SAFE.get(call.name)
    if call.where:  # what two aggregates have in common, Spark computes before it looks at their filters
        aggregate = call.only_where(call.where, filtered=False)
    if name is None:
        return aggregate, None
    call = AggregateCall(aggregate)
    text = call.named(name)
    return text, f"{call.named('count')} > 0 AND {text} IS NULL"


def only_where(aggregate: str, condition: str) -> str:
    """An aggregate whose arguments are computed only where a condition holds, and null elsewhere.

    >>> only_where("SUM(a / b) FILTER (WHERE c)", "m = 1")
    'SUM(CASE WHEN m = 1 THEN a / b END) FILTER (WHERE CASE WHEN m = 1 THEN c END)'
    """
    return AggregateCall(aggregate).only_where(condition)
