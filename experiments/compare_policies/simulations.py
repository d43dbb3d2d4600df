"""The simulations of a comparison as Spark jobs, one for each workload; what is finished is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.compare_policies.plan import Case
from headgate.cli.console import note
from headgate.cli.progress import Bar
from headgate.model import HeadgateError
from headgate.sim.bounds import lower_bounds
from headgate.sweep.finished_results import FinishedResults
from headgate.sweep.spark_tasks import run_tasks

if TYPE_CHECKING:
    from pyspark import SparkContext

BIN = 0.1  # seconds between two samples of the queues
Results = Mapping[str, Mapping[str, Any]]  # values by the key of the simulation


def run_missing(cases: Sequence[Case], finished: FinishedResults, master: str) -> Results:
    """Run what has no result yet, and return all results; simulations that fail have none."""
    keys = [key for case in cases for key in (*case.tasks, *case.bounds)]
    present = finished.of(keys)
    if present:
        note(f"{len(present)} of {len(keys)} simulations and bounds are finished already")
    if len(present) < len(keys):
        _run(cases, present, finished, master, len(keys))
    return finished.of(keys)


def _run(cases: Sequence[Case], present: Results, finished: FinishedResults, master: str, total: int) -> None:
    from headgate.cli.spark_start import start_spark

    spark = start_spark(master, finished.folder / "spark.log")
    done = len(present)
    try:
        with Bar(total, patience=0.0, what="simulations") as bar:
            bar.begin(done)
            for case in (case for case in cases if not {*case.tasks, *case.bounds} <= present.keys()):
                for key, values in _results(spark.sparkContext, case, present):
                    finished.put(key, values)
                    done += 1
                    bar.at(done, case.name)
                note(f"{case.name}: done, {done} of {total}")
    finally:
        spark.stop()


def _results(context: SparkContext, case: Case, present: Results) -> Iterator[tuple[str, Mapping[str, Any]]]:
    missing = [task for key, task in case.tasks.items() if key not in present]
    for result in run_tasks(context, case.workload, missing, BIN):
        if result.error:
            note(f"failed {case.name}, {case.tasks[result.key].policy}: {result.error}")
        else:
            yield result.key, result.values
    for key, seed in case.bounds.items():
        if key not in present:
            yield key, _bounds(case, seed)


def _bounds(case: Case, seed: int) -> Mapping[str, Any]:
    try:
        found = lower_bounds(replace(case.workload, seed=seed))
    except HeadgateError as error:
        note(str(error))
        return {}
    return {**found.least, "results": found.results}
