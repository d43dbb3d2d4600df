"""A thread that looks at Spark every few seconds: whether it lives, has executors, and ends what was cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from headgate.logs import logger
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.jvm.errors import one_line
from headgate.spark.jvm.running_tasks import executors
from headgate.spark.machine.messages import SparkDied, SparkSeen

EVERY = 2.0  # seconds
_log = logger("spark")


class SparkWatcher:
    """Looks at the Spark of a job runner, and tells what it sees.

    Java is asked by one thread and the answers are awaited by another, so that a Java that does not answer is noticed.
    """

    def __init__(self, runner: JobRunner, tell: Callable[[SparkDied | SparkSeen], object]) -> None:
        self._runner, self._tell = runner, tell
        self._java = runner.java
        self._had_executors, self._last_executor = False, monotonic()
        self._closed = threading.Event()
        self._answered = threading.Event()
        self._asked = monotonic()
        self._threads = [
            threading.Thread(target=work, name=f"headgate-watch-{number}", daemon=True)
            for number, work in enumerate((self._look, self._wait))
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Look no more. A thread that waits for Java is left to itself."""
        self._closed.set()
        for thread in self._threads:
            thread.join(EVERY)

    def _look(self) -> None:
        while not self._closed.wait(EVERY):
            self._asked = monotonic()
            self._answered.clear()
            java, error = self._runner.java, ""
            try:
                seen = self._seen()
            except Exception as failed:  # Java has died, or is being started again
                error = one_line(failed)
            self._answered.set()
            if java.dead:
                self._tell(SparkDied(str(java.gone())))
            elif error:
                _log.warning("Spark could not be looked at", why=error)
            else:
                self._tell(seen)

    def _wait(self) -> None:
        while not self._closed.wait(EVERY):
            silent = monotonic() - self._asked
            if not self._answered.is_set() and silent > EVERY:
                self._tell(SparkSeen(silent=silent))

    def _seen(self) -> SparkSeen:
        self._runner.java.end_if_stopping()
        context, lingering = self._runner.context, tuple(self._runner.lingering())
        if str(context.master).startswith("local"):
            return SparkSeen(lingering, cores=context.defaultParallelism)
        now = monotonic()
        if self._java is not self._runner.java:
            self._java, self._had_executors, self._last_executor = self._runner.java, False, now
        if executors(context):
            self._had_executors, self._last_executor = True, now
        return SparkSeen(lingering, without_executors=now - self._last_executor, had_executors=self._had_executors)
