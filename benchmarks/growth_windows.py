"""Longer and longer sliding windows over one feed, for benchmarks.growth.

Steps of 10 000 rows, 5 seconds of event time each, as fast as they go; the rate is that of the last steps, after the
window has filled and some more have passed. While it fills, steps are taken many at a time.

Headgate gets a step once the one before is committed, with its log, commits and a Parquet file of results on disk.
Structured Streaming has a Parquet file per step beforehand and `maxFilesPerTrigger=1`, append mode, results collected
in `foreachBatch`; shuffle partitions as many as cores, else the settings that Headgate gives Spark for small jobs.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.many_queries import quiet_spark
from pyspark.sql import DataFrame

from headgate.spark.jvm.settings import builder
from headgate.spark.session import Session

SCHEMA = "k bigint, v bigint, ts timestamp"
KEYS = 100
SLIDE = 5  # seconds of event time, and of a step
AT_ONCE = 12  # steps while the window fills
PATIENCE = 3600.0


@dataclass(frozen=True)
class Steps:
    """How much, and how much of it counts."""

    rows: int  # of a step
    fill: int  # steps that fill the window
    warm: int  # steps after those
    count: int  # that are measured

    @classmethod
    def of(cls, minutes: float, rows: int, fill: float, warm: int, count: int) -> Steps:
        """As many as fill the window `fill` times, in whole lots."""
        return cls(rows, AT_ONCE * math.ceil(fill * minutes * 60 / SLIDE / AT_ONCE), warm, count)

    def table(self, step: int, length: int = 1) -> pa.Table:
        """The rows of some steps from this one on."""
        random, rows = np.random.default_rng(step), self.rows * length
        times = step * SLIDE * 1_000_000 + np.arange(rows) * (SLIDE * 1_000_000 // self.rows)
        return pa.table(
            {
                "k": random.integers(0, KEYS, rows),
                "v": random.integers(0, 1000, rows),
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
            }
        )

    def lots(self) -> list[pa.Table]:
        """What fills the window."""
        return [self.table(step, AT_ONCE) for step in range(0, self.fill, AT_ONCE)]

    def single(self) -> list[pa.Table]:
        """What comes then, a table per step; the last of them count."""
        return [self.table(self.fill + step) for step in range(self.warm + self.count)]


def sql(minutes: float) -> str:
    """The query: `SELECT … GROUP BY window(ts, '300 seconds', '5 seconds'), k` for five minutes."""
    window = f"window(ts, '{minutes * 60:g} seconds', '{SLIDE} seconds')"
    return f"SELECT window.start AS t, k, count(*) AS n, sum(v) AS total, max(v) AS top FROM s GROUP BY {window}, k"


def headgate(minutes: float, steps: Steps) -> dict[str, Any]:
    """Rows per second, results."""
    with quiet_spark(builder("local[*]", "growth")) as spark, Session(spark=spark) as session:
        session.stream("s", SCHEMA, event_time="ts", watermark=0.0)
        session.query("w", sql(minutes))
        for lot in steps.lots():
            session.append("s", lot)
            assert session.drain(PATIENCE)
        took = []
        for table in steps.single():
            began = time.perf_counter()
            session.append("s", table)
            assert session.drain(PATIENCE)
            took.append(time.perf_counter() - began)
        return _told(took, steps, session.engine.query("w").tuples_out)


def structured(minutes: float, steps: Steps) -> dict[str, Any]:
    """Rows per second, results."""
    at, results = [], []

    def taken(batch: DataFrame, _: int) -> None:
        results.append(batch.toArrow().num_rows)
        at.append(time.perf_counter())

    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        source = Path(folder, "s")
        source.mkdir()
        lots = steps.lots()
        for number, table in enumerate([*lots, *steps.single()]):
            path = source / f"{number:06}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1e9 + number, 1e9 + number))  # the oldest is taken first
        made = builder("local[*]", "growth").config("spark.sql.shuffle.partitions", os.cpu_count() or 1)
        with quiet_spark(made) as spark:
            read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
            read.withWatermark("ts", "0 seconds").createOrReplaceTempView("s")
            writing = spark.sql(sql(minutes)).writeStream.outputMode("append").foreachBatch(taken)
            query = writing.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
            query.awaitTermination()
    ends = at[len(lots) - 1 : len(lots) + steps.warm + steps.count]  # after them comes a batch without rows
    return _told(np.diff(ends).tolist(), steps, sum(results))


def _told(took: list[float], steps: Steps, results: int) -> dict[str, Any]:
    took = took[steps.warm :]
    mean, median = float(np.mean(took)), float(np.median(took))
    return {"rate": steps.rows / mean, "step_s": mean, "median_step_s": median, "results": results}
