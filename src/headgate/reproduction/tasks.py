"""The runs of experiments as tasks of one Spark job, or one after the other in this process."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext, cloudpickle

from headgate.metrics import Records, measure
from headgate.metrics.report.json_tree import flatten, plain
from headgate.model import HeadgateError
from headgate.reproduction.experiment import Size, Values
from headgate.sim import simulate
from headgate.sweep.spark_job import run_each
from headgate.sweep.spark_tasks import SweepResult
from headgate.sweep.varied_settings import varied
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class SimulationTask:
    """One simulation: the key of its result, the workload by its hash, and what differs from it."""

    key: str
    workload: str
    policy: str
    settings: Mapping[str, float]
    bin: float
    measure: Callable[[Records], Values] | None
    seed: int

    def run(self, workloads: Mapping[str, Workload]) -> dict[str, Any]:
        """Every measure of the run and of its classes, and the experiment's own."""
        workload = varied(workloads[self.workload], {**self.settings, "seed": self.seed})
        records = simulate(workload, self.policy, bin=self.bin)
        tree = measure(records, self.bin).to_json()
        del tree["queries"]  # hundreds of queries would make tens of thousands of values
        return flatten(tree) | ({} if self.measure is None else _numbers(self.measure(records)))


@dataclass(frozen=True, slots=True)
class CalculationTask:
    """One calculation: the key of its result, and what is called."""

    key: str
    function: Callable[[Size, int], Values]
    size: Size
    seed: int

    def run(self, workloads: Mapping[str, Workload]) -> dict[str, Any]:
        return _numbers(self.function(self.size, self.seed))


Task = SimulationTask | CalculationTask


def _numbers(values: Values) -> dict[str, Any]:
    """Plain numbers, None for what is no number: what JSON can keep."""
    return {name: plain(None if value is None else float(value)) for name, value in values.items()}


def run_task(task: Task, workloads: Mapping[str, Workload]) -> SweepResult:
    """Run one task in this process: on an executor, or in a test."""
    try:
        return SweepResult(task.key, task.run(workloads))
    except HeadgateError as error:
        return SweepResult(task.key, {}, str(error))
    except Exception as error:  # a faulty experiment must not end the others
        return SweepResult(task.key, {}, f"{type(error).__name__}: {error}")


def run_tasks(
    context: SparkContext, workloads: Mapping[str, Workload], tasks: Sequence[Task], package: str
) -> Iterator[SweepResult]:
    """Yield every task's result in the order in which tasks end; closing the iterator cancels the rest.

    Functions of the experiments' package go along as they are: executors cannot import it.
    """
    pickler: Any = cloudpickle
    pickler.register_pickle_by_value(sys.modules[package])
    shared = context.broadcast(workloads)

    def run(pickled: bytes) -> SweepResult:
        return run_task(pickle.loads(pickled), shared.value)

    yield from run_each(context, run, [pickler.dumps(task) for task in tasks])
