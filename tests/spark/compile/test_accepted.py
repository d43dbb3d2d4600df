"""The SQL that the documentation calls accepted runs and means what Spark means; the rest is refused as it says."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.compile.accepted import ROOMS, ROWS, STREAMS, TABLES, Case, cases
from tests.spark.compile.logs import MemoryLog, Row, counted, results

from headgate.model import HeadgateError
from headgate.plan.sql import plan_sql
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.schemas import arrow_schema, spark_schema
from headgate.spark.compile.stored_tables import stored

ACCEPTED, REFUSED = cases("accepted"), cases("refused")


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    return {"rooms": stored(spark.createDataFrame(pa.table(ROOMS)).to(spark_schema(TABLES["rooms"])))}


@pytest.fixture(scope="module")
def logs(spark: SparkSession) -> dict[str, MemoryLog]:
    return {name: MemoryLog(arrow_schema(stream), ROWS[name]) for name, stream in STREAMS.items()}


@pytest.fixture(scope="module")
def views(spark: SparkSession, tables: dict[str, DataFrame], logs: dict[str, MemoryLog]) -> dict[str, DataFrame]:
    """What a batch reads."""
    rows = {name: log.table.drop_columns(["_offset", "_arrival", "_late"]) for name, log in logs.items()}
    return {**tables, **{name: spark.createDataFrame(table) for name, table in rows.items()}}


def prepared(spark: SparkSession, case: Case, tables: dict[str, DataFrame]) -> PreparedQuery:
    return prepare_query(spark, plan_sql(case.sql, STREAMS, TABLES), STREAMS, tables)


def batch(spark: SparkSession, case: Case, views: dict[str, DataFrame]) -> Counter[Row]:
    for name, frame in views.items():  # each time: other tests have views of these names too
        frame.createOrReplaceTempView(name)
    return counted(spark.sql(case.other or case.sql).toArrow())


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.what)
def test_accepted(
    spark: SparkSession,
    tables: dict[str, DataFrame],
    logs: dict[str, MemoryLog],
    views: dict[str, DataFrame],
    case: Case,
) -> None:
    rows = sum(results(prepared(spark, case, tables), logs, []), Counter[Row]())
    assert rows == batch(spark, case, views)
    assert rows, "no result: nothing was compared"


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.what)
def test_refused(spark: SparkSession, tables: dict[str, DataFrame], case: Case) -> None:
    with pytest.raises(HeadgateError) as caught:
        prepared(spark, case, tables)
    assert f"{caught.value.message}; {caught.value.hint}" == case.other


def test_every_case_has_its_own_name() -> None:
    for fixture in (ACCEPTED, REFUSED):
        assert len({case.sql for case in fixture}) == len({(case.topic, case.what) for case in fixture}) == len(fixture)
