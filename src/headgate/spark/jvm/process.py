"""The Java process that Spark runs in: whether it lives, and what PySpark must forget of one that has died."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession, SQLContext

from headgate.spark.jvm.gone import SparkGoneError

GRACE = 0.5  # seconds from a broken connection until the operating system knows that its process has ended
TIMEOUT = 1.0  # seconds for a connection to a Java that is not our child


class Java:
    """The process behind the SparkSession that is active when this is made.

    `ours` says whether the session started it, and so starts it again when it dies.
    """

    def __init__(self, *, ours: bool = False) -> None:
        context: Any = SparkContext
        self.ours = ours
        self._gateway: Any = context._gateway

    @property
    def dead(self) -> bool:
        """A child process is asked for at the operating system, any other at its port."""
        if self._gateway is None:  # it could not be started again
            return True
        child = self._child
        return self._refuses() if child is None else child.poll() is not None

    def blame(self, error: Exception) -> Exception:
        """`SparkGoneError` if Java has died, since then nothing else can be learnt from an error; else the error."""
        if isinstance(error, SparkGoneError):
            return error
        if self._child is not None and broken(error):
            with suppress(subprocess.TimeoutExpired):  # a connection ends a little before its process
                self._child.wait(GRACE)
        return self.gone() if self.dead else error

    def gone(self) -> SparkGoneError:
        """What is said of a Java that has died."""
        hint = "it is started again: try again in a moment" if self.ours else "open another session without `spark`"
        return SparkGoneError("Spark's Java process has died", hint=hint)

    @property
    def _child(self) -> subprocess.Popen[bytes] | None:
        # Not by getattr: what a gateway lacks is looked for in Java.
        found: subprocess.Popen[bytes] | None = None if self._gateway is None else vars(self._gateway).get("proc")
        return found

    def _refuses(self) -> bool:
        at = self._gateway.gateway_parameters
        try:
            socket.create_connection((at.address, at.port), TIMEOUT).close()
        except TimeoutError:
            return False  # it may only be busy
        except OSError:
            return True
        return False


def broken(error: BaseException) -> bool:
    """Whether an error, or one that it came of, says that Java did not answer."""
    kinds = (ConnectionError, EOFError, Py4JError)
    return any(isinstance(one, kinds) and not isinstance(one, Py4JJavaError) for one in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def forget_dead() -> None:
    """Let PySpark forget a Spark whose Java has died, so that the next one is started in a Java of its own.

    PySpark has one Java for the whole program, and never looks whether it lives: `stop` would ask it.
    """
    context: Any = SparkContext
    session: Any = SparkSession
    with context._lock:
        gateway, old = context._gateway, context._active_spark_context
        context._gateway = context._jvm = context._active_spark_context = None
        session._instantiatedSession = session._activeSession = None
        SQLContext._instantiatedContext = None
    if old is not None:
        old._jsc = None
        server: Any = getattr(old, "_accumulatorServer", None)
        old._accumulatorServer = None
        with suppress(Exception):  # each lets go of threads and sockets that nobody will write to
            server.shutdown()
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown_callback_server()
        with suppress(Exception):
            gateway.close()
        with suppress(Exception):
            gateway.proc.stdin.close()
