"""The server's numbers for Prometheus: read when asked for, from snapshots; nothing is counted here.

docs/metrics.md lists the names, which stay. Whoever is limited to a tenant gets the numbers of its own queries,
streams and requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from headgate.server.hosting import EngineState
from headgate.server.live.numbers import Json
from headgate.server.live.snapshots import Snapshot
from headgate.server.requests import Requests
from headgate.server.workspace import Workspace
from headgate.server.workspace.status import engine_numbers
from headgate.spark.machine.counts import ClassCounts, Counted, Distribution

TEXT = "text/plain; version=0.0.4; charset=utf-8"
Labels = Sequence[str]


def scrape(asked: Workspace, requests: Requests) -> bytes:
    """All metrics of a principal in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Read(lambda: families(asked, requests)))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._read()


def families(asked: Workspace, requests: Requests) -> Iterator[Metric]:
    """The metrics; without those of the engine while that starts or stops."""
    status, snapshot = asked.host.look()
    engine = GaugeMetricFamily("headgate_engine_state", "1 for the state that the engine is in", labels=["state"])
    for each in EngineState:
        engine.add_metric([each.value], float(each is status.state))
    yield engine
    yield from _of_requests(requests, asked.names.tenant or None)
    if snapshot is not None:
        yield from _of_engine(asked, snapshot)


# -- requests --------------------------------------------------------------------------------------------------


def _of_requests(requests: Requests, tenant: str | None) -> Iterator[Metric]:
    count = CounterMetricFamily(
        "headgate_requests", "Requests, by route and status", labels=["method", "route", "status"]
    )
    totals: dict[tuple[str, str, str], int] = {}
    for (route, status), number in requests.statuses(tenant).items():
        key = route.method, route.path, str(status)
        totals[key] = totals.get(key, 0) + number
    for key, number in sorted(totals.items()):
        count.add_metric(key, number)
    yield count
    seconds = _histogram("headgate_request_seconds", "Until an answer began", ["method", "route"])
    by_route: dict[tuple[str, str], list[Distribution]] = {}
    for route, found in requests.seconds(tenant).items():
        by_route.setdefault((route.method, route.path), []).append(found)
    for labels, parts in sorted(by_route.items()):
        _add(seconds, labels, _together(parts))
    yield seconds
    pushed = CounterMetricFamily("headgate_pushed_rows", "Rows that were pushed over HTTP", labels=["outcome"])
    for outcome, rows in requests.pushed(tenant).items():
        pushed.add_metric([outcome], rows)
    yield pushed


# -- the engine ------------------------------------------------------------------------------------------------


def _of_engine(asked: Workspace, snapshot: Snapshot) -> Iterator[Metric]:
    numbers, tenant = engine_numbers(snapshot, asked.names), asked.names.tenant
    counted = [one for one in snapshot.overview.counted if not tenant or one.space == tenant]
    counted += [ClassCounts().now(tenant, name) for name in numbers["classes"]]  # so that none begins above 0
    yield from _gauges(numbers)
    yield from _counters(counted)
    yield from _histograms(counted)
    yield from _of_streams(asked, numbers["streams"])
    if not tenant:  # the work of all tenants is in these
        seconds = asked.session.engine.scheduling_seconds
        yield CounterMetricFamily(
            "headgate_scheduling_seconds", "The owner thread at work: decisions and its books", value=seconds
        )
        yield CounterMetricFamily("headgate_spark_jobs", "Jobs that Spark has run", value=snapshot.jobs)
        doing = snapshot.overview.doing
        yield GaugeMetricFamily("headgate_workers", "Workers", value=len(doing))
        yield GaugeMetricFamily("headgate_workers_busy", "Workers that run something", value=sum(map(bool, doing)))


BY_CLASS = {
    "headgate_waiting_tuples": ("Tuples that wait, once for each query", "waiting"),
    "headgate_oldest_wait_seconds": ("How long the oldest has waited", "oldest_wait"),
    "headgate_undelivered_bytes": ("Results that sinks have yet to take", "undelivered"),
    "headgate_class_priority": ("Larger is more important", "priority"),
}


def _gauges(numbers: Json) -> Iterator[Metric]:
    for name, (meaning, field) in BY_CLASS.items():
        family = GaugeMetricFamily(name, meaning, labels=["class"])
        for query_class, line in numbers["classes"].items():
            family.add_metric([query_class], line[field])
        yield family
    targets = GaugeMetricFamily("headgate_targets", "Targets of queries, met or missed", labels=["class", "state"])
    for query_class, line in numbers["classes"].items():
        for state in ("met", "missed"):
            if "targets" in line:
                targets.add_metric([query_class, state], line["targets"][state] or 0)
    yield targets
    queries = GaugeMetricFamily("headgate_queries", "Queries by class and state", labels=["class", "state"])
    for labels, number in sorted(Counter((one["class"], one["state"]) for one in numbers["queries"].values()).items()):
        queries.add_metric(labels, number)
    yield queries


COUNTERS: dict[str, tuple[str, Callable[[Counted], int]]] = {
    "headgate_runs": ("Runs that were committed", lambda one: one.runs),
    "headgate_runs_failed": ("Runs that failed", lambda one: one.failed),
    "headgate_runs_cancelled": ("Runs that gave way to something more important", lambda one: one.cancelled),
    "headgate_tuples_in": ("Tuples that queries have taken", lambda one: one.tuples_in),
    "headgate_tuples_out": ("Results", lambda one: one.tuples_out),
    "headgate_late_tuples": ("Tuples that came after their windows had closed", lambda one: one.late),
    "headgate_skipped_tuples": ("Tuples that lag limits jumped over", lambda one: one.skipped),
}
HISTOGRAMS: dict[str, tuple[str, Callable[[Counted], Distribution]]] = {
    "headgate_latency_seconds": ("From a result's last tuple to its commit", lambda one: one.latency),
    "headgate_run_seconds": ("A worker at a run", lambda one: one.run_seconds),
    "headgate_run_members": ("Queries in a run", lambda one: one.members),
    "headgate_commit_seconds": ("From the end of a run's evaluation to its commit", lambda one: one.commit_seconds),
    "headgate_sink_delay_seconds": ("From a commit until the sink had its results", lambda one: one.sink_seconds),
}


def _counters(counted: Sequence[Counted]) -> Iterator[Metric]:
    for name, (meaning, value) in COUNTERS.items():
        family = CounterMetricFamily(name, meaning, labels=["class"])
        for query_class, parts in _by_class(counted):
            family.add_metric([query_class], sum(map(value, parts)))
        yield family


def _histograms(counted: Sequence[Counted]) -> Iterator[Metric]:
    for name, (meaning, value) in HISTOGRAMS.items():
        family = _histogram(name, meaning, ["class"])
        for query_class, parts in _by_class(counted):
            _add(family, [query_class], _together([value(part) for part in parts]))
        yield family


def _of_streams(asked: Workspace, streams: Json) -> Iterator[Metric]:
    rows = CounterMetricFamily("headgate_stream_rows", "Rows that a stream has got, ever", labels=["stream"])
    letters = GaugeMetricFamily("headgate_dead_letters", "Dead letters that are kept", labels=["stream"])
    for name, line in sorted(streams.items()):
        rows.add_metric([name], line["tuples"])
        letters.add_metric([name], line["dead_letters"])
    sources = GaugeMetricFamily("headgate_source_up", "1 if a source is read, 0 if it was given up", labels=["stream"])
    for name, stream in sorted(asked.names.own(asked.session.engine.streams).items()):
        if stream.source is not None and name in streams:
            sources.add_metric([name], float("error" not in streams[name]))
    yield from (rows, letters, sources)


def _by_class(counted: Sequence[Counted]) -> list[tuple[str, list[Counted]]]:
    found: dict[str, list[Counted]] = {}
    for one in counted:
        found.setdefault(one.query_class, []).append(one)
    return sorted(found.items())


# -- histograms ------------------------------------------------------------------------------------------------


def _histogram(name: str, meaning: str, labels: Labels) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, meaning, labels=labels)


def _add(family: HistogramMetricFamily, labels: Labels, found: Distribution) -> None:
    names = [*(f"{bound:g}" for bound in found.bounds), "+Inf"]
    family.add_metric(labels, list(zip(names, accumulate(found.counts), strict=True)), found.total)


def _together(parts: Sequence[Distribution]) -> Distribution:
    """Histograms of the same bounds as one.

    >>> _together([Distribution((1.0,), (1, 2), 5.0), Distribution((1.0,), (0, 1), 3.0)])
    Distribution(bounds=(1.0,), counts=(1, 3), total=8.0)
    """
    counts = tuple(map(sum, zip(*(part.counts for part in parts), strict=True)))
    return Distribution(parts[0].bounds, counts, sum(part.total for part in parts))
