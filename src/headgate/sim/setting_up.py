"""What every simulation begins with: the scheduler, and records without results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from headgate.core import RecordingScheduler, Scheduler
from headgate.metrics import QueryRecords
from headgate.model import Join, Query, Target, effective_target, walk
from headgate.policies.guarded import checked_if_from_file
from headgate.sim.load import statistics
from headgate.sim.policy_fit import check_targets, ideal_times
from headgate.workload import Workload


def new_scheduler(workload: Workload, policy: str, trace: TextIO | None = None) -> Scheduler:
    """The scheduler of a workload; it records its calls if there is something to write them to."""
    settings = {
        "measured": statistics(workload),
        "learn": workload.learn,
        "train": workload.train,
        "fuse": workload.fuse,
        "seed": workload.seed,
        "guard": checked_if_from_file,
        "workers": workload.cores,
        "sources_last": workload.sources == "last",
    }
    if trace is None:
        return Scheduler(workload.network(), policy, **settings)  # type: ignore[arg-type]
    return RecordingScheduler(workload.network(), policy, write=trace.write, **settings)


def new_records(workload: Workload) -> dict[str, QueryRecords]:
    """Records of every query, without results."""
    times = ideal_times(workload)
    check_targets(workload, times)
    classes = {one.name: one for one in workload.classes}
    return {
        query.name: _empty(query, times[query.name], effective_target(query, classes[query.query_class]))
        for query in workload.queries
    }


def forget_results_after(records: Iterable[QueryRecords], end: float) -> None:
    """Drop results after the end: runs are computed when they start, also those still under way at the end."""
    for one in records:
        while one.emission and one.emission[-1] > end:
            one.emission.pop()
            one.arrival.pop()
            if one.reference is not None:
                one.reference.pop()


def _empty(query: Query, ideal_time: float, target: Target | None) -> QueryRecords:
    records = QueryRecords(query.name, ideal_time, query.qos, [(0.0, query.query_class)], target=target)
    if any(isinstance(node, Join) for node in walk(query.plan)):
        records.reference = type(records.arrival)("d")
    return records
