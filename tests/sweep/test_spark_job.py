"""Running a function on every item as one Spark job, without Spark."""

from __future__ import annotations

from threading import Event
from unittest.mock import Mock

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from headgate.sweep.spark_job import run_each


def test_an_end_after_java_has_ended_says_nothing() -> None:
    """A signal to the whole process group ends Java before the job can be cancelled."""
    java_ended = Event()
    context = Mock(master="local[1]")
    context.accumulator.return_value.value = ["first"]
    context.parallelize.return_value.foreach.side_effect = lambda run: java_ended.wait(10)

    def cancel() -> None:
        java_ended.set()
        raise Py4JNetworkError("Answer from Java side is empty")

    context.cancelAllJobs.side_effect = cancel
    results = run_each(context, str, ["item"])
    assert next(results) == "first"
    results.close()  # type: ignore[attr-defined]
    context.cancelAllJobs.assert_called_once()
