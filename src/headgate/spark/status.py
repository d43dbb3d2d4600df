"""How an engine is doing, for people and for machines: measured as in the simulator, over the newest results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.metrics.measures import inversion, qos, response
from headgate.metrics.measures.inversion import Pair
from headgate.metrics.measures.qos import Quality
from headgate.metrics.measures.response import Distribution
from headgate.metrics.records.run_records import Records
from headgate.metrics.report.json_tree import plain
from headgate.metrics.report.run_report import Report, measure
from headgate.spark.display import html_table
from headgate.spark.engine.engine import Engine
from headgate.spark.machine.views import Overview, QueryView
from headgate.spark.report import BIN, records
from headgate.spark.store.journal import Entry

MEDIAN = "p50"
HEADINGS = (
    "",
    "state",
    "waiting",
    "oldest wait s",
    "p50 s",
    "p95 s",
    "runs",
    "tuples in",
    "tuples out",
    "dead",
    "error",
)
NO_QUALITY = Quality()


@dataclass(frozen=True, slots=True)
class StatusLine:
    """The status of one query, or the totals of a class.

    * `name`, `query_class`: of the query, or both the name of the class.
    * `state`, `error`: what it is doing, and why it was suspended; docs/engine.md lists the states.
    * `waiting`, `oldest_wait`: rows that wait for it, and for how many seconds the oldest has.
    * `response_time`: seconds from the arrival of a result's last row to its durable commit, over the newest results:
      `mean`, `p50`, `p95`, `max` and so on; None before the first.
    * `runs`: how often it was chosen.
    * `tuples_in`, `tuples_out`: rows that it has taken, and results.
    * `dead_letters`: rows, pairs or groups on which its expressions failed.
    * `late`: rows that came after their windows had closed, which its windows ignored.
    * `skipped`: rows that it jumped over because of its lag limit.
    * `sink`, `undelivered`: where results go, and how many bytes of them the sink has yet to take.
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
    late: int = 0
    skipped: int = 0
    sink: str = ""
    undelivered: int = 0
    quality: Quality = NO_QUALITY

    def to_json(self) -> dict[str, Any]:
        return {
            "response_time": plain(self.response_time),
            "qos": None if self.quality.missed is None else plain(self.quality),
            "tuples_in": self.tuples_in,
            "tuples_out": self.tuples_out,
            "dead_letters": self.dead_letters,
            "late": self.late,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Status:
    """How a session is doing at one moment. `to_json()` gives all of it as plain values.

    * `policy`, `seconds`, `runs`, `spark_jobs`: who decides, since when, how often it has, and in how many Spark jobs.
    * `classes`, `queries`: a `StatusLine` for each, the most important class first.
    * `doing`: what each worker runs now, "" for nothing.
    * `dead_letters`: how many, by stream.
    * `source_errors`: by stream, why its source was given up.
    * `source_notes`: by stream, what else there is to know of its source, such as files that it does not read.
    * `policy_error`: why the last policy that failed was taken out.
    * `spark_error`: why Spark is away; empty if it is there.
    * `journal`: the newest changes of queries' states, with their reasons.
    * `inversion`: how much later than its less important neighbour each class answers, by the median; 0 if it does not.
    * `results`: the newest results, from which `report()` computes every measure of the simulator.
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
    journal: tuple[Entry, ...] = ()
    inversion: tuple[Pair, ...] = ()
    results: Records = field(default_factory=lambda: Records([], {}))

    def __repr__(self) -> str:
        queries = len(self.queries)
        counted = f"{queries} {'query' if queries == 1 else 'queries'}, {self.runs:,} runs"
        failed = [line.name for line in self.queries if line.error]
        return f"<status after {self.seconds:.1f} s under {self.policy}: {counted}{_failed(failed)}>"

    def _repr_html_(self) -> str:
        rows = [_cells(line, indent) for line, indent in self._in_order()]
        return html_table(HEADINGS, rows, repr(self).strip("<>"))

    def _in_order(self) -> Iterator[tuple[StatusLine, bool]]:
        """Each class, and below it its queries."""
        for class_line in self.classes:
            yield class_line, False
            yield from ((line, True) for line in self.queries if line.query_class == class_line.name)

    def report(self) -> Report:
        """All measures over the newest results, those of the simulator; computed when asked, since it takes a while."""
        return measure(self.results, BIN)

    def to_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "seconds": self.seconds,
            "runs": self.runs,
            "spark_jobs": self.spark_jobs,
            "classes": {line.name: line.to_json() for line in self.classes},
            "queries": {
                line.name: {
                    **line.to_json(),
                    "class": line.query_class,
                    "sink": line.sink,
                    "state": line.state,
                    **({"skipped": line.skipped} if line.skipped else {}),
                    **({"error": line.error} if line.error else {}),
                }
                for line in self.queries
            },
            **({"policy_error": self.policy_error} if self.policy_error else {}),
            **({"spark_error": self.spark_error} if self.spark_error else {}),
            "streams": {name: self._stream(name) for name in self.dead_letters},
            **{name: part for name, part in self.report().to_json().items() if name in ("inversion", "starvation")},
        }

    def _stream(self, name: str) -> dict[str, Any]:
        return {
            "dead_letters": self.dead_letters[name],
            **({"error": self.source_errors[name]} if name in self.source_errors else {}),
            **({"note": self.source_notes[name]} if name in self.source_notes else {}),
        }


def status(engine: Engine, began: float) -> Status:
    """Look at an engine; consistent, because all of it is of one moment."""
    overview, now = engine.overview(), engine.now()
    results = records(overview, now)
    parts = results.class_results()
    response_times = {name: response.summarise(part.response) for name, part in results.by_class(parts).items()}
    members: dict[str, list[QueryView]] = {name: [] for name in overview.classes}
    for view in overview.queries:
        members[view.query.query_class].append(view)
    return Status(
        policy=overview.policy,
        seconds=now - began,
        runs=overview.runs,
        spark_jobs=engine.runner.jobs,
        classes=tuple(
            _class_line(
                name,
                members[name],
                response_times[name],
                qos.summarise(part for part in parts if part.query_class == name),
            )
            for name in results.class_names
        ),
        queries=tuple(query_line(view) for name in results.class_names for view in members[name]),
        doing=overview.doing,
        dead_letters={name: letters.count() for name, letters in engine.ingest.letters.items()},
        policy_error=overview.policy_error,
        spark_error=overview.spark_error,
        journal=_journal(overview),
        inversion=inversion.pairs(response_times, results.priorities, MEDIAN),
        results=results,
    )


def query_line(view: QueryView) -> StatusLine:
    """What there is to say of a query."""
    response_times = view.results.took
    return StatusLine(
        name=view.query.name,
        query_class=view.query.query_class,
        state=view.state,
        error=view.error,
        waiting=view.waiting,
        oldest_wait=view.oldest_wait,
        response_time=response.summarise(response_times),
        runs=view.runs,
        tuples_in=view.tuples_in,
        tuples_out=view.tuples_out,
        dead_letters=view.dead_letters,
        late=view.late,
        skipped=view.skipped,
        sink=view.query.sink or "parquet",
        undelivered=view.undelivered,
        quality=NO_QUALITY if view.query.qos is None else qos.of_query(view.query.qos, response_times),
    )


def _class_line(name: str, members: Sequence[QueryView], response_time: Distribution, quality: Quality) -> StatusLine:
    """What there is to say of a class: its queries together, and the results that they had while they were in it."""
    return StatusLine(
        name=name,
        query_class=name,
        state="running",
        error="",
        waiting=sum(view.waiting for view in members),
        oldest_wait=max((view.oldest_wait for view in members), default=0.0),
        response_time=response_time,
        runs=sum(view.runs for view in members),
        tuples_in=sum(view.tuples_in for view in members),
        tuples_out=sum(view.tuples_out for view in members),
        dead_letters=sum(view.dead_letters for view in members),
        late=sum(view.late for view in members),
        quality=quality,
    )


def _journal(overview: Overview) -> tuple[Entry, ...]:
    changes = overview.newest
    return tuple(Entry(change.at, change.query, change.before, change.after, change.reason) for change in changes)


def _cells(line: StatusLine, indent: bool) -> list[object]:
    """A line of the table in a notebook: a query, or a class."""
    times = (line.oldest_wait, line.response_time.p50, line.response_time.p95)
    counts = (line.runs, line.tuples_in, line.tuples_out, line.dead_letters)
    name = f"\u2003{line.name}" if indent else line.name
    return [name, line.state if indent else "", line.waiting, *times, *counts, line.error]


def _failed(names: Sequence[str]) -> str:
    return f"; failed: {', '.join(names)}" if names else ""
