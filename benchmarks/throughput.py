"""How much of Spark's own speed is left for one long train; both sides in one run.

The same filters over the same sealed segments: as queries of an engine that fuses them, from the first decision until
the results are committed and in files of each query; and as one plain Spark batch that tags each row with the filters
it satisfies and writes the rows that satisfy any, with the same settings of Spark. The share is the batch's time by the
engine's. With `--fuse off` each query is a job of its own, and so is each batch.

    python benchmarks/throughput.py [--rows 10000000] [--queries 50] [--repeat 3] [--json]
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
from tests.spark.engine.internals import still

from headgate.spark.compile.executor_reads import located
from headgate.spark.jvm.settings import builder, for_many_rows
from headgate.spark.session import Session

SEGMENT = 100_000  # rows
PATIENCE = 3600.0
COLUMNS = "id bigint, room int, temp double, ts timestamp"


def filters(count: int) -> dict[str, str]:
    """Conditions that one row in five hundred fulfils, each its own."""
    return {f"q{number}": f"temp >= {number} AND temp < {number} + 0.2" for number in range(count)}


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


def in_headgate(session: Session, wanted: dict[str, str], turn: int) -> tuple[float, int]:
    """From when all queries are submitted until all results are in their files: seconds, and rows in those files."""
    with still(session):  # so that the first does not start alone
        handles = [
            session.query(f"{name}-{turn}", f"SELECT id, room, temp, ts FROM s WHERE {condition}", once=True)
            for name, condition in wanted.items()
        ]
    began = time.perf_counter()
    assert session.drain(PATIENCE)
    took = time.perf_counter() - began
    return took, sum(session.engine.query(handle.name).tuples_out for handle in handles)


def in_batches(spark: SparkSession, files: list[str], wanted: dict[str, str], folder: Path) -> None:
    """The same as one Spark batch each."""
    for name, condition in wanted.items():
        found = spark.read.schema(COLUMNS).parquet(*files).where(condition)
        found.write.mode("overwrite").parquet(located(folder / name))


def in_one_batch(spark: SparkSession, files: list[str], wanted: dict[str, str], folder: Path) -> None:
    """The same as one Spark batch for all."""
    tags = " | ".join(f"IF({text}, {1 << number}L, 0L)" for number, text in enumerate(wanted.values()))
    rows = spark.read.schema(COLUMNS).parquet(*files)
    found = rows.selectExpr("*", f"{tags} AS tags").where("tags != 0")
    found.write.mode("overwrite").parquet(located(folder / "all"))


def counted(folder: Path, fused: bool) -> int:
    """How many rows the batches have written; one that is for several filters counts for each."""
    found = list(folder.glob("*/*.parquet"))
    if not fused:
        return sum(pq.read_metadata(path).num_rows for path in found)
    tags = (pq.read_table(path, columns=["tags"])["tags"].to_numpy() for path in found)
    return sum(int(np.unpackbits(each.view(np.uint8)).sum()) for each in tags)


def measure(rows: int, queries: int, repeat: int, fuse: str) -> dict[str, Any]:
    spark = builder("local[*]", "throughput").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    folder = Path(tempfile.mkdtemp(prefix="headgate-throughput-"))
    wanted, fused = filters(queries), fuse != "off" and queries > 1
    batch = in_one_batch if fused else in_batches
    batches, engine = [], []
    try:
        with Session(spark=spark, directory=folder / "data", policy="fcfs", fuse=fuse) as session:
            files = fill(session, rows)
            out = folder / "batches"
            plain = for_many_rows(spark)
            batch(plain, files, wanted, out)  # the JVM has compiled what both sides use
            in_headgate(session, wanted, 0)
            for turn in range(1, repeat + 1):
                began = time.perf_counter()
                batch(plain, files, wanted, out)
                batches.append(time.perf_counter() - began)
                took, here = in_headgate(session, wanted, turn)
                engine.append(took)
                there = counted(out, fused)
                assert here == there, f"{here} rows, and {there} as batches"
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    spark_s, headgate_s = statistics.median(batches), statistics.median(engine)
    share = spark_s / headgate_s
    return {
        "rows": rows,
        "queries": queries,
        "fuse": fuse,
        "spark_s": spark_s,
        "headgate_s": headgate_s,
        "share": share,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--fuse", choices=("off", "class", "all"), default="class")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.rows, asked.queries, asked.repeat, asked.fuse)
    if asked.json:
        print(json.dumps(found))
        return
    print(f"{asked.queries} filters over {asked.rows:,} rows from sealed segments")
    print(f"  plain Spark          {found['spark_s']:8.2f} s")
    print(f"  Headgate             {found['headgate_s']:8.2f} s")
    print(f"  share of Spark       {found['share']:8.2f}")


if __name__ == "__main__":
    main()
