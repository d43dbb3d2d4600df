"""The report of a run whose results were counted and summed as they came."""

from __future__ import annotations

from headgate.metrics.measures import inversion, queue, response, starvation
from headgate.metrics.measures.over_time import Bins
from headgate.metrics.measures.qos import Quality
from headgate.metrics.measures.targets import TargetSummary
from headgate.metrics.records.aggregates import Aggregates
from headgate.metrics.records.run_records import Records
from headgate.metrics.report import sections
from headgate.metrics.report.run_report import Report
from headgate.metrics.report.sections import ClassReport, QueryReport


def measure_aggregated(records: Records, seen: Aggregates, *, equal_inverts: bool = False) -> Report:
    """All measures of a run but QoS and targets, for which results would have to be kept.

    `records` are those of the run, without results; `headgate.metrics.records.aggregates` says how exact this is.
    """
    priorities, names = records.priorities, records.class_names
    span = max(records.seconds, seen.last)
    everything = seen.of([query.query for query in records.queries])
    classes = {name: _class(records, seen, name, span) for name in names}
    responses = {name: section.response_time for name, section in classes.items()}
    times = seen.over_time(Bins.over(span, seen.bin), names)
    periods = seen.over_time(starvation.periods(span, seen.bin), names)
    return Report(
        response_time=everything.distribution(),
        weighted=response.weighted(responses, priorities),
        slowdown=everything.slowdowns(),
        qos=Quality(),
        targets=TargetSummary(),
        queue=queue.summarise(records.queue),
        throughput=seen.throughput(span),
        inversion=inversion.summarise(responses, times, priorities, equal_inverts),
        starvation=starvation.summarise(responses, periods, priorities),
        convergence=starvation.converged(
            inversion.inverted_bins(times, priorities, equal_inverts), times.bins.width, records.updates
        ),
        scheduling=sections.scheduling(records),
        overhead=sections.overhead(records),
        utilisation=sections.share(records.busy, records),
        results=everything.count,
        seconds=records.seconds,
        unfinished=records.unfinished,
        tuples_in=dict(records.tuples_in),
        classes=classes,
        queries={query.query: _query(seen, query.query, query.query_class) for query in records.queries},
    )


def _class(records: Records, seen: Aggregates, name: str, span: float) -> ClassReport:
    sums = seen.of([query.query for query in records.queries if query.query_class == name])
    return ClassReport(
        priority=records.priorities[name],
        response_time=sums.distribution(),
        slowdown=sums.slowdowns(),
        qos=Quality(),
        targets=TargetSummary(),
        results=sums.count,
        throughput=seen.throughput(span, name),
    )


def _query(seen: Aggregates, name: str, query_class: str) -> QueryReport:
    sums = seen.of([name])
    return QueryReport(query_class, sums.distribution(), sums.slowdowns(), Quality(), TargetSummary(), sums.count)
