from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.sources import Batch, StructuredReader

from .builders import column, waited

STREAM = Stream(name="r", schema=(("id", "bigint"), ("ts", "timestamp")), event_time="ts")

# Py4J leaves the sockets of callbacks to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def rate(spark: SparkSession) -> DataFrame:
    frame = spark.readStream.format("rate").option("rowsPerSecond", "50").load()
    return frame.selectExpr("value AS id", "timestamp AS ts")


def first(reader: StructuredReader) -> Batch:
    return waited(reader, 1, 30.0)[0]


def test_a_batch_is_acknowledged_when_it_is_appended_and_repeated_otherwise(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(StructuredReader(rate(spark), STREAM, tmp_path)) as reader:
        former = first(reader)
        time.sleep(0.3)
        assert reader.read(0.0) == []  # the next one waits for this one
        reader.appended(str(former.batch))
        latter = first(reader)
    assert reader.done
    assert sorted(column([former, latter], "id")) == list(range(former.rows.num_rows + latter.rows.num_rows))
    with closing(StructuredReader(rate(spark), STREAM, tmp_path)) as reader:
        again = first(reader)
    assert not caplog.records
    assert again.batch == latter.batch
    assert sorted(column([again], "id")) == sorted(column([latter], "id"))


def test_a_finite_query_ends(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": 1, "ts": "2024-01-01T00:00:00Z"}\n')
    frame = spark.readStream.schema("id int, ts timestamp").json(str(tmp_path / "in"))
    with closing(StructuredReader(frame, STREAM, tmp_path / "check", {"availableNow": True})) as reader:
        batch = first(reader)
        assert batch.rows["id"].to_pylist() == [1]
        reader.appended(str(batch.batch))
        end = time.monotonic() + 20.0
        while not reader.done:
            assert time.monotonic() < end
            assert reader.read(0.0) == []
            time.sleep(0.01)


def test_a_query_that_fails_says_so(spark: SparkSession, tmp_path: Path) -> None:
    frame = rate(spark).selectExpr("CAST(raise_error('no such thing') AS bigint) AS id", "ts")
    with closing(StructuredReader(frame, STREAM, tmp_path)) as reader, pytest.raises(HeadgateError, match="failed"):
        waited(reader, 1, 30.0)


def test_frames_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="does not stream"):
        StructuredReader(spark.range(3), STREAM, tmp_path)
    with pytest.raises(HeadgateError, match="unknown column 'ts'"):
        StructuredReader(rate(spark).drop("ts"), STREAM, tmp_path)
