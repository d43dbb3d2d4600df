"""How an engine is doing, for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.spark.engine.engine import Engine
from headgate.spark.machine.views import Overview, QueryView
from headgate.spark.store.journal import Entry


@dataclass(frozen=True, slots=True)
class ResponseTime:
    """Seconds from a result's last tuple to its durable commit; None before the first result."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, times: Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]) -> ResponseTime:
        if not len(times):
            return cls()
        values = np.asarray(times)
        p50, p95 = np.percentile(values, [50, 95])
        return cls(float(values.mean()), float(p50), float(p95), float(values.max()))

    def to_json(self) -> dict[str, float | None]:
        return {"mean": self.mean, "p50": self.p50, "p95": self.p95, "max": self.max}


@dataclass(frozen=True, slots=True)
class Line:
    """What there is to say of a query, or of a class of queries."""

    name: str
    query_class: str
    state: str
    error: str
    waiting: int
    oldest_wait: float
    response_time: ResponseTime
    runs: int
    tuples_in: int
    tuples_out: int
    dead_letters: int
    late: int = 0  # tuples that came after their windows had closed
    skipped: int = 0  # tuples over which it lost its place
    sink: str = ""
    undelivered: int = 0  # bytes of committed results that its sink has yet to take

    def to_json(self) -> dict[str, Any]:
        return {
            "response_time": self.response_time.to_json(),
            "tuples_in": self.tuples_in,
            "tuples_out": self.tuples_out,
            "dead_letters": self.dead_letters,
            "late": self.late,
        }


@dataclass(frozen=True, slots=True)
class Status:
    """A snapshot of an engine."""

    policy: str
    seconds: float
    runs: int
    spark_jobs: int
    classes: tuple[Line, ...]  # by falling priority
    queries: tuple[Line, ...]
    doing: tuple[str, ...]  # what each worker runs now, "" for nothing
    dead_letters: dict[str, int]  # by stream
    source_errors: dict[str, str] = field(default_factory=dict)  # by stream: why its source was given up
    policy_error: str = ""  # why the last policy that failed was taken out
    spark_error: str = ""  # why Spark is away; empty: it is there
    journal: tuple[Entry, ...] = ()  # the newest changes of queries' states

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
        }

    def _stream(self, name: str) -> dict[str, Any]:
        told: dict[str, Any] = {"dead_letters": self.dead_letters[name]}
        return {**told, "error": self.source_errors[name]} if name in self.source_errors else told


def status(engine: Engine, began: float) -> Status:
    """Look at an engine; consistent, because all of it is of one moment."""
    seen = engine.overview()
    members: dict[str, list[QueryView]] = {name: [] for name in seen.classes}
    for view in seen.queries:
        members[view.query.query_class].append(view)
    ranked = sorted(seen.classes.values(), key=lambda known: (-known.priority, known.name))
    return Status(
        policy=seen.policy,
        seconds=engine.now() - began,
        runs=seen.runs,
        spark_jobs=engine.runner.jobs,
        classes=tuple(_class_line(known.name, members[known.name]) for known in ranked),
        queries=tuple(query_line(view) for known in ranked for view in members[known.name]),
        doing=seen.doing,
        dead_letters={name: letters.count() for name, letters in engine.ingest.letters.items()},
        policy_error=seen.policy_error,
        spark_error=seen.spark_error,
        journal=_journal(seen),
    )


def query_line(view: QueryView) -> Line:
    """What there is to say of a query."""
    return Line(
        name=view.query.name,
        query_class=view.query.query_class,
        state=view.state,
        error=view.error,
        waiting=view.waiting,
        oldest_wait=view.oldest_wait,
        response_time=ResponseTime.of(view.responses),
        runs=view.runs,
        tuples_in=view.tuples_in,
        tuples_out=view.tuples_out,
        dead_letters=view.dead_letters,
        late=view.late,
        skipped=view.skipped,
        sink=view.query.sink or "parquet",
        undelivered=view.undelivered,
    )


def _class_line(name: str, members: Sequence[QueryView]) -> Line:
    times = np.concatenate([np.empty(0), *(view.responses for view in members)])
    return Line(
        name=name,
        query_class=name,
        state="running",
        error="",
        waiting=sum(view.waiting for view in members),
        oldest_wait=max((view.oldest_wait for view in members), default=0.0),
        response_time=ResponseTime.of(times),
        runs=sum(view.runs for view in members),
        tuples_in=sum(view.tuples_in for view in members),
        tuples_out=sum(view.tuples_out for view in members),
        dead_letters=sum(view.dead_letters for view in members),
        late=sum(view.late for view in members),
    )


def _journal(seen: Overview) -> tuple[Entry, ...]:
    return tuple(Entry(one.at, one.query, one.before, one.after, one.reason) for one in seen.newest)
