"""Tasks on Spark whose results are kept: what is finished is not run again, and Ctrl-C loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from headgate.cli.console import note
from headgate.cli.progress import Bar
from headgate.cli.signals import raised
from headgate.sweep.finished_results import FinishedResults

if TYPE_CHECKING:
    from pyspark import SparkContext

    from headgate.sweep.spark_tasks import SweepResult

Task = TypeVar("Task")


def run_missing(
    tasks: Mapping[str, Task],
    finished: FinishedResults,
    master: str,
    run: Callable[[SparkContext, Sequence[Task]], Iterator[SweepResult]],
    *,
    told: Callable[[str, str], str],
    what: str = "simulations",
) -> tuple[dict[str, str], bool]:
    """Run the tasks that have no result yet; return errors by key, and whether every task was tried.

    `told` is called with the key of each task that ends and its error, if any, and returns what the bar shows.
    """
    present = finished.of(tasks)
    missing = [task for key, task in tasks.items() if key not in present]
    if present:
        note(f"{len(present)} of {len(tasks)} {what} are finished already")
    failed: dict[str, str] = {}
    try:
        with raised(), Bar(len(tasks), patience=0.0, what=what) as bar:
            bar.at(len(present))
            results = _run_on_spark(missing, len(present), finished, master, run, bar)
            for number, result in enumerate(results, len(present) + 1):
                if result.error:
                    failed[result.key] = result.error
                else:
                    finished.put(result.key, result.values)
                bar.at(number, told(result.key, result.error))
    except KeyboardInterrupt:
        return failed, False
    return failed, True


def _run_on_spark(
    missing: Sequence[Task],
    present: int,
    finished: FinishedResults,
    master: str,
    run: Callable[[SparkContext, Sequence[Task]], Iterator[SweepResult]],
    bar: Bar,
) -> Iterator[SweepResult]:
    if not missing:
        return
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    from headgate.cli.spark_start import start_spark

    spark = start_spark(master, finished.folder / "spark.log")
    bar.begin(present)  # from here on, so that Spark's start is not taken for slow simulations
    try:
        yield from run(spark.sparkContext, missing)
    finally:
        with suppress(Py4JError, OSError):  # a signal to the whole process group has ended Java too
            spark.stop()
