"""Running Spark jobs in a job group of their own: within a time limit, a second time if they fail, or cancelled."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.model import HeadgateError
from headgate.spark.jvm.errors import of_values
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.jvm.process import Java
from headgate.spark.machine.tasks import RunCancelledError

Value = TypeVar("Value")


class JobRunner:
    """Runs Spark jobs and counts them. Thread-safe."""

    def __init__(self, spark: SparkSession, limit: float, *, ours: bool = False) -> None:
        self.limit = limit
        self.jobs = 0  # Spark jobs run so far
        self.java = Java(ours=ours)
        self._counting = threading.Lock()
        self._context = spark.sparkContext
        self._own = uuid.uuid4().hex[:8]  # Spark may outlive us, and remembers which job groups were cancelled
        self._groups: set[str] = set()  # job groups under way
        self._cancelled = False

    def use(self, spark: SparkSession) -> None:
        """Use another Spark from now on."""
        self.java = Java(ours=self.java.ours)
        self._context = spark.sparkContext

    def run(self, group: str, description: str, evaluate: Callable[[], Value]) -> tuple[Value, int]:
        """The result and how many Spark jobs it took. After a failure that may be temporary, tries a second time.

        `SparkGoneError` if Spark has died.
        """
        result, jobs = self.call(lambda: self._run_with_retry(group, description, evaluate))
        with self._counting:
            self.jobs += jobs
        return result, jobs

    def own_group(self, group: str) -> str:
        """The name of a job group in Spark, which no other engine on the same Spark has."""
        return f"{group}-{self._own}"

    def cancel(self) -> None:
        """Cancel what runs, also jobs that are only being planned, and refuse what is still to come, for good."""
        self._cancelled = True
        context: Any = self._context
        for group in list(self._groups):
            with suppress(Py4JError):  # Spark has died: there is nothing to cancel
                context._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def call(self, call_spark: Callable[[], Value]) -> Value:
        """Call a function that uses Spark. `SparkGoneError` if Spark has died meanwhile, whatever error that caused."""
        java = self.java
        try:
            answer = call_spark()
        except Exception as error:
            if isinstance(blamed := java.blame(error), SparkGoneError):
                raise blamed from error
            raise
        if java is not self.java:  # Spark was restarted meanwhile, so the answer belongs to the dead one
            raise java.gone()
        return answer

    def _run_with_retry(self, group: str, description: str, evaluate: Callable[[], Value]) -> tuple[Value, int]:
        try:
            return self._run(group, description, evaluate)
        except Exception as error:
            if self._cancelled:
                raise RunCancelledError("the run was cancelled, as the engine closes") from error
            final = isinstance(self.java.blame(error), HeadgateError)
            if final or (isinstance(error, PySparkException) and of_values(error)):
                raise
            return self._run(group, description, evaluate)

    def _run(self, group: str, description: str, evaluate: Callable[[], Value]) -> tuple[Value, int]:
        context, group = self._context, self.own_group(group)
        self._groups.add(group)
        try:
            if self._cancelled:  # asked after the group is known: whoever cancels looks the other way round
                raise RunCancelledError("no run is begun, as the engine closes")
            context.setJobGroup(group, description, interruptOnCancel=True)
            result = self._limited(context, group, evaluate)
        finally:
            self._groups.discard(group)
        return result, len(context.statusTracker().getJobIdsForGroup(group))

    def _limited(self, context: SparkContext, group: str, evaluate: Callable[[], Value]) -> Value:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            with suppress(Py4JError):  # Spark has died: there is nothing to cancel
                context.cancelJobGroup(group)

        limit = threading.Timer(self.limit, expire)
        limit.start()
        try:
            return evaluate()
        except Exception:
            if expired.is_set():
                raise HeadgateError(
                    f"a run took longer than {self.limit:g} s and was cancelled", hint="choose smaller trains"
                ) from None
            raise
        finally:
            limit.cancel()
