"""Who takes Spark's place in the simulation, and the settings that make rare things happen often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast
from unittest.mock import patch

from pyspark.sql.types import DataType, LongType, TimestampType
from tests.spark.chaos.plain import prepare_query

from headgate.model import Choice, Idle, WorkerId
from headgate.policies import registry
from headgate.policies.baseline.fcfs import FirstComeFirstServed
from headgate.policies.contract import View
from headgate.spark.compile.prepared_query import Result
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.execution.fused_jobs import FusedJobs
from headgate.spark.execution.job_runner import Ran
from headgate.spark.execution.query_run import QueryRun
from headgate.spark.machine.tasks import RunCancelledError

TYPES: Mapping[str, DataType] = {"bigint": LongType(), "timestamp": TimestampType()}
RAISES = "raises after a while"


class NoJava:
    """What the engine asks of Spark's process; that it is gone is told by whoever plays it."""

    dead = False

    def blame(self, error: Exception) -> Exception:
        return error


class Jobs:
    """Runs prepared_queries here, one job each; `fault` may raise."""

    def __init__(self, fault: Callable[[], None]) -> None:
        self._fault = fault
        self.java = NoJava()
        self._cancelled = False
        self._cancelled_runs: set[str] = set()
        self.gave_way = 0  # runs, so far

    def cancel(self) -> None:
        self._cancelled = True

    def cancel_run(self, label: str) -> None:
        """Here a run takes no time: it is cancelled if it has not begun."""
        self._cancelled_runs.add(label)

    @contextmanager
    def running(self, label: str, pool: str = "", limit: float | None = None) -> Iterator[None]:
        del pool, limit
        if label in self._cancelled_runs:
            self.gave_way += 1
            raise RunCancelledError("something more important came")
        yield

    def run(
        self,
        group: str,
        description: str,
        evaluate: Callable[[], Any],
        label: str = "",
        queries: tuple[str, ...] = (),
    ) -> tuple[Any, Ran]:
        del group, description, label, queries
        if self._cancelled:
            raise RunCancelledError("the engine closes")
        self._fault()
        return evaluate(), Ran(1, 0)


class Singles(FusedJobs):
    """Groups are run one by one: a job for several queries is Spark's own."""

    def _results(self, shares: Sequence[QueryRun]) -> list[Result] | None:
        del shares
        return None


class PlainEvaluator(SparkEvaluator):
    """The engine's evaluator, on lists of rows."""

    def __init__(self, jobs: Jobs, logs: Any, streams: Any, directory: Any, followers: Any, now: Any) -> None:
        no_spark, runner = cast(Any, None), cast(Any, jobs)
        super().__init__(no_spark, runner, logs, streams, {}, directory.waiting, directory.aside, followers, now)

    def use(self, spark: Any) -> None:
        self.spark, self._known_forms, self._program = spark, cast(Any, None), spark
        self._fused_jobs = Singles(self.runner, self._logs, self._aside, self._now, panes=False)


class _Raises(FirstComeFirstServed):
    """A policy that fails after a few decisions."""

    name = RAISES
    calls = 0

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        self.calls += 1
        if self.calls > 4:
            raise RuntimeError("this policy has had enough")
        return super().choose(view, worker)


def _cancel_always(guard: object, best: float, own: float, left: float, spent: float) -> float:
    """Every run is worth cancelling: by the cost model hardly any would be, as nothing takes time here."""
    del guard, best, own, left, spent
    return 1.0


@contextmanager
def in_place() -> Iterator[None]:
    """Run without Spark, with small files, short logs and frequent retention."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(registry._POLICIES, {**registry.policies(), RAISES: _Raises}))
        for target, value in (
            ("headgate.spark.compile.schemas._read", TYPES.__getitem__),
            ("headgate.spark.compile.fragments.prepare_query", prepare_query),
            ("headgate.spark.execution.evaluator.prepare_query", prepare_query),
            ("headgate.core.class_guard.ClassGuard._gain", _cancel_always),
            ("headgate.spark.machine.maintenance.EVERY", 4),
            ("headgate.spark.sinks.files.FAN", 3),
            ("headgate.spark.store.log.stream_log.SEAL_APPENDS", 3),
        ):
            stack.enter_context(patch(target, value))
        yield
