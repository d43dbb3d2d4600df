"""The report of a run: every measure of every family, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.metrics.measures import inversion, qos, queue, response, slowdown, starvation, targets, throughput
from headgate.metrics.measures.inversion import Inversion
from headgate.metrics.measures.over_time import BIN, Bins, over_time
from headgate.metrics.measures.qos import Quality
from headgate.metrics.measures.queue import Queued
from headgate.metrics.measures.response import Distribution
from headgate.metrics.measures.slowdown import Slowdown
from headgate.metrics.measures.starvation import Convergence, Starvation
from headgate.metrics.measures.targets import TargetSummary
from headgate.metrics.measures.throughput import Throughput
from headgate.metrics.records.result_columns import ResultColumns
from headgate.metrics.records.run_records import Records
from headgate.metrics.report import measure_names, sections
from headgate.metrics.report.json_tree import flatten, plain
from headgate.metrics.report.sections import ClassReport, Overhead, QueryReport, Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All measures of a run. Times are seconds; None stands where there is nothing to measure."""

    response_time: Distribution
    weighted: Distribution  # by class priority
    slowdown: Slowdown
    qos: Quality
    targets: TargetSummary
    queue: Queued
    throughput: Throughput
    inversion: Inversion
    starvation: Starvation
    convergence: Convergence
    scheduling: Scheduling
    overhead: Overhead
    utilisation: float | None
    results: int
    seconds: float
    unfinished: int
    tuples_in: Mapping[str, int]
    classes: Mapping[str, ClassReport]  # by falling priority
    queries: Mapping[str, QueryReport]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; never infinite, never NaN."""
        tree = self._tree()
        for part in (tree, *tree["classes"].values(), *tree["queries"].values()):
            if part["qos"]["missed"] is None:
                part["qos"] = None
            if part["targets"]["met"] is None:
                part["targets"] = None
        return tree

    def value(self, path: str) -> float | None:
        """A number by its dotted path: `slowdown.mean`, `classes.critical.response_time.p95`."""
        return measure_names.lookup(flatten(self._tree()), path)

    def _tree(self) -> dict[str, Any]:
        tree: dict[str, Any] = plain(self)
        for level, value in tree.pop("weighted").items():
            tree["response_time"]["weighted" if level == "mean" else f"weighted_{level}"] = value
        tree["inversion"] = tree["inversion"].pop("levels") | tree["inversion"]
        for query in tree["queries"].values():
            query["class"] = query.pop("query_class")
        return tree


def measure(records: Records, bin: float = BIN, *, equal_inverts: bool = False) -> Report:
    """Compute all measures of a run from its records; measures over time take bins of `bin` seconds.

    With `equal_inverts`, a class that answers as late as a less important one is inverted too.

    >>> from headgate.metrics.records.run_records import QueryRecords
    >>> q = QueryRecords("q", ideal_time=0.5, classes=[(0.0, "only")])
    >>> q.arrival.extend([0.0, 0.0]); q.emission.extend([0.5, 1.0])
    >>> report = measure(Records([q], {"only": 1.0}, seconds=1.0, busy=1.0))
    >>> report.value("slowdown.mean"), report.value("classes.only.response_time.max")
    (1.5, 1.0)
    """
    class_results, priorities = records.class_results(), records.priorities
    everything = ResultColumns.join([results.columns for results in class_results])
    by_class = records.by_class(class_results)
    statuses = sections.target_statuses(records)
    classes = sections.classes(records, class_results, by_class, statuses)
    responses = {name: section.response_time for name, section in classes.items()}
    times = over_time(by_class, Bins.over(records.span, bin))
    periods = over_time(by_class, starvation.periods(records.span, bin))
    return Report(
        response_time=response.summarise(everything.response),
        weighted=response.weighted(responses, priorities),
        slowdown=slowdown.summarise(everything.slowdown),
        qos=qos.summarise(class_results),
        targets=targets.summarise(statuses.values()),
        queue=queue.summarise(records.queue),
        throughput=throughput.summarise(everything.emission, records.span),
        inversion=inversion.summarise(responses, times, priorities, equal_inverts),
        starvation=starvation.summarise(responses, periods, priorities),
        convergence=starvation.converged(
            inversion.inverted_bins(times, priorities, equal_inverts), times.bins.width, records.updates
        ),
        scheduling=sections.scheduling(records),
        overhead=sections.overhead(records),
        utilisation=sections.share(records.busy, records),
        results=len(everything),
        seconds=records.seconds,
        unfinished=records.unfinished,
        tuples_in=dict(records.tuples_in),
        classes=classes,
        queries=sections.queries(class_results, statuses),
    )
