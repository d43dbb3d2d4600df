"""How an engine is doing, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.spark.engine import Engine
from headgate.spark.running import RunningQuery


@dataclass(frozen=True, slots=True)
class ResponseTime:
    """Seconds from a result's last tuple to its durable commit; None before the first result."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, times: Sequence[float]) -> ResponseTime:
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
            "streams": {name: self._stream(name) for name in self.dead_letters},
        }

    def _stream(self, name: str) -> dict[str, Any]:
        told: dict[str, Any] = {"dead_letters": self.dead_letters[name]}
        return {**told, "error": self.source_errors[name]} if name in self.source_errors else told


def status(engine: Engine, began: float) -> Status:
    """Look at an engine; consistent, because nothing moves meanwhile."""
    with engine.lock:
        network = engine.scheduler.network
        members: dict[str, list[RunningQuery]] = {name: [] for name in network.classes}
        for running in engine.queries.values():
            members[engine.class_of(running.name)].append(running)
        ranked = sorted(network.classes.values(), key=lambda known: (-known.priority, known.name))
        return Status(
            policy=str(engine.scheduler.policy),
            seconds=engine.now() - began,
            runs=engine.carrier.runs,
            spark_jobs=engine.runner.jobs,
            classes=tuple(_class_line(engine, known.name, members[known.name]) for known in ranked),
            queries=tuple(_query_line(engine, one) for known in ranked for one in members[known.name]),
            doing=tuple(_doing(engine, worker) for worker in range(engine.workers)),
            dead_letters={name: letters.count() for name, letters in engine.intake.letters.items()},
        )


def _query_line(engine: Engine, running: RunningQuery) -> Line:
    tally = running.tally
    waiting, oldest = engine.dispatch.waiting(running)
    return Line(
        name=running.name,
        query_class=engine.class_of(running.name),
        state=running.state,
        error=running.error,
        waiting=waiting,
        oldest_wait=oldest,
        response_time=ResponseTime.of(tally.responses),
        runs=tally.runs,
        tuples_in=tally.tuples_in,
        tuples_out=tally.tuples_out,
        dead_letters=tally.dead_letters,
        late=tally.late,
        skipped=running.skipped,
        sink=running.query.sink or "parquet",
    )


def _class_line(engine: Engine, name: str, members: Iterable[RunningQuery]) -> Line:
    lines = [_query_line(engine, running) for running in members]
    times = [time for running in members for time in running.tally.responses]
    return Line(
        name=name,
        query_class=name,
        state="running",
        error="",
        waiting=sum(line.waiting for line in lines),
        oldest_wait=max((line.oldest_wait for line in lines), default=0.0),
        response_time=ResponseTime.of(times),
        runs=sum(line.runs for line in lines),
        tuples_in=sum(line.tuples_in for line in lines),
        tuples_out=sum(line.tuples_out for line in lines),
        dead_letters=sum(line.dead_letters for line in lines),
        late=sum(line.late for line in lines),
    )


def _doing(engine: Engine, worker: int) -> str:
    run = engine.doing.get(worker)
    return "" if run is None else f"{', '.join(map(str, run.units))}: {run.tuples} tuples"
