"""Settings of a Spark session that runs many small jobs."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import MappingProxyType
from typing import Any

from pyspark.sql import SparkSession

SETTINGS = MappingProxyType(
    {
        # A small Arrow table would otherwise be filtered on the driver while planning, and no job would start.
        "spark.sql.execution.arrow.localRelationThreshold": "0",
        # Both cost more than they save in jobs of a few thousand rows.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.optimizer.singleTaskExecution.enabled": "true",
        # Hundreds of queries, each with code of its own, evict one another from a cache of 100.
        "spark.sql.codegen.cache.maxEntries": "4000",
        # The text of the plan is made for every execution, even without the UI.
        "spark.sql.ui.explainMode": "simple",
        # A driver that runs for weeks must not keep every job it ever ran.
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "500",
        "spark.sql.ui.retainedExecutions": "10",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Sealed segments are named one by one: listing them needs no job.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        # As Arrow has them: INT96, Spark's default, is read as nanoseconds.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.python.unix.domain.socket.enabled": "true",
        # '${env:HOME}' in a query is six characters and a name, not the variable's value.
        "spark.sql.variable.substitute": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
    }
)


# Spark's code for lambdas reads an array's elements before it asks whether they are null, and Arrow refuses that.
_UNCHECKED = "arrow.enable_null_check_for_get"


def allow_null_elements(spark: SparkSession) -> None:
    """Let lambdas meet null elements of arrays; Arrow looks at this once, when it is first used in a Java."""
    jvm: Any = spark._jvm
    jvm.java.lang.System.setProperty(_UNCHECKED, "false")


@cache
def for_many_rows(spark: SparkSession) -> SparkSession:
    """The same session, but code is generated for long jobs.

    Java does not optimize a method of more than 8000 bytes: a hundred predicates in one would be interpreted for every
    row. Cut into small methods they are many times faster, though it takes some milliseconds to find out.
    """
    known: Any = spark
    made = SparkSession(spark.sparkContext, known._jsparkSession.cloneSession())
    made.conf.set("spark.sql.codegen.hugeMethodLimit", "8000")
    return made


def builder(master: str = "local[*]", name: str = "headgate") -> SparkSession.Builder:
    """A session's builder with the settings above; add your own before `getOrCreate`."""
    if master.startswith("local"):  # Python tasks here run in the Python that runs this, unless told otherwise
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    made = SparkSession.builder.master(master).appName(name)
    for side in ("driver", "executor"):
        made = made.config(f"spark.{side}.defaultJavaOptions", f"-D{_UNCHECKED}=false")
    for key, value in SETTINGS.items():
        made = made.config(key, value)
    return made
