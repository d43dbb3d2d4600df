"""Running Spark jobs in a job group of their own: within a time limit, a second time if they fail, or cancelled."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.model import HeadgateError
from headgate.spark.compile.rows_read import counting_rows
from headgate.spark.jvm.errors import of_values
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.jvm.process import Java
from headgate.spark.jvm.running_tasks import tasks_of_groups
from headgate.spark.machine.messages import Lingering
from headgate.spark.machine.tasks import RunCancelledError

Value = TypeVar("Value")


class Ran(NamedTuple):
    """What Spark did for a result."""

    jobs: int
    rows: int  # that the jobs read


class _Cancelled(NamedTuple):
    """A job group that was cancelled, and may go on nevertheless."""

    queries: tuple[str, ...]
    at: float


class JobRunner:
    """Runs Spark jobs and counts them. Thread-safe."""

    def __init__(self, spark: SparkSession, limit: float, *, ours: bool = False) -> None:
        self.limit = limit
        self.jobs = 0  # Spark jobs run so far
        self.java = Java(ours=ours)
        self._counting = threading.Lock()
        self._set_context(spark.sparkContext)
        self._own = uuid.uuid4().hex[:8]  # Spark may outlive us, and remembers which job groups were cancelled
        self._groups: dict[str, str] = {}  # job groups under way, with the run that each belongs to
        self._queries: dict[str, tuple[str, ...]] = {}  # those that the jobs of such a group are for
        self._lingering: dict[str, _Cancelled] = {}  # job groups that were cancelled, until nothing is left of them
        self._runs: dict[str, bool] = {}  # runs under way, and whether they were cancelled
        self._cancelled = False
        self._thread = threading.local()  # the pool that each thread has chosen

    def use(self, spark: SparkSession) -> None:
        """Use another Spark from now on."""
        self.java = Java(ours=self.java.ours)
        self._lingering.clear()
        self._set_context(spark.sparkContext)
        self._thread = threading.local()

    def _set_context(self, context: Any) -> None:
        self.context: SparkContext = context
        # Java's own: Python's gives a list, for which it asks the JVM twice for every job.
        self._tracker = context._jsc.statusTracker()

    @contextmanager
    def running(self, label: str, pool: str = "", limit: float | None = None) -> Iterator[None]:
        """A run under way, which may be cancelled by its label; its jobs get their tasks from that pool of Spark's.

        Each of its jobs may take so many seconds, if a `limit` is given.
        """
        self._runs[label] = False
        self._thread.limit = limit
        try:
            if getattr(self._thread, "pool", "") != pool:
                self.context.setLocalProperty("spark.scheduler.pool", pool or None)  # type: ignore[arg-type]
                self._thread.pool = pool
            yield
        finally:
            self._thread.limit = None
            self._runs.pop(label, None)  # those that join fragments have one label: they are never cancelled by it

    def run(
        self,
        group: str,
        description: str,
        evaluate: Callable[[], Value],
        label: str = "",
        queries: tuple[str, ...] = (),
    ) -> tuple[Value, Ran]:
        """The result and what Spark did for it. After a failure that may be temporary, tries a second time.

        `label` is that of the run which it belongs to, `queries` are those that it is for. `SparkGoneError` if Spark
        has died.
        """
        with counting_rows() as read, self._for_queries(group, queries):
            result, jobs = self.call(lambda: self._run_with_retry(group, description, evaluate, label))
        with self._counting:
            self.jobs += jobs
        return result, Ran(jobs, read.rows)

    def run_once(
        self,
        group: str,
        description: str,
        evaluate: Callable[[], object],
        label: str,
        limit: float,
        queries: tuple[str, ...] = (),
    ) -> None:
        """Run jobs that nobody counts, within a time limit of their own and without a second try."""
        with self._for_queries(group, queries):
            self.call(lambda: self._run(group, description, evaluate, label, min(limit, self.limit)))

    @contextmanager
    def _for_queries(self, group: str, queries: tuple[str, ...]) -> Iterator[None]:
        group = self.own_group(group)
        self._queries[group] = queries
        try:
            yield
        finally:
            self._queries.pop(group, None)

    def own_group(self, group: str) -> str:
        """The name of a job group in Spark, which no other engine on the same Spark has."""
        return f"{group}-{self._own}"

    def cancel(self) -> None:
        """Cancel what runs, also jobs that are only being planned, and refuse what is still to come, for good."""
        self._cancelled = True
        self._cancel(list(self._groups))

    def cancel_run(self, label: str) -> None:
        """Cancel what runs of one run, and refuse what is still to come of it; nothing, if it has ended already."""
        if label in self._runs:
            self._runs[label] = True
            self._cancel([group for group, own in list(self._groups.items()) if own == label])

    def _cancel(self, groups: Iterable[str]) -> None:
        context: Any = self.context
        for group in groups:
            self._note_cancelled(group)
            with suppress(Py4JError):  # Spark has died: there is nothing to cancel
                context._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def _note_cancelled(self, group: str) -> None:
        self._lingering.setdefault(group, _Cancelled(self._queries.get(group, ()), monotonic()))

    def lingering(self) -> list[Lingering]:
        """What was cancelled and goes on: Spark still plans a job for it, or does not end its tasks."""
        if not self._lingering:
            return []
        now, tasks = monotonic(), tasks_of_groups(self.context)
        found = []
        for group, (queries, at) in list(self._lingering.items()):
            planning = group in self._groups
            if planning or tasks[group]:
                found.append(Lingering(queries, now - at, tasks[group]))
            else:
                self._lingering.pop(group, None)
        return found

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

    def _run_with_retry(
        self, group: str, description: str, evaluate: Callable[[], Value], label: str
    ) -> tuple[Value, int]:
        try:
            return self._run(group, description, evaluate, label)
        except Exception as error:
            if self._is_cancelled(label):
                raise RunCancelledError("the run was cancelled") from error
            final = isinstance(self.java.blame(error), HeadgateError)
            if final or (isinstance(error, PySparkException) and of_values(error)):
                raise
            return self._run(group, description, evaluate, label)

    def _is_cancelled(self, label: str) -> bool:
        return self._cancelled or self._runs.get(label, False)

    def _run(
        self,
        group: str,
        description: str,
        evaluate: Callable[[], Value],
        label: str,
        limit: float | None = None,
    ) -> tuple[Value, int]:
        context, group = self.context, self.own_group(group)
        self._groups[group] = label
        try:
            if self._is_cancelled(label):  # asked after the group is known: whoever cancels looks the other way round
                raise RunCancelledError("the run was cancelled before it began")
            context.setJobGroup(group, description, interruptOnCancel=True)
            own_limit = limit or getattr(self._thread, "limit", None)
            result = self._limited(context, group, evaluate, min(own_limit or self.limit, self.limit))
        finally:
            self._groups.pop(group, None)
        return result, len(self._tracker.getJobIdsForGroup(group))

    def _limited(self, context: SparkContext, group: str, evaluate: Callable[[], Value], seconds: float) -> Value:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._note_cancelled(group)
            with suppress(Py4JError):  # Spark has died: there is nothing to cancel
                context.cancelJobGroup(group)

        limit = threading.Timer(seconds, expire)
        limit.start()
        try:
            return evaluate()
        except Exception:
            if expired.is_set():
                raise HeadgateError(
                    f"a run took longer than {seconds:g} s and was cancelled", hint="choose smaller trains"
                ) from None
            raise
        finally:
            limit.cancel()
