"""Tables when Spark is started again, and which errors say that it has died."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from headgate.model import HeadgateError, Table
from headgate.spark.compile import declared_tables
from headgate.spark.compile.declared_tables import Tables
from headgate.spark.jvm.process import Java, broken


def test_tables_come_back_with_their_rows_or_say_why_not(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "rooms.csv"
    stored.write_text("id,room\n1,hall\n")
    gone = tmp_path / "gone.csv"
    gone.write_text("id\n1\n")
    monkeypatch.setattr(declared_tables, "FEW", 2)
    tables = Tables(keep=True)
    types = "id bigint, ts timestamp, tags array<string>"
    few = spark.sql("SELECT 1L AS id, TIMESTAMP '2026-01-01' AS ts, array('x', NULL) AS tags").to(
        spark.createDataFrame([], types).schema
    )
    tables.put("rooms", tables.read(spark, Table(name="rooms", path=str(stored)), None))
    tables.put("gone", tables.read(spark, Table(name="gone", path=str(gone)), None))
    tables.put("few", tables.read(spark, Table(name="few"), few))
    tables.put("many", tables.read(spark, Table(name="many"), spark.range(3)))
    stored.write_text("id,room\n1,hall\n2,attic\n")
    gone.unlink()
    spark.catalog.clearCache()  # another Spark would not know these rows
    assert set(tables.read_again(spark)) == {"gone", "many"}
    assert tables["rooms"].count() == 2
    assert tables["few"].collect() == few.collect()
    assert tables["few"].schema == few.schema
    assert [name for name, _ in tables.described("few").schema] == few.columns
    for name in ("gone", "many"):
        assert tables.lost(name)
        with pytest.raises(HeadgateError, match=r"was lost when Spark died.*declare it again"):
            tables[name]
    assert tables.described("many").schema == (("id", "bigint"),)
    tables.put("many", tables.read(spark, Table(name="many"), spark.range(2)))
    assert not tables.lost("many")


def test_a_java_that_lives_is_not_blamed(spark: SparkSession) -> None:
    java, error = Java(), Py4JError("no such method")
    assert not java.dead
    assert java.blame(error) is error


def test_a_broken_connection_is_seen_behind_other_errors() -> None:
    for cause in (Py4JNetworkError("refused"), ConnectionResetError(), EOFError(), Py4JError("o12.count")):
        refused = HeadgateError("the query is refused")
        refused.__context__ = cause  # as `raise … from None` leaves it
        assert broken(refused)
    assert not broken(HeadgateError("the query is refused"))
    assert not broken(ValueError())
