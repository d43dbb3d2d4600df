"""The Java process in which Spark runs: finds out whether it has died, and makes PySpark forget a dead one."""

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

GRACE = 0.5  # seconds between a broken connection and the moment when the operating system reports the process's end
KILLED = 10.0  # seconds that the operating system may take to end a killed process
TIMEOUT = 1.0  # seconds to connect to a Java process that is not our child


class Java:
    """The Java process of the SparkSession that is active when the object is created.

    `ours` says whether our session has started it, and will start it again when it dies.
    """

    def __init__(self, *, ours: bool = False) -> None:
        context: Any = SparkContext
        self.ours = ours
        self._gateway: Any = context._gateway

    @property
    def dead(self) -> bool:
        """Whether it has died: a child process is asked for its exit code, any other is tried at its port."""
        if self._gateway is None:  # it could not be started again
            return True
        child = self._child
        return self._refuses() if child is None else child.poll() is not None

    def blame(self, error: Exception) -> Exception:
        """A `SparkGoneError` if Java has died, since then that is the reason of any error; else the error itself."""
        if isinstance(error, SparkGoneError):
            return error
        if self._child is not None and broken(error):
            with suppress(subprocess.TimeoutExpired):  # a connection breaks a little before its process ends
                self._child.wait(GRACE)
        self.end_if_stopping()
        return self.gone() if self.dead else error

    def gone(self) -> SparkGoneError:
        """The error for this process, if it has died."""
        hint = "it is started again: try again in a moment" if self.ours else "open another session without `spark`"
        return SparkGoneError("Spark's Java process has died", hint=hint)

    def end_if_stopping(self) -> None:
        """End a process of ours that is about to end, as after a fatal error, or whose Spark has stopped.

        It may take long, removes files that runs use, and answers with errors that say nothing of the reason.
        """
        if not self.ours or self.dead:
            return
        context: Any = SparkContext
        active = context._active_spark_context
        with suppress(Py4JError, OSError):
            manager = self._gateway.jvm.org.apache.spark.util.ShutdownHookManager
            if manager.inShutdown() or (active is not None and active._jsc.sc().isStopped()):
                self.kill()

    def kill(self) -> None:
        """End it at once, if this program has started it; whoever calls it gets an error."""
        if self._child is not None:
            self._child.kill()
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(KILLED)

    @property
    def _child(self) -> subprocess.Popen[bytes] | None:
        # Not by getattr: for an attribute that a gateway does not have, Py4J would ask Java.
        process: subprocess.Popen[bytes] | None = None if self._gateway is None else vars(self._gateway).get("proc")
        return process

    def _refuses(self) -> bool:
        parameters = self._gateway.gateway_parameters
        try:
            socket.create_connection((parameters.address, parameters.port), TIMEOUT).close()
        except TimeoutError:
            return False  # it may only be busy
        except OSError:
            return True
        return False


def broken(error: BaseException) -> bool:
    """Whether an error or one of its causes says that Java did not answer."""
    kinds = (ConnectionError, EOFError, Py4JError)
    return any(isinstance(cause, kinds) and not isinstance(cause, Py4JJavaError) for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, its cause, the cause of that, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def forget_dead() -> None:
    """Make PySpark forget a Spark whose Java process has died, so that the next session starts a new process.

    PySpark has one Java process for the whole program and never checks whether it lives; `stop` would try to call it.
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
        with suppress(Exception):  # this and the following release threads and sockets that nobody uses any more
            server.shutdown()
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown_callback_server()
        with suppress(Exception):
            gateway.close()
        with suppress(Exception):
            gateway.proc.stdin.close()
