"""Settings of a Spark session that runs many small jobs, and its start."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headgate.model import HeadgateError
from headgate.spark.jvm.errors import first_line

LOG_SIZE = 5_000_000  # bytes of Spark's log; as many are kept of what was before

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


def start(master: str, log: Path, name: str = "headgate") -> SparkSession:
    """Start a Spark of our own; what its Java prints goes to the end of a file, not to stderr.

    That is what Java says where Spark's log is not there to say it: while Spark starts, and when Java dies.
    """
    made = builder(master, name)
    try:
        began = _begin(log)
    except OSError as error:
        raise HeadgateError(
            f"Spark's log cannot be written: {error.strerror}", where=str(log), hint="choose another directory"
        ) from error
    try:
        _start_java(made, log)
        return made.getOrCreate()
    except Exception as error:
        reason = (isinstance(error, PySparkRuntimeError) and _complaint(log, began)) or first_line(error)
        hint = f"look at the master and whether Java is there; all that Spark said is in {log}"
        raise HeadgateError(f"Spark did not start: {reason}", where=f"master {master}", hint=hint) from error


def _begin(log: Path) -> int:
    """Make room in the log; where in it the new lines begin."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_SIZE:
        log.replace(f"{log}.1")
    log.touch()
    return log.stat().st_size


def _start_java(made: Any, log: Path) -> None:
    """Start the Java that PySpark talks to, unless there is one: PySpark would let it share our stderr."""
    context: Any = SparkContext
    if context._gateway is None:
        conf = SparkConf(loadDefaults=False).setAll([(key, str(value)) for key, value in made._options.items()])
        with log.open("ab") as file:
            context._ensure_initialized(gateway=launch_gateway(conf, {"stderr": file}))  # type: ignore[no-untyped-call]


def _complaint(log: Path, began: int) -> str:
    """Why Java did not start, of which PySpark knows only that: the first line that looks like it, else the last."""
    with log.open("rb") as file:
        file.seek(began)
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    telling = (line for line in lines if re.search("error|exception|unrecognized|no such|not set", line, re.IGNORECASE))
    return next(telling, lines[-1] if lines else "")
