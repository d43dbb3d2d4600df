"""Jobs that are cancelled because the engine closes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from headgate.model import HeadgateError
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.jvm.running_tasks import tasks_of_groups
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


def test_a_cancelled_task_that_goes_on_is_told_with_its_queries_until_it_ends(spark: SparkSession) -> None:
    """Spark's task looks whether it is to end only between two rows, and this one has a single value to compute."""
    slow = "size(array_distinct(transform(sequence(1, 9000), x -> array(x + id)))) AS n"
    runner = JobRunner(spark, limit=PATIENCE)
    with ThreadPoolExecutor(1) as thread:

        def run() -> None:
            with runner.running("7"):
                runner.run("headgate-7-slow", "a slow value", spark.range(1).selectExpr(slow).collect, "7", ("slow",))

        future = thread.submit(run)
        end = time.monotonic() + PATIENCE
        while not tasks_of_groups(spark.sparkContext)[runner.own_group("headgate-7-slow")]:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert runner.lingering() == []
        runner.cancel_run("7")
        with pytest.raises(RunCancelledError):
            future.result(PATIENCE)
        (lingering,) = runner.lingering()
        assert (lingering.queries, lingering.tasks) == (("slow",), 1)
        while runner.lingering():
            assert time.monotonic() < end
            time.sleep(0.1)


def test_planning_that_goes_on_after_it_was_cancelled_is_told(spark: SparkSession) -> None:
    runner, planning, planned = JobRunner(spark, limit=PATIENCE), Event(), Event()

    def plan() -> None:
        planning.set()
        planned.wait(PATIENCE)

    def run() -> None:
        with runner.running("7"):
            runner.run("headgate-7-q", "planned for ever", plan, "7", ("q",))

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(run)
        planning.wait(PATIENCE)
        runner.cancel_run("7")
        (lingering,) = runner.lingering()
        assert (lingering.queries, lingering.tasks) == (("q",), 0)
        planned.set()
        future.result(PATIENCE)
        assert runner.lingering() == []


def test_a_run_may_have_a_shorter_limit_than_others(spark: SparkSession) -> None:
    runner = JobRunner(spark, limit=PATIENCE)
    endless = spark.range(10**15).selectExpr("sum(id % 7)")

    def run() -> None:
        with runner.running("7", limit=0.2):
            runner.run("headgate-7-q", "too long", endless.collect, "7")

    with ThreadPoolExecutor(1) as thread, pytest.raises(HeadgateError, match=r"longer than 0\.2 s and was cancelled"):
        thread.submit(run).result(PATIENCE)
