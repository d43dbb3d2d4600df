"""Queries of one form are analysed once: what is answered is what a fresh analysis answers, refusals included."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from headgate.model import HeadgateError, Operator, Stream
from headgate.plan.sql import plan_sql
from headgate.spark.compile.declared_tables import described_table
from headgate.spark.compile.known_forms import KnownForms
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query

SCHEMA = (
    *(("id", "bigint"), ("n", "int"), ("small", "smallint"), ("temp", "double"), ("price", "decimal(10,2)")),
    *(("name", "string"), ("day", "date"), ("ts", "timestamp"), ("ok", "boolean"), ("parts", "array<int>")),
)
STREAMS = {name: Stream(name=name, schema=SCHEMA, event_time="ts") for name in "su"}
FORMS = (
    "SELECT id, temp FROM s WHERE {column} {sign} {constant}",
    "SELECT {column} {operator} {constant} AS x, {column} {operator} -{constant} AS y FROM s",
    "SELECT id FROM s WHERE {column} IN ({constant}, {other}) AND n > {other}",
    "SELECT id FROM s WHERE {column} BETWEEN {constant} AND {other}",
    "SELECT id, CASE WHEN {column} > {constant} THEN {other} ELSE {constant} END AS x FROM s",
    "SELECT repeat(name, {constant}) AS x, round(price, {other}) AS y FROM s WHERE n > {other}",
    "SELECT id FROM s WHERE name LIKE {constant} OR name RLIKE {other}",
    "SELECT id FROM s WHERE CAST({constant} AS timestamp) < ts AND {column} <> {other}",
    "SELECT parts[{constant}] AS x, element_at(parts, {other}) AS y FROM s",
    "SELECT id, sum(price) * {constant} AS x FROM s WHERE price > {other} GROUP BY window(ts, '10 seconds'), id",
    "SELECT s.id FROM s JOIN u ON s.id = u.id AND u.ts BETWEEN s.ts - INTERVAL 1 SECOND AND s.ts"
    " WHERE s.{column} > {constant} AND u.n < {other}",
    "SELECT x FROM (SELECT day AS name, price * {constant} AS x FROM s) WHERE name > {other} AND x > {constant}",
    "SELECT n * {constant} AS x FROM s UNION ALL SELECT price + {other} AS x FROM u",
    "SELECT s.id, t.label FROM s JOIN t ON s.id = t.id WHERE t.label {sign} {constant} AND t.size > {other}",
)
NUMBERS = ("0", "1", "7", "42", "99", "100", "2147483647", "2147483648", "9223372036854775808", "0.5", "1.5", "0.05")
TEXTS = ("'a'", "'bb'", "'now'", "'12:30'", "'2026-01-01'", "'7'", "'(a+)+'", "''", "'it''s'", r"'a\'b'", "'%%%'")
constants = st.sampled_from(
    (*NUMBERS, "12.25", "10.0", "1e3", "5L", "3.0D", *TEXTS, "NULL", "TRUE", "DATE '2026-01-01'")
)


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> dict[str, DataFrame]:
    return {"t": spark.createDataFrame([(1, "x", 1.5)], "id bigint, label string, size double")}


def answer(spark: SparkSession, plan: Operator, tables: dict[str, DataFrame], known: KnownForms | None) -> object:
    """The columns and types of a plan, or why it is refused."""
    try:
        prepared = prepare_query(spark, plan, STREAMS, tables, known=known)
    except HeadgateError as error:
        return str(error)
    return prepared.schema, prepared.catalog.types


@given(
    form=st.sampled_from(FORMS),
    column=st.sampled_from([name for name, _ in SCHEMA]),
    sign=st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    operator=st.sampled_from(["+", "-", "*", "/", "%"]),
    pairs=st.lists(st.tuples(constants, constants), min_size=2, max_size=4),
)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_answer_is_that_of_a_fresh_analysis(
    spark: SparkSession,
    table: dict[str, DataFrame],
    form: str,
    column: str,
    sign: str,
    operator: str,
    pairs: list[tuple[str, str]],
) -> None:
    known = KnownForms(spark)
    described = {name: described_table(name, frame.schema) for name, frame in table.items()}
    for constant, other in pairs:
        sql = form.format(column=column, sign=sign, operator=operator, constant=constant, other=other)
        try:
            plan = plan_sql(sql, STREAMS, described)
        except HeadgateError:
            continue
        assert answer(spark, plan, table, known) == answer(spark, plan, table, None), sql


def plan(sql: str, streams: dict[str, Stream] = STREAMS) -> Operator:
    return plan_sql(sql, streams)


def forms(spark: SparkSession, *texts: str) -> int:
    """How many analyses some queries take."""
    known = KnownForms(spark)
    for text in texts:
        prepare_query(spark, plan(text), STREAMS, {}, known=known)
    return len(known)


def test_queries_of_one_form_are_analysed_once(spark: SparkSession) -> None:
    filters = [f"SELECT id FROM s WHERE temp > {limit} AND name = '{name}'" for limit in (10, 20) for name in "ab"]
    assert forms(spark, *filters) == 1
    assert forms(spark, "SELECT n * 5 AS x FROM s", "SELECT n * 7 AS x FROM s") == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("price * 5", "price * 50"),  # its precision
        ("price * 1.5", "price * 10.25"),
        ("n + 5", "n + 3000000000"),  # an int, and a bigint
        ("substring(name, 1)", "substring(name, 2)"),
        ("parts[1]", "parts[2]"),
        ("n / 5", "n / 0"),
        ("name = '5'", "n = '5'"),
    ],
)
def test_constants_that_may_matter_make_another_form(spark: SparkSession, one: str, other: str) -> None:
    assert forms(spark, f"SELECT {one} AS x FROM s", f"SELECT {other} AS x FROM s") == 2


def test_each_query_runs_its_own_plan(spark: SparkSession) -> None:
    known = KnownForms(spark)
    plans = [plan(f"SELECT id FROM s WHERE temp > {limit}") for limit in (10, 20)]
    prepared: list[PreparedQuery] = [prepare_query(spark, each, STREAMS, {}, known=known) for each in plans]
    assert [each.plan for each in prepared] == plans
    assert prepared[0].catalog is not prepared[1].catalog


def test_a_stream_that_is_declared_anew_is_another(spark: SparkSession) -> None:
    known = KnownForms(spark)
    text = "SELECT temp FROM s WHERE temp > 10"
    changed = {"s": Stream(name="s", schema=(("temp", "int"),))}
    before = prepare_query(spark, plan(text), STREAMS, {}, known=known)
    after = prepare_query(spark, plan(text, changed), changed, {}, known=known)
    assert [str(each.schema.field("temp").type) for each in (before, after)] == ["double", "int32"]


def test_other_settings_of_spark_are_others(spark: SparkSession) -> None:
    known = KnownForms(spark)
    prepare_query(spark, plan("SELECT id FROM s WHERE id > 1"), STREAMS, {}, known=known)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        prepare_query(spark, plan("SELECT id FROM s WHERE id > 2"), STREAMS, {}, known=known)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert len(known) == 2
    prepare_query(spark, plan("SELECT id FROM s WHERE id > 3"), STREAMS, {}, known=known)
    assert len(known) == 2


def test_what_is_refused_is_not_kept(spark: SparkSession) -> None:
    known = KnownForms(spark)
    for text in ("now", "12:30"):
        with pytest.raises(HeadgateError, match=f"'{text}' as a time is not deterministic"):
            prepare_query(spark, plan(f"SELECT id FROM s WHERE ts > '{text}'"), STREAMS, {}, known=known)
    assert len(known) == 0
    later = f"SELECT id FROM s WHERE ts > '{datetime(2026, 1, 1).isoformat()}'"
    prepare_query(spark, plan(later), STREAMS, {}, known=known)
    assert len(known) == 1
