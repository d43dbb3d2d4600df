"""A session of Spark that the program gave: its state stays as it is, and its settings change no results."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.model import Table
from headgate.spark.session import Session

HOSTILE = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.variable.substitute": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.codegen.wholeStage": "false",
}
ROWS = [
    {
        "id": n,
        "word": str(n) if n % 4 else "none",
        "room": f"r{n % 3}",
        "ts": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n),
    }
    for n in range(12)
]
SCHEMA = "id bigint, word string, room string, ts timestamp"
PLAIN = {
    "times": "SELECT ID AS n, hour(ts) AS h, date_format(ts, 'yyyy-MM-dd HH') AS text FROM readings",
    "escapes": r"SELECT id, regexp_replace(word, '\\d', 'x') AS w, size(CAST(NULL AS array<int>)) AS n FROM readings",
    "numbers": "SELECT id, CAST(id AS decimal(38, 10)) * CAST(1.5 AS decimal(38, 10)) AS d FROM readings",
    "days": "SELECT window.start AS s, room, count(*) AS n FROM readings GROUP BY window(ts, '1 day'), room",
}


@pytest.fixture
def theirs(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """The program's session, which is also the default one of Java: threads without another one use its settings."""
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]
    session = spark.newSession()
    for key, value in HOSTILE.items():
        session.conf.set(key, value)
    session.sql(f"CREATE DATABASE theirs LOCATION '{tmp_path / 'theirs'}'")
    session.sql("USE theirs")
    session.sql("SELECT 'r1' AS room, 'east' AS wing").createOrReplaceTempView("rooms")
    sessions.setDefaultSession(session._jsparkSession)
    try:
        yield session
    finally:
        sessions.setDefaultSession(spark._jsparkSession)
        session.sql("DROP DATABASE theirs CASCADE")


def state(spark: SparkSession) -> dict[str, Any]:
    context: Any = spark.sparkContext
    jvm: Any = spark._jvm
    active = jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    return {
        "settings": {row["key"]: row["value"] for row in spark.sql("SET").collect()},
        "views": sorted(table.name for table in spark.catalog.listTables() if table.isTemporary),
        "functions": sorted(row[0] for row in spark.sql("SHOW USER FUNCTIONS").collect()),
        "database": spark.catalog.currentDatabase(),
        "group": context.getLocalProperty("spark.jobGroup.id"),
        "pool": context.getLocalProperty("spark.scheduler.pool"),
        "active": active.get().sessionUUID() if active.isDefined() else None,
        "active in Python": SparkSession.getActiveSession(),
    }


def batch(spark: SparkSession, sql: str) -> list[str]:
    """What the SQL gives as a batch in a session with Headgate's settings."""
    oracle = spark.newSession()
    for key in HOSTILE:
        oracle.conf.set(key, str(spark.conf.get(key)))
    oracle.createDataFrame(pa.Table.from_pylist(ROWS), SCHEMA).createOrReplaceTempView("readings")
    return sorted(map(str, oracle.sql(sql).toArrow().to_pylist()))


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def test_a_session_that_was_given_is_left_as_it_is(spark: SparkSession, theirs: SparkSession, tmp_path: Path) -> None:
    expected = {name: batch(spark, sql) for name, sql in PLAIN.items()}
    numbers = batch(spark, "SELECT id, CAST(word AS int) AS n FROM readings WHERE word <> 'none'")
    theirs.createDataFrame([(1,)], "n int")  # makes it the active one of this thread
    before = state(theirs)
    with Session(spark=theirs, directory=tmp_path / "data", fuse="class") as hg:
        assert hg.spark is theirs
        hg.stream("readings", SCHEMA, event_time="ts")
        hg.engine.add_table(Table(name="rooms"))
        hg.table("halls", theirs.sql("SELECT 'r2' AS room, 'big' AS hall"))
        for name, sql in PLAIN.items():
            hg.query(name, sql)
        hg.query("numbers_only", "SELECT id, CAST(word AS int) AS n FROM readings")
        hg.query("named", "SELECT r.id, t.wing FROM readings r JOIN rooms t ON r.room = t.room")
        hg.query("given", "SELECT r.id, t.hall FROM readings r JOIN halls t ON r.room = t.room")
        hg.query("stored", "SELECT id, word FROM readings WHERE id > 8", sink="table, name=kept")
        for first in range(0, len(ROWS), 5):
            hg.append("readings", ROWS[first : first + 5])
            hg.drain(60)
        hg.finish("readings")
        hg.drain(60)
        during = state(theirs)
        assert {name: rows_of(hg[name].read()) for name in PLAIN} == expected
        # A text that is no number is a dead letter, as by the rules of ANSI, and no null.
        assert rows_of(hg["numbers_only"].read()) == numbers
        assert hg["numbers_only"].status.dead_letters == sum(row["word"] == "none" for row in ROWS)
        assert rows_of(hg["named"].read()) == [str({"id": n, "wing": "east"}) for n in (1, 10, 4, 7)]
        assert sorted(row["id"] for row in hg["given"].read().to_pylist()) == [2, 5, 8, 11]
    assert during == before
    assert state(theirs) == before
    assert sorted(row["id"] for row in theirs.sql("SELECT * FROM theirs.kept").collect()) == [9, 10, 11]


def test_a_session_that_runs_already_is_used_and_left_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    before = state(spark)
    with Session(directory=tmp_path / "data") as hg:
        hg.stream("readings", SCHEMA)
        hg.query("all", "SELECT id FROM readings")
        hg.append("readings", ROWS)
        hg.drain(60)
        assert state(spark) == before
    assert state(spark) == before
