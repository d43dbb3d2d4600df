"""A sweep's simulations as one Spark job: one task per simulation, results as soon as each task ends."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import Accumulator, AccumulatorParam, Broadcast, SparkContext

from headgate.metrics import measure
from headgate.metrics.report.json_tree import flatten
from headgate.model import HeadgateError
from headgate.policy_files import PolicyFile
from headgate.sim import simulate
from headgate.sweep.varied_settings import Point, varied, varied_policy
from headgate.workload import Workload

POLL_INTERVAL = 0.1  # seconds between two looks at the results that have arrived
MeasureValues = dict[str, float | int | None]


@dataclass(frozen=True, slots=True)
class SweepTask:
    """One simulation of a sweep: the key of its result, the policy, and what differs from the workload's file."""

    key: str
    policy: str
    point: Point
    seed: int


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The end of a simulation: every measure of the run and its classes by dotted path, or an error."""

    key: str
    values: MeasureValues
    error: str = ""


def run_task(task: SweepTask, workload: Workload, bin: float, files: Sequence[PolicyFile] = ()) -> SweepResult:
    """Run one simulation in this process: on an executor, or in a test."""
    try:
        for file in files:
            file.load()
        varied_workload = varied(workload, {**task.point, "seed": task.seed})
        records = simulate(varied_workload, varied_policy(task.policy, task.point), bin=bin)
        tree = measure(records, bin).to_json()
    except HeadgateError as error:
        return SweepResult(task.key, {}, str(error))
    except Exception as error:  # a faulty policy must not end the other simulations
        return SweepResult(task.key, {}, f"{type(error).__name__}: {error}")
    del tree["queries"]  # hundreds of queries would make tens of thousands of columns
    return SweepResult(task.key, flatten(tree))


def run_tasks(
    context: SparkContext, workload: Workload, tasks: Sequence[SweepTask], bin: float, files: Sequence[PolicyFile] = ()
) -> Iterator[SweepResult]:
    """Yield every task's result in the order in which tasks end; closing the iterator cancels the rest.

    The text of policy files goes along; on other machines they can import what is installed there, and no file beside.
    """
    if not tasks:
        return
    shared = context.broadcast((workload, files))
    finished: Accumulator[list[SweepResult]] = context.accumulator([], _ListAccumulator())
    # The job blocks its thread until it ends; this one stays free to yield results and to receive Ctrl-C.
    with _package_on_executors(context), ThreadPoolExecutor(1) as thread:
        job = thread.submit(_run_job, context, shared, tasks, bin, finished)
        try:
            yield from _results_until_done(job, finished)
        finally:
            if not job.done():
                context.cancelAllJobs()


def _run_job(
    context: SparkContext,
    shared: Broadcast[tuple[Workload, Sequence[PolicyFile]]],
    tasks: Sequence[SweepTask],
    bin: float,
    finished: Accumulator[list[SweepResult]],
) -> None:
    def run(task: SweepTask) -> None:
        workload, files = shared.value
        finished.add([run_task(task, workload, bin, files)])

    context.parallelize(tasks, len(tasks)).foreach(run)


def _results_until_done(job: Future[None], finished: Accumulator[list[SweepResult]]) -> Iterator[SweepResult]:
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

    def zero(self, value: list[SweepResult]) -> list[SweepResult]:
        return []

    def addInPlace(self, value1: list[SweepResult], value2: list[SweepResult]) -> list[SweepResult]:  # noqa: N802, Spark's name
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
