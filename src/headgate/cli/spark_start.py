"""Starting Spark for a command."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate import logs
from headgate.cli.background import Background
from headgate.cli.child_processes import end_children
from headgate.cli.console import note
from headgate.cli.signals import last_act

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 2.0  # seconds that a start which was interrupted gets to end
EXECUTORS = 20.0  # seconds within which a cluster should give one

_logger = logs.logger("cli")


def start_spark(master: str, log: Path) -> SparkSession:
    """Start Spark; its output and that of the JVM go to a log file."""
    return started(lambda: _start(master, log))


def started(start: Callable[[], SparkSession]) -> SparkSession:
    """What a function returns that starts Spark, unless a signal ends that.

    In another thread: in the main one PySpark would put its own answer to Ctrl-C in the place of ours.
    """
    starting = Background(start)
    with last_act(lambda: _give_up(starting)):
        try:
            return starting.result()
        except KeyboardInterrupt:
            _give_up(starting)
            raise


def _give_up(starting: Background[SparkSession]) -> None:
    """End Java even if it begins only now, and let PySpark notice it: it has a temporary folder to remove."""
    until = time.monotonic() + PATIENCE
    while not starting.ended(0.1) and time.monotonic() < until:
        end_children(PATIENCE)


def _start(master: str, log: Path) -> SparkSession:
    from headgate.spark.jvm.settings import start
    from headgate.spark.jvm.spark_logs import spark_log_to

    note("starting Spark …")
    began = time.monotonic()
    spark = start(master, log)
    spark_log_to(spark, log)
    _logger.info("spark started", master=master, seconds=time.monotonic() - began, log=log)
    if not master.startswith("local"):
        _note_missing_executors(spark, master)
    return spark


def _note_missing_executors(spark: SparkSession, master: str) -> None:
    """Print a note if a cluster grants no executor for a while: Spark would wait silently."""
    context: Any = spark.sparkContext
    until = time.monotonic() + EXECUTORS
    while context._jsc.sc().getExecutorMemoryStatus().size() < 2:  # the driver counts
        if time.monotonic() > until:
            memory = context.getConf().get("spark.executor.memory", "1g")
            note(
                f"no executor from {master} after {EXECUTORS:g} s, waiting on: it needs a worker with a free core and "
                f"{memory} of memory (spark.executor.memory, in spark-defaults.conf or PYSPARK_SUBMIT_ARGS)"
            )
            return
        time.sleep(0.1)
