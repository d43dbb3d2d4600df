"""Simulations as Spark tasks: one job, a task for each, and its result as soon as it is there."""

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
from headgate.metrics.plain import flatten
from headgate.model import HeadgateError
from headgate.sim import simulate
from headgate.sim.varying import Point, varied, varied_policy
from headgate.workload import Workload

LOOK = 0.1  # seconds between two looks at what is finished
Values = dict[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation of a sweep: what to call it, the policy, and what differs from the workload's file."""

    key: str
    policy: str
    point: Point
    seed: int


@dataclass(frozen=True, slots=True)
class Done:
    """A simulation that has ended: every measure of the run and its classes by dotted path, or an error."""

    key: str
    values: Values
    error: str = ""


def run_task(task: Task, workload: Workload, bin: float) -> Done:
    """Simulate where it is called: on an executor, or here."""
    try:
        found = varied(workload, {**task.point, "seed": task.seed})
        records = simulate(found, varied_policy(task.policy, task.point), bin=bin)
        tree = measure(records, bin).to_json()
    except HeadgateError as error:
        return Done(task.key, {}, str(error))
    except Exception as error:  # a faulty policy must not take the others with it
        return Done(task.key, {}, f"{type(error).__name__}: {error}")
    del tree["queries"]  # hundreds of queries would make tens of thousands of columns
    return Done(task.key, flatten(tree))


def run_tasks(context: SparkContext, workload: Workload, tasks: Sequence[Task], bin: float) -> Iterator[Done]:
    """Every task's result, in the order in which they finish. Leaving early cancels the rest."""
    if not tasks:
        return
    shared = context.broadcast(workload)
    finished: Accumulator[list[Done]] = context.accumulator([], _Lists())
    # A thread for the job, so that this one is free to listen, and to hear Ctrl-C.
    with _shipped(context), ThreadPoolExecutor(1) as thread:
        job = thread.submit(_job, context, shared, tasks, bin, finished)
        try:
            yield from _heard(job, finished)
        finally:
            if not job.done():
                context.cancelAllJobs()


def _job(
    context: SparkContext,
    shared: Broadcast[Workload],
    tasks: Sequence[Task],
    bin: float,
    finished: Accumulator[list[Done]],
) -> None:
    def run(task: Task) -> None:
        finished.add([run_task(task, shared.value, bin)])

    context.parallelize(tasks, len(tasks)).foreach(run)


def _heard(job: Future[None], finished: Accumulator[list[Done]]) -> Iterator[Done]:
    """What has arrived, until the job is over; Spark adds up before it ends a job, so nothing is missed."""
    told = 0
    while True:
        over = job.done()
        arrived = list(finished.value[told:])
        told += len(arrived)
        yield from arrived
        if over:
            break
        time.sleep(LOOK)
    if (error := job.exception()) is not None:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise HeadgateError(f"the Spark job failed: {reason}", hint="run it again: what is finished is kept")


class _Lists(AccumulatorParam[Any]):
    """Results of tasks, one after the other."""

    def zero(self, value: list[Done]) -> list[Done]:
        return []

    def addInPlace(self, value1: list[Done], value2: list[Done]) -> list[Done]:  # noqa: N802, Spark's name
        value1.extend(value2)
        return value1


@contextmanager
def _shipped(context: SparkContext) -> Iterator[None]:
    """Give executors on other machines this package; they need Python and numpy of their own."""
    if str(context.master).startswith("local"):
        yield
        return
    package = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory(prefix="headgate-") as folder:  # from where the driver serves it
        context.addPyFile(shutil.make_archive(f"{folder}/headgate", "zip", package.parent, package.name))
        yield
