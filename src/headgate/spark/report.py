"""Results on Spark measured as in the simulator: the engine's newest results as the records that `metrics` takes.

The engine keeps the newest results of each query (`machine.recent_results`), so measures over a long run are those of
its last part. Slowdown has no meaning here: nobody knows how long a result takes alone on an idle cluster.
"""

from __future__ import annotations

from array import array
from collections.abc import Container
from math import inf

from headgate.metrics.records.run_records import QueryRecords, Records
from headgate.metrics.report.run_report import Report, measure
from headgate.spark.machine.recent_results import Floats
from headgate.spark.machine.views import Overview, QueryView

BIN = 1.0  # seconds: a bin of the simulator, 0.1 s, holds few results of Spark jobs


def report(overview: Overview, now: float, since: float = -inf, *, equal_inverts: bool = False) -> Report:
    """How the results that were committed from `since` to `now` are judged."""
    return measure(records(overview, now, since), BIN, equal_inverts=equal_inverts)


def records(overview: Overview, now: float, since: float = -inf) -> Records:
    """The results committed from `since` on; times are seconds from there, or from the oldest result that is kept."""
    kept = [view.results.at for view in overview.queries]
    oldest = min((float(at[0]) for at in kept if at.size), default=now)
    began = max(since, oldest) if since > -inf else oldest
    return Records(
        queries=[_of_query(view, overview.classes, began) for view in overview.queries],
        priorities={name: query_class.priority for name, query_class in overview.classes.items()},
        seconds=now - began,
        workers=len(overview.doing),
        decisions=overview.decided,
        runs=overview.runs,
        unfinished=sum(view.waiting for view in overview.queries),
    )


def _of_query(view: QueryView, there: Container[str], began: float) -> QueryRecords:
    """The results of a query; those of a class that was dropped since count for the class that it is in now."""
    results = view.results
    wanted = results.at >= began
    emission = results.at[wanted] - began
    return QueryRecords(
        view.query.name,
        ideal_time=0.0,
        qos=view.query.qos,
        classes=[(since - began, name if name in there else view.query.query_class) for since, name in view.classes],
        arrival=_column(emission - results.took[wanted]),
        emission=_column(emission),
        target=None if view.target is None else view.target.target,
    )


def _column(values: Floats) -> array[float]:
    return array("d", values.tobytes())
