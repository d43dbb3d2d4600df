"""How much of Spark's own speed is left for one long train; both sides in one run.

The same filters over the same sealed segments, their results in Parquet files: as queries of an engine, from submission
to committed results, and as plain Spark batches, one after another. The share is the batches' time by the engine's.

    python benchmarks/throughput.py [--rows 10000000] [--queries 1] [--repeat 1] [--json]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headgate.spark.jobs.sealed import located
from headgate.spark.jobs.tuning import builder
from headgate.spark.session import Session

SEGMENT = 100_000  # rows
PATIENCE = 3600.0
COLUMNS = "id bigint, room int, temp double, ts timestamp"


def filters(count: int) -> dict[str, str]:
    """Conditions that a tenth of the rows fulfil, each its own."""
    return {f"q{number}": f"temp >= {number % 90} AND temp < {number % 90 + 10}" for number in range(count)}


def fill(session: Session, rows: int) -> list[str]:
    """A stream of so many rows, all of them sealed; the files."""
    session.stream("s", COLUMNS, event_time="ts")
    random = np.random.default_rng(1)
    for first in range(0, rows, SEGMENT):
        ids = np.arange(first, min(first + SEGMENT, rows))
        made = {
            "id": pa.array(ids),
            "room": pa.array(random.integers(0, 1000, len(ids)), pa.int32()),
            "temp": pa.array(random.uniform(0, 100, len(ids))),
            "ts": pa.array(ids * 1_000, pa.timestamp("us", "UTC")),
        }
        session.append("s", pa.table(made))
    log = session.engine.logs["s"]
    log.seal()
    return [located(segment.path) for segment in log.segments(log.start, log.end) if segment.path is not None]


def in_headgate(session: Session, wanted: dict[str, str], turn: int) -> int:
    """The queries from submission until all results are in their files; how many rows those have."""
    handles = [
        session.query(f"{name}-{turn}", f"SELECT id, room, temp, ts FROM s WHERE {condition}", once=True)
        for name, condition in wanted.items()
    ]
    assert session.drain(PATIENCE)
    session.engine.ledger.forward()
    return sum(session.engine.query(handle.name).tally.tuples_out for handle in handles)


def in_batches(spark: SparkSession, files: list[str], wanted: dict[str, str], folder: Path) -> None:
    """The same as one Spark batch each."""
    for name, condition in wanted.items():
        found = spark.read.schema(COLUMNS).parquet(*files).where(condition)
        found.write.mode("overwrite").parquet(located(folder / name))


def counted(wanted: dict[str, str], folder: Path) -> int:
    """How many rows the batches have written."""
    return sum(pq.read_metadata(path).num_rows for name in wanted for path in (folder / name).glob("*.parquet"))


def measure(rows: int, queries: int, repeat: int) -> dict[str, Any]:
    spark = builder("local[*]", "throughput").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    folder = Path(tempfile.mkdtemp(prefix="headgate-throughput-"))
    wanted = filters(queries)
    batches, engine = [], []
    try:
        with Session(spark=spark, directory=folder / "data", policy="fcfs") as session:
            files = fill(session, rows)
            in_batches(spark, files, wanted, folder)  # the JVM has compiled what both sides use
            in_headgate(session, dict(list(wanted.items())[:1]), 0)
            for turn in range(1, repeat + 1):
                began = time.perf_counter()
                in_batches(spark, files, wanted, folder)
                between = time.perf_counter()
                here = in_headgate(session, wanted, turn)
                engine.append(time.perf_counter() - between)
                batches.append(between - began)
                there = counted(wanted, folder)
                assert here == there, f"{here} rows, and {there} as batches"
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    spark_s, headgate_s = statistics.median(batches), statistics.median(engine)
    share = spark_s / headgate_s
    return {"rows": rows, "queries": queries, "spark_s": spark_s, "headgate_s": headgate_s, "share": share}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.rows, asked.queries, asked.repeat)
    if asked.json:
        print(json.dumps(found))
        return
    print(f"{asked.queries} filters over {asked.rows:,} rows from sealed segments")
    print(f"  plain Spark batches  {found['spark_s']:8.2f} s")
    print(f"  Headgate             {found['headgate_s']:8.2f} s")
    print(f"  share of Spark       {found['share']:8.2f}")


if __name__ == "__main__":
    main()
