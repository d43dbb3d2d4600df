"""Parts of a report: one class, one query, the scheduling itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate.metrics import qos, response, slowdown, throughput
from headgate.metrics.columns import Columns
from headgate.metrics.qos import Quality
from headgate.metrics.records import Piece, Records
from headgate.metrics.response import Distribution
from headgate.metrics.slowdown import Slowdown
from headgate.metrics.throughput import Throughput


@dataclass(frozen=True, slots=True)
class Scheduling:
    """What deciding took; `share` is of all cores' time."""

    decisions: int
    runs: int
    seconds: float
    share: float | None


@dataclass(frozen=True, slots=True)
class ClassReport:
    """One class: all results of its queries together."""

    priority: float
    response_time: Distribution
    slowdown: Slowdown
    qos: Quality
    results: int
    throughput: Throughput


@dataclass(frozen=True, slots=True)
class QueryReport:
    """One query, with the class it is in now."""

    query_class: str
    response_time: Distribution
    slowdown: Slowdown
    qos: Quality
    results: int


def classes(records: Records, pieces: Sequence[Piece], by_class: Mapping[str, Columns]) -> dict[str, ClassReport]:
    """Every class, by falling priority."""
    return {
        name: ClassReport(
            priority=records.priorities[name],
            response_time=response.summarise(columns.response),
            slowdown=slowdown.summarise(columns.slowdown),
            qos=qos.summarise(piece for piece in pieces if piece.query_class == name),
            results=len(columns),
            throughput=throughput.summarise(columns.emission, records.span),
        )
        for name, columns in by_class.items()
    }


def queries(pieces: Sequence[Piece]) -> dict[str, QueryReport]:
    """Every query, its results in all classes together."""
    by_query: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        by_query[piece.query.query].append(piece)
    return {name: _query(parts) for name, parts in by_query.items()}


def _query(pieces: Sequence[Piece]) -> QueryReport:
    columns = Columns.join([piece.columns for piece in pieces])
    return QueryReport(
        query_class=pieces[0].query.query_class,
        response_time=response.summarise(columns.response),
        slowdown=slowdown.summarise(columns.slowdown),
        qos=qos.summarise(pieces),
        results=len(columns),
    )


def scheduling(records: Records) -> Scheduling:
    """What deciding took."""
    taken = records.scheduling
    return Scheduling(records.decisions, records.runs, taken, share(taken, records))


def share(core_seconds: float, records: Records) -> float | None:
    """The part of all cores' time.

    >>> share(3.0, Records([], {}, seconds=2.0, workers=3))
    0.5
    """
    total = records.seconds * records.workers
    return core_seconds / total if total > 0 else None
