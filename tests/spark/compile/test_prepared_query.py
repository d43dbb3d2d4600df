"""A run is one Spark job; a query is checked when it is submitted; a row that fails does not fail its train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.compile.logs import MemoryLog

from headgate.model import HeadgateError, Stream, Table
from headgate.plan.places import Place
from headgate.plan.sql import plan_sql
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.read_sets import sources
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.compile.stored_tables import read_table

S = Stream(
    name="s",
    schema=(("id", "bigint"), ("text", "string"), ("ts", "timestamp")),
    event_time="ts",
)
ROWS = [(n % 4, str(n) if n != 5 else "five", n * 1_000_000) for n in range(12)]


def query(spark: SparkSession, sql: str) -> PreparedQuery:
    return prepare_query(spark, plan_sql(sql, {"s": S}), {"s": S}, {})


def log(spark: SparkSession) -> dict[str, MemoryLog]:
    del spark  # the types of a schema are read by a running Spark
    return {"s": MemoryLog(arrow_schema(S), ROWS)}


def leaf(first: int, last: int, old: float | None = None, new: float | None = None) -> Leaf:
    return Leaf("s", Range(first, last), old, new)


def test_a_run_is_a_spark_job_whose_tasks_read_the_rows(spark: SparkSession) -> None:
    prepared = query(spark, "SELECT id, text FROM s WHERE id > 1")
    spark.sparkContext.setJobGroup("one-run", "a run")
    try:
        rows = prepared.run({_place(prepared): leaf(0, 12)}, log(spark)).rows
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", "")
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("one-run")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    assert len(jobs) == 1
    assert sum(stage.numCompletedTasks for stage in stages if stage) >= 1
    assert rows.num_rows == 6


def _place(prepared: PreparedQuery) -> Place:
    return next(place for place, _ in sources(prepared.plan))


def test_hidden_columns(spark: SparkSession) -> None:
    plain = query(spark, "SELECT id FROM s WHERE id = 3")
    rows = plain.run({_place(plain): leaf(4, 12)}, log(spark)).rows
    assert rows.schema == plain.hidden_schema
    assert rows["_arrival"].to_pylist() == [0.7, 1.1]
    assert rows["_closes"].null_count == 2
    counts = query(spark, "SELECT count(*) AS n FROM s GROUP BY window(ts, '5 seconds')")
    closed = counts.run({_place(counts): leaf(0, 12, None, 11_000_000)}, log(spark)).rows.sort_by("_closes")
    assert closed["n"].to_pylist() == [5, 5]
    assert closed["_closes"].cast(pa.int64()).to_pylist() == [5_000_000, 10_000_000]
    assert closed["_arrival"].to_pylist() == [0.4, 0.9]


def test_no_job_where_no_window_closes(spark: SparkSession) -> None:
    prepared = query(spark, "SELECT count(*) AS n FROM s GROUP BY window(ts, '5 seconds')")
    given = {_place(prepared): leaf(2, 4, 1_000_000, 3_000_000)}
    assert prepared.frame(given, log(spark)) is None
    assert prepared.run(given, log(spark)).rows.schema == prepared.hidden_schema


def test_output_schema(spark: SparkSession) -> None:
    plan = plan_sql("SELECT id + 1 AS next, upper(text) AS t, ts FROM s", {"s": S})
    assert prepare_query(spark, plan, {"s": S}, {}).schema == pa.schema(
        [("next", pa.int64()), ("t", pa.string()), ("ts", pa.timestamp("us", "UTC"))]
    )


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nosuch(id) AS x FROM s", "nosuch"),
        ("SELECT id FROM s WHERE text > array(1)", "types"),
        ("SELECT id FROM s WHERE id + 1", "BOOLEAN"),
    ],
)
def test_what_spark_refuses_is_reported_at_submit_in_one_line(spark: SparkSession, sql: str, message: str) -> None:
    with pytest.raises(HeadgateError) as caught:
        query(spark, sql)
    refusal = str(caught.value)
    assert message.lower() in refusal.lower()
    assert "\n" not in refusal
    assert "SQLSTATE" not in refusal
    assert "[" not in refusal.split(";")[0][:40]


@pytest.mark.parametrize(
    ("schema", "event_time", "message"),
    [
        ((("id", "bigintt"),), None, "no type 'bigintt'"),
        ((), None, "no schema"),
        ((("_arrival", "int"),), None, "column '_arrival'"),
        ((("id", "int"),), "id", "is integer"),
        ((("id", "int"),), "ts", "no column 'ts'"),
    ],
)
def test_bad_schemas(spark: SparkSession, schema: Any, event_time: str | None, message: str) -> None:
    del spark
    with pytest.raises(HeadgateError, match=message):
        arrow_schema(Stream(name="s", schema=schema, event_time=event_time))


def test_a_row_that_fails_gives_no_result_and_its_reason(spark: SparkSession) -> None:
    prepared = query(spark, "SELECT id, CAST(text AS int) AS n FROM s WHERE 12 / id > 4")
    result = prepared.run({_place(prepared): leaf(0, 12)}, log(spark))
    rows = sorted(zip(*(result.rows[name].to_pylist() for name in ("id", "n")), strict=True))
    assert rows == [(1, 1), (1, 9), (2, 2), (2, 6), (2, 10)]
    assert prepared.isolating
    reasons = {failure.offsets: failure.reason for failure in result.failures}
    assert set(reasons) == {(("s", offset),) for offset in (0, 4, 5, 8)}
    assert reasons[("s", 0),] == "division by zero: 12 / id > 4"
    assert "'five'" in reasons[("s", 5),]


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_stored_tables(spark: SparkSession, tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"rooms.{suffix}")
    rows = spark.createDataFrame([(1, "x"), (2, "y")], "code int, label string")
    rows.write.format(suffix).option("header", True).save(path)
    table = Table(name="rooms", schema=(("code", "bigint"), ("label", "string")), path=path)
    stored = read_table(spark, table)
    assert stored.schema.simpleString() == "struct<code:bigint,label:string>"
    assert sorted(stored.toArrow()["label"].to_pylist()) == ["x", "y"]


def test_a_table_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(HeadgateError, match="table 'gone' cannot be read"):
        read_table(spark, Table(name="gone"))
