"""One evaluation as Spark jobs: in a job group of its own, within a time limit, tried twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.sql import SparkSession

from headgate.model import HeadgateError
from headgate.spark.jobs.evaluate import Result


class Runner:
    """Runs evaluations; several threads may."""

    def __init__(self, spark: SparkSession, limit: float) -> None:
        self.limit = limit
        self._context = spark.sparkContext

    def run(self, group: str, description: str, evaluate: Callable[[], Result]) -> tuple[Result, int]:
        """The result and how many Spark jobs it took. A failure that is not ours is tried once more."""
        self._context.setJobGroup(group, description, interruptOnCancel=True)
        try:
            result = self._limited(group, evaluate)
        except HeadgateError:
            raise
        except Exception:
            result = self._limited(group, evaluate)
        return result, len(self._context.statusTracker().getJobIdsForGroup(group))

    def _limited(self, group: str, evaluate: Callable[[], Result]) -> Result:
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
