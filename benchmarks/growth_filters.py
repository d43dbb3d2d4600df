"""More and more filters over one feed, for benchmarks.growth.

Each row is wanted by about three of the queries, however many there are. Latency is from a row's arrival until its
result is committed (Headgate, with a Parquet file per query), handed to `foreachBatch` (one Structured Streaming query,
fused by hand), or back in Python (the bare job, which gives every row back as it came).
"""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
from benchmarks.many_queries import Feed, Latencies, Question, Setting, cpu_seconds, headgate, quiet_spark, structured
from pyspark.sql import SparkSession

from headgate.spark.jvm.settings import builder

WANT = 3  # queries that want a row
HOTTEST = 100.0  # degrees; temperatures are spread evenly below
SHAPES = ("range", "equal")
PER_QUERY = 0.06  # seconds more to warm up


def filters(count: int, shape: str) -> list[Question]:
    """Overlapping ranges, or a key and a condition that nearly every row fulfils, so that no two filters are equal.

    >>> filters(10, "range")[4].sql
    'SELECT id, temp, ts FROM s WHERE temp >= 20 AND temp < 50'
    >>> filters(30, "equal")[4].sql
    'SELECT id, temp, ts FROM s WHERE id = 1 AND temp >= 0.01'
    """
    step = HOTTEST / count

    def condition(n: int) -> str:
        if shape == "equal":
            return f"id = {n // WANT} AND temp >= {n % WANT / 100:.6g}"
        return f"temp >= {(n - WANT + 1) * step:.6g} AND temp < {(n + 1) * step:.6g}"

    return [Question(f"f{n}", f"SELECT id, temp, ts FROM s WHERE {condition(n)}") for n in range(count)]


def measure(side: str, count: int, shape: str, setting: Setting) -> dict[str, Any]:
    """Mean and p95 of latencies, and CPU seconds per million tuples and queries."""
    setting = replace(setting, places=max(1, count // WANT), warm_up=setting.warm_up + PER_QUERY * count)
    if side == "bare":
        return bare(setting)
    questions = filters(count, shape)
    return structured(questions, "by-hand", setting) if side == "by-hand" else headgate(questions, "class", setting)


def bare(setting: Setting) -> dict[str, Any]:
    """The least that a Spark job takes: rows to Spark, a projection that changes nothing, rows back."""
    found, waiting = Latencies(), queue.SimpleQueue[pa.Table]()

    def send(_: str, table: pa.Table) -> None:
        waiting.put(table)

    with quiet_spark(builder("local[*]", "growth")) as spark, Feed(send, ["s"], setting) as feed:
        _jobs(spark, waiting, setting.warm_up, Latencies())
        sent, cpu = feed.sent, cpu_seconds(spark)
        _jobs(spark, waiting, setting.seconds, found)
        return found.summary(cpu_seconds(spark) - cpu, feed.sent - sent, 1)


def _jobs(spark: SparkSession, waiting: queue.SimpleQueue[pa.Table], seconds: float, found: Latencies) -> None:
    """One job after another, each of all rows that wait."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        tables = [waiting.get()]
        while not waiting.empty():
            tables.append(waiting.get())
        rows = spark.createDataFrame(pa.concat_tables(tables)).select("id", "temp", "ts").toArrow()
        found.add("one", (time.time() - rows["ts"].cast(pa.int64()).to_numpy() / 1e6).tolist())
