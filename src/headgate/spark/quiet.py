"""Failing runs say what is wrong in their query's status and in dead letters, not on the program's stderr."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

THREADS = "headgate-"  # how the names of our threads begin
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")  # each error, with its stack, as a line of JSON
_FAILING_TASKS = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
)
_ours = threading.local()


class _NotOurs(logging.Filter):
    """Leaves out what PySpark logs of our own jobs; what a program does with Spark beside us is logged as ever."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_ours, "depth", 0) and not threading.current_thread().name.startswith(THREADS)


_NOT_OURS = _NotOurs()


def quiet_python() -> None:
    """Let PySpark's Python side be silent about what we ask of it."""
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_NOT_OURS)  # the same filter twice counts once


@contextmanager
def quietly() -> Iterator[None]:
    """What this thread asks of Spark meanwhile is ours."""
    _ours.depth = getattr(_ours, "depth", 0) + 1
    try:
        yield
    finally:
        _ours.depth -= 1


def quiet_spark(spark: SparkSession) -> None:
    """Let a Spark that is ours alone log what is wrong with itself, and not the tasks that fail on some value."""
    spark.sparkContext.setLogLevel("ERROR")
    jvm: Any = spark._jvm
    log4j = jvm.org.apache.logging.log4j
    for name in _FAILING_TASKS:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)
