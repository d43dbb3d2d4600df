"""Simulations whose results are counted and summed as they come, so that memory does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headgate.metrics import Records, Report
from headgate.metrics.records.aggregates import Aggregates
from headgate.metrics.report.aggregated_report import measure_aggregated
from headgate.sim import compiled
from headgate.sim.simulate import Progress, Simulation, refused
from headgate.workload import Workload


@dataclass(frozen=True, slots=True)
class AggregatedRecords:
    """The records of a run without its results, and what was made of those."""

    records: Records
    seen: Aggregates

    def report(self, *, equal_inverts: bool = False) -> Report:
        """All measures but QoS and targets; percentiles are at most 0.5 % off."""
        return measure_aggregated(self.records, self.seen, equal_inverts=equal_inverts)


def aggregate(
    workload: Workload, policy: str, *, progress: Progress | None = None, bin: float = 0.1, path: str = "auto"
) -> AggregatedRecords:
    """Simulate as `simulate` does, and keep no results.

    With compiled code memory depends on the queries and on what waits, not on how many tuples arrive; the general
    simulator keeps all results until it has counted them.
    """
    if path != "general":
        attempt = compiled.aggregated(workload, policy, bin=bin, progress=progress, whatever=path == "compiled")
        if not isinstance(attempt, str):
            return AggregatedRecords(*attempt)
        if path == "compiled":
            raise refused(attempt)
    return _counted(Simulation(workload, policy, progress=progress, bin=bin).run(), workload.duration, bin)


def _counted(records: Records, duration: float, bin: float) -> AggregatedRecords:
    seen = Aggregates(records.queries, duration, bin)
    for place, query in enumerate(records.queries):
        since = query.arrival if query.reference is None else query.reference
        columns = (np.array(column, dtype=np.float64) for column in (query.arrival, query.emission, since))
        seen.add(np.full(len(query.arrival), place), *columns)
    for query in records.queries:
        del query.arrival[:], query.emission[:]
        if query.reference is not None:
            del query.reference[:]
    queue = replace(records.queue, time=records.queue.time[:0], tuples=records.queue.time[:0])
    return AggregatedRecords(replace(records, queue=replace(queue, bytes=records.queue.time[:0])), seen)
