"""Keeps Spark and PySpark from printing errors of our queries to stderr.

What went wrong is in the status of the query and in dead letters. If we have started Spark, its log goes to a file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j import java_gateway  # type: ignore[import-untyped]
from py4j.clientserver import FinalizerWorker  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from headgate.spark.jvm.settings import LOG_SIZE

THREADS = "headgate-"  # the names of our threads begin with this
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")  # log each error with its stack as a line of JSON
_FAILING_TASKS = (  # loggers of tasks that fail
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
)
_PATTERN = "%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %p %c{1}: %m%n%ex"
_ours = threading.local()


def _is_ours() -> bool:
    """Whether this thread calls Spark for us, and not for the program that uses us."""
    return bool(getattr(_ours, "depth", 0)) or in_own_thread()


def in_own_thread() -> bool:
    """Whether this is a thread of the engine, in which callbacks and other user code run, too."""
    return threading.current_thread().name.startswith(THREADS)


class _NotOurs(logging.Filter):
    """Leaves out what PySpark logs of our own jobs; what the program does with Spark itself is logged as usual."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours()


_NOT_OURS = _NotOurs()


class _Logging:
    """Stands for the module `logging` in Py4J: in our threads it does not log that a connection to Java broke.

    Py4J logs that by functions of the module, which would print to stderr and configure the program's logging. It is
    also silent in Py4J's thread that tells Java which objects are no longer used, as nobody waits for an answer there.
    """

    def __getattr__(self, name: str) -> Any:
        silent = name in ("info", "exception") and (_is_ours() or _is_clearing_up())
        return _nothing if silent else getattr(logging, name)


def _is_clearing_up() -> bool:
    """Whether this is Py4J's thread that releases Java objects which Python no longer uses."""
    return isinstance(threading.current_thread(), FinalizerWorker)


def _nothing(*arguments: object, **options: object) -> None:
    """A logging function that does nothing."""


def quiet_python() -> None:
    """Stop PySpark's Python side from logging errors of our own calls."""
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_NOT_OURS)  # the same filter twice counts once
    java_gateway.logging = _Logging()


@contextmanager
def quietly() -> Iterator[None]:
    """What this thread calls meanwhile counts as our own calls, whose errors are not logged."""
    _ours.depth = getattr(_ours, "depth", 0) + 1
    try:
        yield
    finally:
        _ours.depth -= 1


def spark_log_to(spark: SparkSession, path: Path) -> Callable[[], None]:
    """Write the log of a Spark that we have started, warnings and errors, to a file and no longer to stderr.

    At 5 MB the file is renamed to end in ".1" and a new one begins. The returned function undoes all this; call it when
    our Spark has stopped, as the program may start its own Spark in the same Java process.
    """
    log4j = _log4j(spark)
    context = log4j.LogManager.getContext(False)
    configuration = context.getConfiguration()
    root = configuration.getRootLogger()
    level = root.getLevel()
    replaced = [appender for appender in root.getAppenders().values() if _is_replaced(appender)]
    file = _rolling_file(log4j.core, configuration, str(path.absolute()))
    file.start()
    _exchange(root, replaced, [file])
    root.setLevel(log4j.Level.WARN)
    _silence_failing_tasks(log4j)  # this also makes the loggers apply the changes above

    def undo() -> None:
        with suppress(Py4JError, OSError):  # a Java process that has died logs nothing
            _exchange(root, [file], replaced)
            root.setLevel(level)
            for name in _FAILING_TASKS:
                configuration.removeLogger(name)
            context.updateLoggers()
            file.stop()

    return undo


def quiet_end(spark: SparkSession) -> None:
    """Stop PySpark from printing a stack trace when Java dies: whoever calls Spark then gets an error anyway."""
    context: Any = spark.sparkContext
    context._accumulatorServer.handle_error = lambda request, address: None


def _exchange(logger: Any, old: Iterable[Any], new: Iterable[Any]) -> None:
    for appender in new:
        logger.addAppender(appender, None, None)
    for appender in old:
        logger.removeAppender(appender.getName())


def _log4j(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.logging.log4j


def _silence_failing_tasks(log4j: Any) -> None:
    for name in _FAILING_TASKS:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)


def _is_replaced(appender: Any) -> bool:
    """Only the console is replaced; other appenders of a log4j2.properties stay."""
    return bool(appender.getClass().getSimpleName() == "ConsoleAppender")


def _rolling_file(core: Any, configuration: Any, path: str) -> Any:
    rolling = core.appender.rolling
    layout = core.layout.PatternLayout.newBuilder().withPattern(_PATTERN).withConfiguration(configuration).build()
    strategy = rolling.DefaultRolloverStrategy.newBuilder().withMax("1").withConfig(configuration).build()
    builder = core.appender.RollingFileAppender.newBuilder()
    builder.setName(f"headgate {path}")
    builder.setConfiguration(configuration)
    builder.setLayout(layout)
    builder.withFileName(path)
    builder.withFilePattern(f"{path}.%i")
    builder.withPolicy(rolling.SizeBasedTriggeringPolicy.createPolicy(str(LOG_SIZE)))
    builder.withStrategy(strategy)
    return builder.build()
