"""One Spark job that runs a function on every item, a task each; results come as soon as each task ends."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import Accumulator, AccumulatorParam, SparkContext

from headgate.model import HeadgateError

POLL_INTERVAL = 0.1  # seconds between two looks at the results that have arrived
Item = TypeVar("Item")
Result = TypeVar("Result")


def run_each(context: SparkContext, run: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results in the order in which tasks end; closing the iterator cancels the rest."""
    if not items:
        return
    finished: Accumulator[list[Result]] = context.accumulator([], _ListAccumulator())

    def job() -> None:
        context.parallelize(items, len(items)).foreach(lambda item: finished.add([run(item)]))

    # The job blocks its thread until it ends; this one stays free to yield results and to receive Ctrl-C.
    with _package_on_executors(context), ThreadPoolExecutor(1) as thread:
        running = thread.submit(job)
        try:
            yield from _results_until_done(running, finished)
        finally:
            if not running.done():
                with suppress(Py4JError, OSError):  # a signal to the whole process group has ended Java too
                    context.cancelAllJobs()


def _results_until_done(job: Future[None], finished: Accumulator[list[Result]]) -> Iterator[Result]:
    """Yield results as they arrive; Spark updates the accumulator before it ends the job, so none is missed."""
    yielded = 0
    while True:
        job_done = job.done()
        arrived = list(finished.value[yielded:])
        yielded += len(arrived)
        yield from arrived
        if job_done:
            break
        time.sleep(POLL_INTERVAL)
    if (error := job.exception()) is not None:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise HeadgateError(f"the Spark job failed: {reason}", hint="run it again: what is finished is kept")


class _ListAccumulator(AccumulatorParam[Any]):
    """Appends the results of tasks to one list."""

    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802, Spark's name
        value1.extend(value2)
        return value1


@contextmanager
def _package_on_executors(context: SparkContext) -> Iterator[None]:
    """Send this package to executors on other machines; Python and numpy must be installed there."""
    if str(context.master).startswith("local"):
        yield
        return
    package = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory(prefix="headgate-") as folder:  # from where the driver serves it
        context.addPyFile(shutil.make_archive(f"{folder}/headgate", "zip", package.parent, package.name))
        yield
