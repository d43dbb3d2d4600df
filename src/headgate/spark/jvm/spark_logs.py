"""Failing runs say what is wrong in their query's status and in dead letters, not on the program's stderr.

Spark's own log goes to a file, if Spark is ours.
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

THREADS = "headgate-"  # how the names of our threads begin
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")  # each error, with its stack, as a line of JSON
_FAILING_TASKS = (
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.util.Utils",
)
_PATTERN = "%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %p %c{1}: %m%n%ex"
_ours = threading.local()


def _is_ours() -> bool:
    """Whether this thread asks something of Spark for us."""
    return bool(getattr(_ours, "depth", 0)) or threading.current_thread().name.startswith(THREADS)


class _NotOurs(logging.Filter):
    """Leaves out what PySpark logs of our own jobs; what a program does with Spark beside us is logged as ever."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _is_ours()


_NOT_OURS = _NotOurs()


class _Logging:
    """The module `logging` as Py4J sees it: of a connection to Java that broke it says nothing in our threads.

    It would log that by the module's own functions, which print to stderr and configure the program's logging. Nor
    does it in its thread that tells Java which objects are no longer used: nobody waits for an answer there.
    """

    def __getattr__(self, name: str) -> Any:
        silent = name in ("info", "exception") and (_is_ours() or _is_clearing_up())
        return _nothing if silent else getattr(logging, name)


def _is_clearing_up() -> bool:
    """Whether this is Py4J's thread for objects that Python has let go of."""
    return isinstance(threading.current_thread(), FinalizerWorker)


def _nothing(*said: object, **more: object) -> None:
    """What is logged so is not logged."""


def quiet_python() -> None:
    """Let PySpark's Python side be silent about what we ask of it."""
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_NOT_OURS)  # the same filter twice counts once
    java_gateway.logging = _Logging()


@contextmanager
def quietly() -> Iterator[None]:
    """What this thread asks of Spark meanwhile is ours."""
    _ours.depth = getattr(_ours, "depth", 0) + 1
    try:
        yield
    finally:
        _ours.depth -= 1


def spark_log_to(spark: SparkSession, path: Path) -> Callable[[], None]:
    """Let a Spark that is ours alone write its log, warnings and worse, to a file and no longer to stderr.

    At 5 MB the file is renamed to end in ".1", in place of the one that was renamed before, and a new one begins.
    The function that is returned undoes all this, for a program that goes on with a Spark of its own in the same Java:
    call it when ours has stopped.
    """
    log4j = _log4j(spark)
    context = log4j.LogManager.getContext(False)
    configuration = context.getConfiguration()
    root = configuration.getRootLogger()
    level = root.getLevel()
    replaced = [each for each in root.getAppenders().values() if _is_replaced(each)]
    file = _rolling_file(log4j.core, configuration, str(path.absolute()))
    file.start()
    _exchange(root, replaced, [file])
    root.setLevel(log4j.Level.WARN)
    _pass_over_failing_tasks(log4j)  # this also makes the loggers take the changes before

    def undo() -> None:
        with suppress(Py4JError, OSError):  # a Java that is gone logs nothing
            _exchange(root, [file], replaced)
            root.setLevel(level)
            for name in _FAILING_TASKS:
                configuration.removeLogger(name)
            context.updateLoggers()
            file.stop()

    return undo


def quiet_end(spark: SparkSession) -> None:
    """Let PySpark not print a stack when Java dies: who asks something of Spark then is told."""
    context: Any = spark.sparkContext
    context._accumulatorServer.handle_error = lambda request, address: None


def _exchange(logger: Any, former: Iterable[Any], following: Iterable[Any]) -> None:
    for each in following:
        logger.addAppender(each, None, None)
    for each in former:
        logger.removeAppender(each.getName())


def _log4j(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.logging.log4j


def _pass_over_failing_tasks(log4j: Any) -> None:
    for name in _FAILING_TASKS:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)


def _is_replaced(appender: Any) -> bool:
    """The console only; what else a log4j2.properties asks for stays."""
    return bool(appender.getClass().getSimpleName() == "ConsoleAppender")


def _rolling_file(core: Any, configuration: Any, path: str) -> Any:
    rolling = core.appender.rolling
    layout = core.layout.PatternLayout.newBuilder().withPattern(_PATTERN).withConfiguration(configuration).build()
    strategy = rolling.DefaultRolloverStrategy.newBuilder().withMax("1").withConfig(configuration).build()
    made = core.appender.RollingFileAppender.newBuilder()
    made.setName(f"headgate {path}")
    made.setConfiguration(configuration)
    made.setLayout(layout)
    made.withFileName(path)
    made.withFilePattern(f"{path}.%i")
    made.withPolicy(rolling.SizeBasedTriggeringPolicy.createPolicy(str(LOG_SIZE)))
    made.withStrategy(strategy)
    return made.build()
