"""One evaluation as Spark jobs: in a job group of its own, within a time limit, tried twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headgate.model import HeadgateError
from headgate.spark.jobs.problems import of_values

Made = TypeVar("Made")


class Runner:
    """Runs evaluations; several threads may."""

    def __init__(self, spark: SparkSession, limit: float) -> None:
        self.limit = limit
        self.jobs = 0  # that Spark has run so far
        self._counting = threading.Lock()
        self._context = spark.sparkContext

    def use(self, spark: SparkSession) -> None:
        """Run on another Spark from now on."""
        self._context = spark.sparkContext

    def run(self, group: str, description: str, evaluate: Callable[[], Made]) -> tuple[Made, int]:
        """The result and how many Spark jobs it took. A failure that may pass is tried once more."""
        self._context.setJobGroup(group, description, interruptOnCancel=True)
        try:
            result = self._limited(group, evaluate)
        except Exception as error:
            if isinstance(error, HeadgateError) or (isinstance(error, PySparkException) and of_values(error)):
                raise
            result = self._limited(group, evaluate)
        jobs = len(self._context.statusTracker().getJobIdsForGroup(group))
        with self._counting:
            self.jobs += jobs
        return result, jobs

    def _limited(self, group: str, evaluate: Callable[[], Made]) -> Made:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._context.cancelJobGroup(group)

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
