"""A simulation by compiled code, from the workload to the records."""

from __future__ import annotations

import math
from collections.abc import Callable

from headgate.core import Scheduler
from headgate.metrics import Records
from headgate.metrics.records.aggregates import Aggregates
from headgate.sim.compiled.results import CountedResults, RecordedResults, Results
from headgate.sim.compiled.run import CompiledRun
from headgate.sim.setting_up import forget_results_after, new_records
from headgate.workload import Workload

Progress = Callable[[float], None] | None


class CompiledSimulation:
    """One simulation that compiled code can take."""

    def __init__(self, workload: Workload, scheduler: Scheduler, *, bin: float, progress: Progress = None) -> None:
        self._workload = workload
        self._priorities = {name: one.priority for name, one in scheduler.network.classes.items()}
        self._records = list(new_records(workload).values())
        self._run = CompiledRun(workload, scheduler, self._results(bin), bin=bin, progress=progress)

    def _results(self, bin: float) -> Results:
        return RecordedResults(self._records)

    def run(self) -> Records:
        """Simulate to the end."""
        run, workload = self._run, self._workload
        run.run()
        end = max(run.last, workload.duration)
        if not workload.drain:
            end = workload.duration
            forget_results_after(self._records, end)
        return Records(
            queries=self._records,
            priorities=self._priorities,
            queue=run.queue_series(end),
            seconds=end,
            busy=run.busy,
            call_overhead=run.call_overhead,
            run_overhead=run.runs * workload.run_overhead,
            workers=workload.cores,
            decisions=run.decisions,
            runs=run.runs,
            tuples_in=run.arrived,
            unfinished=run.unfinished,
            updates=run.updates,
            path="compiled",
        )


class AggregatedSimulation:
    """The same without results: they are counted as they come."""

    def __init__(self, workload: Workload, scheduler: Scheduler, *, bin: float, progress: Progress = None) -> None:
        end = math.inf if workload.drain else workload.duration
        self._seen = Aggregates(list(new_records(workload).values()), workload.duration, bin, end)
        self._simulation = _Counting(workload, scheduler, self._seen, progress)

    def run(self) -> tuple[Records, Aggregates]:
        """Simulate to the end."""
        return self._simulation.run(), self._seen


class _Counting(CompiledSimulation):
    def __init__(self, workload: Workload, scheduler: Scheduler, seen: Aggregates, progress: Progress) -> None:
        self._seen = seen
        super().__init__(workload, scheduler, bin=seen.bin, progress=progress)
        self._run.keeps_samples = False

    def _results(self, bin: float) -> Results:
        return CountedResults(self._seen)
