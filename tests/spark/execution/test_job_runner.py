"""Jobs that are cancelled because the engine closes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.machine.tasks import RunCancelledError

PATIENCE = 60.0


def test_a_job_is_cancelled_and_no_other_begins(spark: SparkSession) -> None:
    runner = JobRunner(spark, limit=PATIENCE)
    endless = spark.range(10**15).selectExpr("sum(id % 7)")
    tracker = spark.sparkContext.statusTracker()
    with ThreadPoolExecutor(1) as thread:
        run = thread.submit(runner.run, "endless", "an endless job", endless.collect)
        end = time.monotonic() + PATIENCE
        while not tracker.getActiveJobsIds():
            assert time.monotonic() < end
            time.sleep(0.02)
        runner.cancel()
        with pytest.raises(RunCancelledError):
            run.result(PATIENCE)
        with pytest.raises(RunCancelledError):  # in a thread of its own: a job group belongs to its thread
            thread.submit(runner.run, "other", "another job", spark.range(1).collect).result(PATIENCE)
    assert runner.jobs == 0
    again = JobRunner(spark, limit=PATIENCE)
    assert again.run("endless", "of the next engine on the same Spark", spark.range(2).collect)[1].jobs == 1


def test_what_was_cancelled_is_evaluated_under_another_label(spark: SparkSession) -> None:
    """Spark refuses a cancelled job group for good, so a step that came too late to give way needs a new one."""
    runner = JobRunner(spark, limit=PATIENCE)

    def cancelled_meanwhile() -> object:
        runner.cancel_run("7")
        return spark.range(3).collect()

    def both() -> int:
        with runner.running("7"), pytest.raises(RunCancelledError):
            runner.run("headgate-7-q", "a run that gives way", cancelled_meanwhile, "7")
        with runner.running("7"), pytest.raises(Py4JError, match="cancelled"):
            runner.run("headgate-7-q", "the same again", spark.range(3).collect, "7")
        with runner.running("7-again"):
            return len(runner.run("headgate-7-again-q", "once more", spark.range(3).collect, "7-again")[0])

    with ThreadPoolExecutor(1) as thread:  # of its own: a job group belongs to its thread
        assert thread.submit(both).result(PATIENCE) == 3
