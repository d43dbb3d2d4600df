"""How an engine is doing, for people and for machines: measured as in the simulator, over the newest results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headgate.display import html_table
from headgate.metrics.measures import inversion, qos, response, targets
from headgate.metrics.measures.inversion import Pair
from headgate.metrics.measures.latency import WINDOWS, Latency, latencies
from headgate.metrics.measures.qos import Quality
from headgate.metrics.measures.response import Distribution
from headgate.metrics.measures.targets import TargetState, TargetStatus, TargetSummary
from headgate.metrics.records.run_records import ClassResults, Records
from headgate.metrics.report.json_tree import plain
from headgate.metrics.report.run_report import Report, measure
from headgate.spark.engine.engine import Engine
from headgate.spark.machine.recent_results import RECENT, Committed, Floats
from headgate.spark.machine.views import NO_LOAD, Overview, QueryView
from headgate.spark.machine.worker_load import Load
from headgate.spark.report import BIN, records
from headgate.spark.store.dead_letters import of_queries
from headgate.spark.store.disk_watch import DiskStatus
from headgate.spark.store.journal import Entry

MEDIAN = "p50"
# Numbers of queries that a class has the sums of.
ADDED = ("waiting", "runs", "tuples_in", "tuples_out", "dead_letters", "late", "skipped", "undelivered")
STALLED = 10.0  # seconds without a commit, though tuples wait, from which on a query may count as stalled
MUCH_LONGER = 10.0  # times as long as it usually takes, likewise
FIRST_COMMIT = 60.0  # seconds that the first commit of a query may take: Spark prepares its code
LATE = 10.0  # seconds that a tuple may wait for a query without a QoS graph before the query counts as late
HEADINGS = (
    "",
    "state",
    "tuples/s",
    "waiting",
    "oldest wait s",
    "p50 s",
    "p95 s",
    "tuples in",
    "tuples out",
    "dead",
    "error",
)
NO_QUALITY = Quality()
NO_RESULTS = Distribution()
NO_TARGETS = TargetSummary()
NO_DISK = DiskStatus()


@dataclass(frozen=True, slots=True)
class StatusLine:
    """The status of one query, or the totals of a class or of all.

    What is counted is counted since the engine started, except for dead letters: those are all that are kept. A row
    counts for each query that takes it or that it waits for.

    * `name`, `query_class`: of the query, or both the name of the class.
    * `state`, `error`: what it is doing, and why it was suspended; docs/engine.md lists the states.
    * `waiting`, `oldest_wait`: rows that wait for it, and for how many seconds the oldest has; since the query was
      added, if the row is older than that.
    * `response_time`: seconds from the arrival of a result's last row, or from adding the query, to its durable commit,
      over the newest results: `mean`, `p50`, `p95`, `max` and so on; None before the first.
    * `runs`: in which it had a part.
    * `tuples_in`, `tuples_out`: rows that it has taken, and results.
    * `dead_letters`: rows, pairs or groups on which its expressions failed.
    * `priority`: of its class.
    * `rate`: rows per second that it took in the last 10 s.
    * `recent`: the response times of results of the last 10 s.
    * `is_late`: whether its target is missed; with a `qos`, whether a result of the last 10 s missed its deadline, or a
      row has waited longer than that.
    * `last_commit`: when a run of it was last committed, in seconds since 1970; None before the first.
    * `stalled`: for how many seconds it has committed nothing though rows wait and it runs, if that is much longer than
      usual: more than 10 s and more than ten times what it usually takes. None otherwise; `stalled` has the rule.
    * `backfill`: of the kept rows with which a query began (`since="start"`), how many it has read and of how many;
      None once it has caught up.
    * `load`: of a class, its share of the workers' time in the last 10 s.
    * `late`: rows that came after their windows had closed, which its windows ignored.
    * `skipped`: rows that it jumped over because of its lag limit.
    * `sink`, `undelivered`: where results go, and how many bytes of them the sink has yet to take.
    * `latency`: the response times of newer results: `count`, `mean`, `p50`, `p95` and `p99`, each under "last_10_s",
      "last_minute" and "last_10_minutes".
    * `target`: how a query does by its target, None without one: `target`, `state` ("met", "missed", "no results"),
      `since` when (seconds since 1970), `share` of the time in which it was met, what it `reached` in the last 10 s,
      and by how many seconds it is missed, `missed_by`.
    * `targets`: of a class, or of all: how many queries' targets are `met` and `missed`, and the `share` of the time.
    * `quality`: what its results were worth by its `qos`, and how many missed their deadline.
    """

    name: str
    query_class: str
    state: str
    error: str
    waiting: int
    oldest_wait: float
    response_time: Distribution
    runs: int
    tuples_in: int
    tuples_out: int
    dead_letters: int
    priority: float = 1.0
    rate: float = 0.0
    recent: Distribution = NO_RESULTS
    is_late: bool = False
    late: int = 0
    skipped: int = 0
    sink: str = ""
    undelivered: int = 0
    quality: Quality = NO_QUALITY
    latency: Mapping[str, Latency] = field(default_factory=dict)
    target: TargetStatus | None = None
    targets: TargetSummary = NO_TARGETS
    last_commit: float | None = None
    stalled: float | None = None
    backfill: tuple[int, int] | None = None
    load: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "priority": self.priority,
            "rate": self.rate,
            "waiting": self.waiting,
            "oldest_wait": self.oldest_wait,
            "response_time": plain(self.response_time),
            "recent_response_time": plain(self.recent),
            "latency": plain(self.latency),
            **self._targets(),
            "qos": None if self.quality.missed is None else plain(self.quality),
            "tuples_in": self.tuples_in,
            "tuples_out": self.tuples_out,
            "dead_letters": self.dead_letters,
            "late": self.late,
        }

    def _targets(self) -> dict[str, Any]:
        if self.target is not None:
            return {"target": plain(self.target.to_json())}
        return {} if self.targets.met is None else {"targets": plain(self.targets)}


@dataclass(frozen=True, slots=True, repr=False)
class Status:
    """How a session is doing at one moment. `to_json()` gives all of it as plain values.

    * `policy`, `seconds`, `runs`, `spark_jobs`: who decides, since when, how often it has, and in how many Spark jobs.
    * `classes`, `queries`: a `StatusLine` for each, the most important class first.
    * `doing`: what each worker runs now, "" for nothing.
    * `dead_letters`: how many, by stream.
    * `source_errors`: by stream, why its source was given up, or why the stream is refused.
    * `source_notes`: by stream, what else there is to know of its source, such as files that it does not read.
    * `policy_error`: why the last policy that failed was taken out.
    * `spark_error`: why Spark is away; empty if it is there.
    * `spark_note`: what is wrong with a Spark that is there: cores held by cancelled runs, no executors.
    * `journal`: the newest changes of queries' states, with their reasons, and of targets that are missed or met again.
    * `inversion`: how much later than its less important neighbour each class answers, by the median; 0 if it does not.
    * `results`: the newest results, from which `report()` computes every measure of the simulator.
    * `recent`: the response times of all results of the last 10 s.
    * `latency`: of all results of the last 10 s, minute and ten minutes.
    * `cancelled_runs`, `cancelled_share`: runs that gave way to something more important, and their share of the time.
    * `now`: the moment, in seconds since 1970.
    * `load`: shares of the workers' time in the last 10 s (`running`; by namespace and class `shares`), how many units
      wait for a worker (`queued`), and `decisions_per_second`.
    * `disk`: of the data directory: bytes that are `free`, whether it is `full`, why it refused a write (`error`).
    * `starved`: classes that got nothing in the last 10 s although their rows wait, while others did.
    """

    policy: str
    seconds: float
    runs: int
    spark_jobs: int
    classes: tuple[StatusLine, ...]
    queries: tuple[StatusLine, ...]
    doing: tuple[str, ...]
    dead_letters: dict[str, int]
    source_errors: dict[str, str] = field(default_factory=dict)
    source_notes: dict[str, str] = field(default_factory=dict)
    policy_error: str = ""
    spark_error: str = ""
    spark_note: str = ""
    journal: tuple[Entry, ...] = ()
    inversion: tuple[Pair, ...] = ()
    results: Records = field(default_factory=lambda: Records([], {}))
    recent: Distribution = NO_RESULTS
    latency: Mapping[str, Latency] = field(default_factory=dict)
    cancelled_runs: int = 0
    cancelled_share: float = 0.0
    now: float = 0.0
    load: Load = NO_LOAD
    disk: DiskStatus = NO_DISK

    @property
    def starved(self) -> tuple[str, ...]:
        """Classes of which no row was taken lately although some have waited for longer, while others had turns."""
        return starved_classes((line.name, line.rate, line.oldest_wait) for line in self.classes)

    def __repr__(self) -> str:
        queries = len(self.queries)
        counted = f"{queries} {'query' if queries == 1 else 'queries'}, {self.runs:,} runs"
        failed = [line.name for line in self.queries if line.error and line.state != "incomplete"]
        waits = [line.name for line in self.queries if line.state == "incomplete"]
        stuck = [line.name for line in self.queries if line.stalled is not None]
        told = _named("failed", failed) + _named("incomplete", waits) + _named("stalled", stuck)
        return f"<status after {self.seconds:.1f} s under {self.policy}: {counted}{told}>"

    def _repr_html_(self) -> str:
        rows = [_cells(line, indent) for line, indent in self._in_order()]
        return html_table(HEADINGS, rows, repr(self).strip("<>"))

    def _in_order(self) -> Iterator[tuple[StatusLine, bool]]:
        """Each class, and below it its queries."""
        for class_line in self.classes:
            yield class_line, False
            yield from ((line, True) for line in self.queries if line.query_class == class_line.name)

    def total(self) -> StatusLine:
        """All classes together; the dead letters are those of streams, too."""
        parts = self.results.class_results()
        return StatusLine(
            name="all",
            query_class="",
            response_time=response.summarise(_joined(part.columns.response for part in parts)),
            recent=self.recent,
            quality=qos.summarise(parts),
            latency=self.latency,
            targets=_summary(self.queries),
            **{**_sums(self.classes), "dead_letters": sum(self.dead_letters.values())},
        )

    @property
    def letters_of_streams(self) -> int:
        """How many dead letters no query here has: rows that a stream rejected or found late, or of former queries."""
        return sum(self.dead_letters.values()) - sum(line.dead_letters for line in self.queries)

    def report(self, *, equal_inverts: bool = False) -> Report:
        """All measures over the newest results, those of the simulator; computed when asked, since it takes a while."""
        return measure(self.results, BIN, equal_inverts=equal_inverts)

    def to_json(self, equal_inverts: bool = False) -> dict[str, Any]:
        report = self.report(equal_inverts=equal_inverts).to_json()
        return {
            "policy": self.policy,
            "seconds": self.seconds,
            "runs": self.runs,
            "spark_jobs": self.spark_jobs,
            "cancelled": {"runs": self.cancelled_runs, "share_of_time": self.cancelled_share},
            "load": self.load.to_json(),
            "disk": self.disk.to_json(),
            **({"starved": list(self.starved)} if self.starved else {}),
            "classes": {line.name: line.to_json() | {"load": round(line.load, 2)} for line in self.classes},
            "queries": {
                line.name: {
                    **line.to_json(),
                    "class": line.query_class,
                    "sink": line.sink,
                    "state": line.state,
                    **commits_json(line),
                    **({"skipped": line.skipped} if line.skipped else {}),
                    **({"error": line.error} if line.error else {}),
                }
                for line in self.queries
            },
            **({"policy_error": self.policy_error} if self.policy_error else {}),
            **({"spark_error": self.spark_error} if self.spark_error else {}),
            **({"spark_note": self.spark_note} if self.spark_note else {}),
            "streams": {name: self._stream(name) for name in {**self.dead_letters, **self.source_errors}},
            **{name: part for name, part in report.items() if name in ("inversion", "starvation")},
        }

    def _stream(self, name: str) -> dict[str, Any]:
        return {
            "dead_letters": self.dead_letters.get(name, 0),
            **({"error": self.source_errors[name]} if name in self.source_errors else {}),
            **({"note": self.source_notes[name]} if name in self.source_notes else {}),
        }


def status(engine: Engine, began: float) -> Status:
    """Look at an engine; consistent, because all of it is of one moment."""
    overview, now = engine.overview(), engine.now()
    # Each stream's letters are counted once: else some that come in between would be of the stream and of no query.
    letters = {name: kept.counts() for name, kept in list(engine.ingest.letters.items())}
    by_query = sum(map(of_queries, letters.values()), Counter[str]())
    counted = replace(status_of(overview, now, by_query), seconds=now - began)
    totals = {name: kept.total() for name, kept in letters.items()}
    return replace(counted, spark_jobs=engine.runner.jobs, dead_letters=totals, disk=engine.disk.look())


def status_of(overview: Overview, now: float, letters: Mapping[str, int]) -> Status:
    """The status that a snapshot of an engine, or of some of its queries, amounts to.

    `letters` has how many dead letters there are of each query; those of streams, the time since the start and the
    number of Spark jobs are not in a snapshot.
    """
    results, recent = records(overview, now), records(overview, now, now - RECENT)
    parts = results.class_results()
    response_times = _by_class(results, parts)
    recent_parts = recent.class_results()
    recent_times = _by_class(recent, recent_parts)
    lines: dict[str, list[StatusLine]] = {name: [] for name in results.class_names}
    for view in overview.queries:
        lines[view.query.query_class].append(_query_line(view, now, letters.get(view.query.name, 0)))
    views = {name: [view for view in overview.queries if view.query.query_class == name] for name in lines}
    return Status(
        policy=overview.policy,
        seconds=0.0,
        runs=overview.runs,
        spark_jobs=0,
        classes=tuple(
            StatusLine(
                name=name,
                query_class=name,
                response_time=response_times[name],
                recent=recent_times[name],
                quality=qos.summarise(part for part in parts if part.query_class == name),
                priority=overview.classes[name].priority,
                latency=_latency(views[name], now),
                targets=_summary(members),
                load=overview.load.of_class(name),
                **_sums(members),
            )
            for name, members in lines.items()
        ),
        queries=tuple(line for members in lines.values() for line in members),
        doing=overview.doing,
        dead_letters={},
        policy_error=overview.policy_error,
        spark_error=overview.spark_error,
        spark_note=overview.spark_note,
        journal=_journal(overview),
        inversion=inversion.pairs(response_times, results.priorities, MEDIAN),
        results=results,
        recent=response.summarise(_joined(part.columns.response for part in recent_parts)),
        latency=_latency(overview.queries, now),
        cancelled_runs=overview.cancelled_runs,
        cancelled_share=overview.cancelled_share,
        now=now,
        load=overview.load,
    )


def query_status(engine: Engine, name: str) -> StatusLine:
    """Look at one query of an engine."""
    return _query_line(engine.query(name), engine.now(), letters_by_query(engine)[name])


def _query_line(view: QueryView, now: float, dead_letters: int) -> StatusLine:
    results = view.results
    recent = results.took[results.at >= now - RECENT]
    return StatusLine(
        name=view.query.name,
        query_class=view.query.query_class,
        state=view.state,
        error=view.error,
        waiting=view.waiting,
        oldest_wait=view.oldest_wait,
        response_time=response.summarise(results.took),
        runs=view.runs,
        tuples_in=view.tuples_in,
        tuples_out=view.tuples_out,
        dead_letters=dead_letters,
        priority=view.priority,
        rate=view.rate,
        recent=response.summarise(recent),
        is_late=is_late(view, view.query.qos is not None and qos.missed(view.query.qos, recent) > 0),
        late=view.late,
        skipped=view.skipped,
        sink=view.query.sink or "parquet",
        undelivered=view.undelivered,
        quality=NO_QUALITY if view.query.qos is None else qos.of_query(view.query.qos, results.took),
        latency=_latency([view], now),
        target=_target(view, recent),
        last_commit=view.last_commit,
        stalled=stalled(view, now),
        backfill=view.backfill,
    )


def _target(view: QueryView, recent: Floats) -> TargetStatus | None:
    """How a query does by its target, with what its results took."""
    status = view.target
    if status is None or status.reached is not None:
        return status
    return replace(status, reached=targets.reached(recent, status.target.percentile))


def _summary(lines: Iterable[StatusLine]) -> TargetSummary:
    return targets.summarise(line.target for line in lines if line.target is not None)


def _latency(views: Sequence[QueryView], now: float) -> dict[str, Latency]:
    """The response times of some queries' results together, lately."""
    first = now - max(WINDOWS.values())
    newest = Committed.join(tuple(chunk for view in views for chunk in view.recent if chunk.at[-1] >= first))
    return latencies(newest.at, newest.took, tuple(part for view in views for part in view.dropped), now)


def is_late(view: QueryView, missed_deadline: bool) -> bool:
    """Whether a query is late: by its QoS graph (`missed_deadline`: a recent result was), its target, or `LATE`."""
    if view.state != "running":
        return False
    graph = view.query.qos
    if graph is None and view.target is not None:
        return view.target.state is TargetState.MISSED
    if graph is None:
        return view.oldest_wait > LATE
    return view.oldest_wait > graph.deadline or missed_deadline


def stalled(view: QueryView, now: float) -> float | None:
    """For how many seconds a running query has committed nothing although it could have, if that is not normal for it.

    Time counts from its last commit, or from when the oldest tuple could have been taken if that was later. Normal is
    up to ten times as long as it usually takes (`QueryView.usual_gap`, an average over its newest commits), and never
    less than 10 s; before the first commit, a minute. So a query that waits its turn for long under load is late, and
    stalled only if its turn does not come as it used to.
    """
    if view.state != "running" or view.owes_since is None:
        return None
    seconds, usual = now - view.owes_since, view.usual_gap
    return seconds if seconds > (FIRST_COMMIT if usual is None else max(STALLED, MUCH_LONGER * usual)) else None


def starved_classes(classes: Iterable[tuple[str, float, float]]) -> tuple[str, ...]:
    """Classes that got nothing lately although some of their rows have waited for longer, while others had turns.

    Each is given with how many rows per second it took, and the oldest wait.

    >>> starved_classes([("high", 100.0, 0.1), ("low", 0.0, 30.0)])
    ('low',)
    """
    lines = list(classes)
    if not any(rate for _, rate, _ in lines):
        return ()
    return tuple(name for name, rate, oldest in lines if not rate and oldest > RECENT)


def _sums(lines: Sequence[StatusLine]) -> dict[str, Any]:
    """The fields of a line that stands for several."""
    return {
        "state": "running",
        "error": "",
        "oldest_wait": max((line.oldest_wait for line in lines), default=0.0),
        "rate": sum((line.rate for line in lines), 0.0),
        **{name: sum(getattr(line, name) for line in lines) for name in ADDED},
    }


def commits_json(line: StatusLine) -> dict[str, Any]:
    """When a query last committed, whether it is stalled, how much of a backfill it has read: what of that is known."""
    known = {"last_commit": line.last_commit, "stalled": line.stalled}
    backfill = {} if line.backfill is None else {"backfill": dict(zip(("read", "of"), line.backfill, strict=True))}
    return {name: value for name, value in known.items() if value is not None} | backfill


def _by_class(results: Records, parts: Sequence[ClassResults]) -> dict[str, Distribution]:
    return {name: response.summarise(part.response) for name, part in results.by_class(parts).items()}


def _joined(columns: Iterable[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *columns])


def letters_by_query(engine: Engine) -> Counter[str]:
    """How many dead letters are kept of each query."""
    return sum((of_queries(kept.counts()) for kept in list(engine.ingest.letters.values())), Counter[str]())


def _journal(overview: Overview) -> tuple[Entry, ...]:
    changes = overview.newest
    return tuple(Entry(change.at, change.query, change.before, change.after, change.reason) for change in changes)


def _cells(line: StatusLine, indent: bool) -> list[object]:
    """A line of the table in a notebook: a query, or a class."""
    times = (line.oldest_wait, line.response_time.p50, line.response_time.p95)
    counts = (line.tuples_in, line.tuples_out, line.dead_letters)
    name = f"\u2003{line.name}" if indent else line.name
    return [name, line.state if indent else "", line.rate, line.waiting, *times, *counts, line.error]


def _named(what: str, names: Sequence[str]) -> str:
    return f"; {what}: {', '.join(names)}" if names else ""
