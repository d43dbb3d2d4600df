"""A sweep's simulations as one Spark job: one task per simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark import SparkContext

from headgate.metrics import measure
from headgate.metrics.report.json_tree import flatten
from headgate.model import HeadgateError
from headgate.policy_files import PolicyFile
from headgate.sim import simulate
from headgate.sweep.spark_job import run_each
from headgate.sweep.varied_settings import Point, varied, varied_policy
from headgate.workload import Workload

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
    shared = context.broadcast((workload, files))

    def run(task: SweepTask) -> SweepResult:
        workload, files = shared.value
        return run_task(task, workload, bin, files)

    yield from run_each(context, run, tasks)
