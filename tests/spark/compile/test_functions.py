"""Every function that this Spark knows is accepted, and means what it means in a batch, or refused with a reason."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone writes it
from tests.spark.compile.logs import MemoryLog, Row, counted, results

from headgate.model import HeadgateError, Operator, Stream
from headgate.plan.sql import plan_sql
from headgate.plan.sql.functions import accepted, aggregates, refused, takes
from headgate.spark.compile.admission.allowed_nodes import check
from headgate.spark.compile.prepared_query import prepare_query
from headgate.spark.compile.schemas import arrow_schema

COLUMNS = (
    *(("i", "int"), ("l", "bigint"), ("d", "double"), ("s", "string"), ("b", "binary"), ("n", "decimal(10,2)")),
    *(("f", "boolean"), ("dt", "date"), ("a", "array<int>"), ("w", "array<string>"), ("m", "map<string,int>")),
    *(("p", "struct<x:int,y:string>"), ("j", "string"), ("v", "array<float>"), ("ts", "timestamp")),
)
T = Stream(name="t", schema=COLUMNS, event_time="ts")
SECOND = 1_000_000
ROWS: list[tuple[Any, ...]] = [
    (
        *(3, 1_600_000_000, 2.55, "Spark", b"\x05abc", Decimal("12.34"), True, date(2020, 2, 29), [3, 1, 2]),
        *(["x", "y"], [("k", 1)], {"x": 3, "y": "z"}, '{"u": "ann", "v": 3}', [1.0, 2.0], SECOND),
    ),
    (
        *(4, 7, 9.5, "Größe", b"\x05xyz", Decimal("-0.50"), False, date(1969, 12, 31), [2, 2]),
        *(["q"], [("k", 2), ("o", 5)], {"x": 4, "y": None}, '{"u": null, "v": 4}', [0.5, -2.0], 3 * SECOND + 1),
    ),
    (5, 9, 1.0, None, None, None, None, None, None, None, None, None, None, None, 5 * SECOND),
]
LINES = (Path(__file__).parent / "fixtures" / "functions.txt").read_text("utf-8").splitlines()
CALLS = dict(line.split(": ", 1) for line in LINES if not line.startswith("#"))
WIDTH = 40  # calls in one query


def spark_functions(spark: SparkSession) -> set[str]:
    return {row[0].rpartition(".")[2] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}


def planned(sql: str) -> Operator:
    return plan_sql(sql, {"t": T})


def query(names: list[str], grouped: bool) -> str:
    calls = ", ".join(f"{CALLS[name]} AS c{position}" for position, name in enumerate(names))
    return f"SELECT {calls} FROM t" + (" GROUP BY window(ts, '1 hour')" if grouped else "")


def test_every_function_is_accepted_or_refused(spark: SparkSession) -> None:
    functions = spark_functions(spark)
    assert not functions - accepted() - refused().keys()
    assert not accepted() & refused().keys()
    assert not (accepted() & functions) - CALLS.keys() - {"window"}, "accepted, but never compared with Spark"


# With a grammar of their own, in pairs, with a default that is random, or refused by Spark in other words.
SAYS_OTHERWISE = {
    *("between", "case", "cast", "extract", "in", "timestampadd", "timestampdiff", "try_cast", "window"),
    *("date_add", "date_diff", "dateadd", "datediff", "map", "named_struct", "count_min_sketch", "hour", "mask"),
    *("minute", "second", "try_variant_set", "variant_set", "variant_strip_nulls"),
}


@pytest.mark.long
def test_functions_take_as_many_arguments_as_spark_lets_them(spark: SparkSession) -> None:
    """As Spark says when it is asked for a call of each with none to nine: its registry, or else its analysis."""
    jvm: Any = spark._jvm
    session: Any = spark
    registry = session._jsparkSession.sessionState().functionRegistry()
    identifier, null = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier, jvm.functions.lit(None)
    database, catalog = jvm.scala.Some("builtin"), jvm.scala.Some("system")
    nulls = [jvm.org.apache.spark.sql.classic.ExpressionUtils.expression(null) for _ in range(9)]

    def refused_for_its_count(name: str, count: int) -> bool:
        try:
            registry.lookupFunction(identifier(name, database, catalog), jvm.PythonUtils.toSeq(nulls[:count]))
            spark.sql(f"SELECT `{name}`({', '.join(['NULL'] * count)})")
        except Exception as error:  # of many kinds: most functions do not take nulls alone
            return "WRONG_NUM_ARGS" in str(error)
        return False

    known = sorted(name for name in accepted() & spark_functions(spark) - SAYS_OTHERWISE if name.isidentifier())
    assert [f"{n}({k})" for n in known for k in range(10) if takes(n, k) == refused_for_its_count(n, k)] == []


GROUPS = [
    (names[start : start + WIDTH], grouped)
    for grouped in (False, True)
    for names in [[name for name in CALLS if (name in aggregates()) == grouped]]
    for start in range(0, len(names), WIDTH)
]


@pytest.mark.parametrize(("names", "grouped"), GROUPS, ids=lambda value: value[0] if isinstance(value, list) else "")
def test_accepted_functions_mean_what_they_mean_in_a_batch(
    spark: SparkSession, names: list[str], grouped: bool
) -> None:
    log = MemoryLog(arrow_schema(T), ROWS)
    spark.createDataFrame(log.table.drop_columns(["_offset", "_arrival"])).createOrReplaceTempView("t")
    sql = query(names, grouped)
    from_runs = sum(results(prepare_query(spark, planned(sql), {"t": T}, {}), {"t": log}, []), Counter[Row]())
    from_batch = counted(spark.sql(sql).toArrow())
    for position, name in enumerate(names):
        got, expected = (Counter(repr(row[position]) for row in rows.elements()) for rows in (from_runs, from_batch))
        assert got == expected, name


WAYS = ("{0}", "`{0}`", "`{1}`", "system.builtin.{0}", "`System`.`builtin`.`{1}`")


@pytest.mark.parametrize("name", sorted(name for name in refused() if name.isidentifier()))
def test_refused_functions_are_refused_however_they_are_written(name: str) -> None:
    for way in WAYS:
        with pytest.raises(HeadgateError) as caught:
            planned(f"SELECT {way.format(name, name.title())}(s, 1) AS r FROM t")
        assert caught.value.hint


# What Spark makes of a query, whatever the names in it: nothing of this goes through our planner.
OUTSIDE = [
    *("java_method('java.lang.System', 'nanoTime')", "try_reflect('java.lang.System', 'nanoTime')", "rand()", "uuid()"),
    *("now()", "current_date", "current_user()", "version()", "input_file_name()", "monotonically_increasing_id()"),
    *("spark_partition_id()", "explode(a)", "json_tuple(j, 'u')", "first(s)", "collect_list(s)", "mode(s)"),
    *(
        "array_sort(collect_list(s))",
        "row_number() OVER (ORDER BY i)",
        "(SELECT max(1))",
        "mine(s)",
        "xpath(s, 'a')",
    ),
    *("aes_encrypt(s, 'abcdefghijklmnop')", "kll_sketch_agg_bigint(l)", "approx_percentile(d, 0.5)", "shuffle(a)"),
    *("cast('now' AS timestamp)", "ts > 'today'", "to_date(' NOW ')", "cast(concat('n', 'ow') AS timestamp)"),
    *("date_add('tomorrow', 1)", "try_cast('yesterday' AS date)", "coalesce(ts, 'now')", "to_timestamp('now')"),
    *("s RLIKE '(a+)+$'", "regexp_replace(s, '(x|x)*y', '')", "split(s, s)", "s RLIKE s", "regexp_count(s, '(.*a)*')"),
    *("repeat(s, 1000000000)", "repeat(s, i)", "repeat(repeat(s, 1000), 1000)", "sequence(1, 1000000000)", "space(l)"),
    *("sequence(1, l)", "array_repeat(s, 1000 * 1000000)", "lpad(s, 2000000000, 'x')", "array_insert(a, 99999999, 1)"),
    *(
        "sum(s)",
        "avg(concat(s, ''))",
        "try_sum(j)",
        "corr(d, s)",
        "percentile(s, 0.5)",
        "bool_or(s)",
        "median(s)",
        "some('x')",
        "sum('5')",
    ),
    *("format_string('%99999999d', i)", "round(d, 99999999)", "rpad(s, length(s) * 1000000, 'x')"),
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    empty = spark.createDataFrame([], ", ".join(f"{name} {kind}" for name, kind in COLUMNS))
    check(empty)  # what is refused below is refused for the call
    return empty


@pytest.mark.parametrize("call", OUTSIDE)
def test_what_spark_makes_of_it_is_refused(spark: SparkSession, frame: DataFrame, call: str) -> None:
    spark.udf.register("mine", lambda text: text)
    with pytest.raises(HeadgateError) as caught:
        check(frame.selectExpr(f"{call} AS r"))
    assert caught.value.hint


def test_bounded_lengths_and_plain_patterns_are_accepted(frame: DataFrame) -> None:
    calls = ["repeat(s, least(i, 100))", "sequence(1, 1000)", "lpad(s, 10, '0')", r"s RLIKE '^[a-z]+@([a-z]+[.])+$'"]
    check(frame.selectExpr("sum(cast(s AS int))", "avg(try_cast(s AS double))", "max(s)", "count(s)", "sum(s + 1)"))
    calls += ["cast('epoch' AS timestamp)", "cast(s AS timestamp)", "ts > '2020-01-01'", "s LIKE concat('a', j, '%')"]
    check(frame.selectExpr(*calls))


def test_variables_are_not_put_into_texts(spark: SparkSession) -> None:
    plan = planned("SELECT '${env:HOME}' AS home, '${system:user.name}' AS name FROM t")
    rows = results(prepare_query(spark, plan, {"t": T}, {}), {"t": MemoryLog(arrow_schema(T), ROWS[:1])}, [])
    assert sum(rows, Counter[Row]()) == Counter([("${env:HOME}", "${system:user.name}")])


def test_the_clock_in_a_column_is_a_text_like_others(spark: SparkSession) -> None:
    """Only constants mean the clock to Spark: otherwise a row could read it."""
    rows = [(*ROWS[0][:3], "now", *ROWS[0][4:])]
    plan = planned("SELECT try_cast(s AS timestamp) AS at, try_cast(s AS date) AS day FROM t")
    got = results(prepare_query(spark, plan, {"t": T}, {}), {"t": MemoryLog(arrow_schema(T), rows)}, [])
    assert sum(got, Counter[Row]()) == Counter([(None, None)])


def test_a_plan_holds_only_operators_that_are_compiled(spark: SparkSession, frame: DataFrame) -> None:
    for other in (spark.range(3), spark.sql("SELECT 1 AS one"), frame.orderBy("i"), frame.limit(3)):
        with pytest.raises(HeadgateError):
            check(other)


def test_a_plan_is_walked_as_a_whole(frame: DataFrame) -> None:
    """Expressions in lambdas, in conditions, in aggregates, in joins, in subqueries and below other operators."""
    hidden = "java_method('java.lang.System', 'nanoTime')"
    for changed in (
        frame.selectExpr(f"transform(a, x -> x + length({hidden})) AS r"),
        frame.where(f"s = {hidden}"),
        frame.where(f"i IN (1, length({hidden}))").select("i").union(frame.select("i")),
        frame.where(f"EXISTS (SELECT {hidden})"),
        frame.selectExpr(f"{hidden} AS r").groupBy("r").count(),
        frame.alias("x").join(frame.selectExpr("i", f"{hidden} AS s").alias("y"), F.expr("x.i = y.i AND x.s = y.s")),
    ):
        with pytest.raises(HeadgateError, match=r"CallMethodViaReflection|Subquery|Exists"):
            check(changed)
