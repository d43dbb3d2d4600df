"""Sections of a report: of one class, of one query, of the scheduling itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.metrics.measures import qos, response, slowdown, targets, throughput
from headgate.metrics.measures.qos import Quality
from headgate.metrics.measures.response import Distribution
from headgate.metrics.measures.slowdown import Slowdown
from headgate.metrics.measures.targets import TargetStatus, TargetSummary
from headgate.metrics.measures.throughput import Throughput
from headgate.metrics.records.result_columns import ResultColumns
from headgate.metrics.records.run_records import ClassResults, Records


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The cost of scheduling: decisions, runs, core seconds; `share` is of all cores' time.

    Cancelled runs, which gave way to something more important, have taken `cancelled_seconds` for nothing.
    """

    decisions: int
    runs: int
    seconds: float
    share: float | None
    cancelled: int
    cancelled_seconds: float


@dataclass(frozen=True, slots=True)
class Overhead:
    """Core seconds in which no tuple was processed (Carney 2005, section 3.4.5).

    `worker`: calls of operators; `storage`: starting runs, which fetch their tuples then; `scheduler`: decisions.
    """

    worker: float
    storage: float
    scheduler: float


@dataclass(frozen=True, slots=True)
class ClassReport:
    """One class: all results of its queries together."""

    priority: float
    response_time: Distribution
    slowdown: Slowdown
    qos: Quality
    targets: TargetSummary
    results: int
    throughput: Throughput


@dataclass(frozen=True, slots=True)
class QueryReport:
    """One query, with the class it is in now."""

    query_class: str
    response_time: Distribution
    slowdown: Slowdown
    qos: Quality
    targets: TargetSummary
    results: int


def target_statuses(records: Records) -> dict[str, TargetStatus]:
    """How queries with a target did by it, up to the end of the run."""
    found = {}
    for query in records.queries:
        if query.target is not None:
            columns = query.columns()
            found[query.query] = targets.over_run(query.target, columns.emission, columns.response, records.span)
    return found


def classes(
    records: Records,
    class_results: Sequence[ClassResults],
    by_class: Mapping[str, ResultColumns],
    statuses: Mapping[str, TargetStatus],
) -> dict[str, ClassReport]:
    """Every class, by falling priority."""
    return {
        name: ClassReport(
            priority=records.priorities[name],
            response_time=response.summarise(columns.response),
            slowdown=slowdown.summarise(columns.slowdown),
            qos=qos.summarise(results for results in class_results if results.query_class == name),
            targets=targets.summarise(
                statuses[query.query]
                for query in records.queries
                if query.query in statuses and query.query_class == name
            ),
            results=len(columns),
            throughput=throughput.summarise(columns.emission, records.span),
        )
        for name, columns in by_class.items()
    }


def queries(class_results: Sequence[ClassResults], statuses: Mapping[str, TargetStatus]) -> dict[str, QueryReport]:
    """Every query, its results in all classes together."""
    by_query: dict[str, list[ClassResults]] = defaultdict(list)
    for results in class_results:
        by_query[results.query.query].append(results)
    return {name: _query(parts, statuses.get(name)) for name, parts in by_query.items()}


def _query(class_results: Sequence[ClassResults], status: TargetStatus | None) -> QueryReport:
    columns = ResultColumns.join([results.columns for results in class_results])
    return QueryReport(
        query_class=class_results[0].query.query_class,
        response_time=response.summarise(columns.response),
        slowdown=slowdown.summarise(columns.slowdown),
        qos=qos.summarise(class_results),
        targets=targets.summarise(() if status is None else (status,)),
        results=len(columns),
    )


def scheduling(records: Records) -> Scheduling:
    """The cost of scheduling."""
    taken = records.scheduling
    part = share(taken, records)
    return Scheduling(records.decisions, records.runs, taken, part, records.cancelled, records.cancelled_seconds)


def overhead(records: Records) -> Overhead:
    """What was spent on everything but tuples."""
    return Overhead(records.call_overhead, records.run_overhead, records.scheduling)


def share(core_seconds: float, records: Records) -> float | None:
    """Core seconds as a share of all cores' time.

    >>> share(3.0, Records([], {}, seconds=2.0, workers=3))
    0.5
    """
    total = records.seconds * records.workers
    return core_seconds / total if total > 0 else None
