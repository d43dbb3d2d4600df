"""The settings of a Spark session that runs many small jobs, and how it is started."""

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
from headgate.spark.jvm.prerequisites import check_java, check_master

LOG_SIZE = 5_000_000  # bytes of Spark's log before it is renamed to end in .1 and a new one begins

SETTINGS = MappingProxyType(
    {
        # Otherwise Spark would filter a small Arrow table on the driver while it plans, and start no job.
        "spark.sql.execution.arrow.localRelationThreshold": "0",
        # Adaptive execution costs more than it saves in jobs of a few thousand rows.
        "spark.sql.adaptive.enabled": "false",
        # One task behind a shuffle, however large, leaves the other cores to more important jobs.
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.optimizer.singleTaskExecution.enabled": "true",
        # The default cache of 100 is too small for hundreds of queries, each with its own generated code.
        "spark.sql.codegen.cache.maxEntries": "4000",
        # Spark writes the text of the plan for every execution, even without the UI: keep it short.
        "spark.sql.ui.explainMode": "simple",
        # A driver that runs for weeks must not keep every job in memory.
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "500",
        "spark.sql.ui.retainedExecutions": "10",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Sealed log segments are given one by one, and Spark must not start a job to list them.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        # Timestamps as Arrow has them: INT96, Spark's default, is read as nanoseconds.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.python.unix.domain.socket.enabled": "true",
        # '${env:HOME}' in a query stays a text and is not replaced by the variable's value.
        "spark.sql.variable.substitute": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.variant.writeShredding.enabled": "false",  # files have variants as they are collected
        "spark.sql.ansi.enabled": "true",
        # Tasks of the highest class go before those of others, whichever job was first.
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": Path(__file__).with_name("pools.xml").as_uri(),
        # An executor whose task goes on after it was cancelled is ended, and replaced; with a local master Headgate
        # starts Java again (machine.spark_watch).
        "spark.task.reaper.enabled": "true",
        "spark.task.reaper.killTimeout": "60s",
        "spark.task.reaper.threadDump": "false",
    }
)


# Java may use all its memory from the start, and large Arrow buffers are no special case: else it collects garbage five
# times as often while results come by the hundred thousand, and everyone waits meanwhile.
_REGIONS = "-XX:G1HeapRegionSize=16m"

# Spark's code for lambdas reads an element of an array before it checks whether it is null, and Arrow refuses that.
_UNCHECKED = "arrow.enable_null_check_for_get"


def allow_null_elements(spark: SparkSession) -> None:
    """Let lambdas work on arrays with null elements; Arrow reads this property once, when it is first used in Java."""
    jvm: Any = spark._jvm
    jvm.java.lang.System.setProperty(_UNCHECKED, "false")


@cache
def own_session(spark: SparkSession) -> SparkSession:
    """The session in which queries run, beside the program's; the same one for every call.

    Nothing of the program's session changes, and nothing that is set there changes results: a directory gives the same
    ones, whoever opens it. Only what says how files and catalogs are reached is taken over. Tables by name are looked
    up in the program's session, and results are written to tables there: that is where their names are known.
    """
    own = spark.newSession()
    for key, value in spark.conf.getAll.items():
        if key.startswith("spark.sql.catalog.") or not key.startswith("spark."):
            own.conf.set(key, value)
    for key, value in SETTINGS.items():
        if own.conf.isModifiable(key):
            own.conf.set(key, value)
    return own


@cache
def for_many_rows(spark: SparkSession) -> SparkSession:
    """A clone of the session whose generated code suits long jobs.

    Java does not compile a method of more than 8000 bytes, so a hundred predicates in one method would be interpreted
    for every row. With this limit Spark does not put them into one method, which is many times faster for many rows,
    but takes some milliseconds more to plan.
    """
    original: Any = spark
    clone = SparkSession(spark.sparkContext, original._jsparkSession.cloneSession())
    clone.conf.set("spark.sql.codegen.hugeMethodLimit", "8000")
    return clone


def driver_memory() -> int:
    """MiB for the driver: a quarter of the machine's memory, from 1 to 4 GiB.

    Spark's default is 1 GiB. With `local` the tasks share it, and hundreds of thousands of results at a time made Java
    collect garbage most of the time.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return min(max(machine // 4, 1024), 4096)


def builder(master: str = "local[*]", name: str = "headgate") -> SparkSession.Builder:
    """A session's builder with the settings above; add your own before `getOrCreate`."""
    if master.startswith("local"):  # Python tasks use the Python of this program, unless the variable is set
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session_builder = SparkSession.builder.master(master).appName(name)
    options = dict.fromkeys(("driver", "executor"), f"-D{_UNCHECKED}=false")
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        session_builder = session_builder.config("spark.driver.memory", f"{driver_memory()}m")
        options["driver"] += f" -Xms{driver_memory()}m {_REGIONS}"
    for side, text in options.items():
        session_builder = session_builder.config(f"spark.{side}.defaultJavaOptions", text)
    for key, value in SETTINGS.items():
        session_builder = session_builder.config(key, value)
    return session_builder


def start(master: str, log: Path, name: str = "headgate") -> SparkSession:
    """Start our own Spark; what its Java process prints is appended to a file and does not go to stdout or stderr.

    Java prints while Spark starts and when Java dies, when Spark's own log is not available.
    """
    if SparkContext._gateway is None:
        check_java()
    check_master(master)
    session_builder = builder(master, name)
    try:
        began = _prepare_log(log)
    except OSError as error:
        raise HeadgateError(
            f"Spark's log cannot be written: {error.strerror}", where=str(log), hint="choose another directory"
        ) from error
    try:
        _start_java(session_builder, log)
        return session_builder.getOrCreate()
    except Exception as error:
        reason = (isinstance(error, PySparkRuntimeError) and _error_in_log(log, began)) or first_line(error)
        hint = f"look at the master and whether Java is there; all that Spark said is in {log}"
        raise HeadgateError(f"Spark did not start: {reason}", where=f"master {master}", hint=hint) from error


def _prepare_log(log: Path) -> int:
    """Begin a new log if the old one is full; gives the size, at which new lines begin."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_SIZE:
        log.replace(f"{log}.1")
    log.touch()
    return log.stat().st_size


def _start_java(session_builder: Any, log: Path) -> None:
    """Start the Java process unless there is one; if PySpark started it, it would print to our stdout and stderr."""
    context: Any = SparkContext
    if context._gateway is None:
        options = [(key, str(value)) for key, value in session_builder._options.items()]
        conf = SparkConf(loadDefaults=False).setAll(options)
        with log.open("ab") as file:
            context._ensure_initialized(gateway=launch_gateway(conf, {"stdout": file, "stderr": file}))  # type: ignore[no-untyped-call]


def _error_in_log(log: Path, began: int) -> str:
    """Why Java did not start, which PySpark does not know: the last line that Java printed as an error, if it did."""
    with log.open("rb") as file:
        file.seek(began)
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return next(filter(_says_why, reversed(lines)), "Java ended while it was starting, and said nothing")


def _says_why(line: str) -> bool:
    """Whether a line that Java printed while it started may be the reason why it ended.

    >>> _says_why("Unrecognized VM option 'NoSuch'"), _says_why("WARNING: Using incubator modules, no such thing")
    (True, False)
    >>> _says_why("Error: A fatal exception has occurred. Program will exit.")  # says that, but not why
    False
    """
    said = re.search("error|exception|unrecognized|no such|not set", line, re.IGNORECASE)
    return bool(said) and not re.match(r"WARNING:|at |Error: (Could not create|A fatal exception)", line)
