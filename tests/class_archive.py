"""Makes the archive of Java classes with which Spark starts more than twice as fast in the tests.

    python -m tests.class_archive FILE

A Java process that starts Spark and runs a first job spends most of that time on loading classes, and the tests start
dozens. Java maps an archive of loaded classes instead; one that does not fit its version or class path it ignores.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random
from typing import Any

from tests.conftest import PLAIN

KINDS = ("filter", "table join", "sliding", "except", "join", "aggregate over a join")


def load_classes() -> None:
    """Start Spark, run queries of several kinds, and let Java end in order, which is when it writes the archive."""
    from pyspark import SparkContext
    from tests.spark.engine.workload import CASES, PATIENCE, STREAMS, batches, declare, expected, start

    from headgate.spark.jvm.settings import builder
    from headgate.spark.session import Session

    spark = builder("local[2]", "headgate-classes").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    cases = [CASES[name] for name in KINDS]
    with Session(spark=spark, policy="fcfs") as session:
        declare(session)
        start(session, cases)
        for stream, rows in batches(Random(1), STREAMS):
            session.append(stream, rows)
        session.drain(PATIENCE)
        for case in cases:
            expected(session, case)
    context: Any = SparkContext
    java = context._gateway.proc
    spark.stop()
    context._gateway.shutdown()
    java.stdin.close()
    java.wait()


def main() -> None:
    file = Path(sys.argv[1])
    unfinished = file.with_name(f"{file.name}.new")
    unfinished.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{PLAIN} -XX:ArchiveClassesAtExit={unfinished} -Xlog:disable"
    load_classes()
    if not unfinished.exists():
        sys.exit("Java wrote no archive of its classes")
    unfinished.replace(file)


if __name__ == "__main__":
    main()
