"""The records of a run: columns that a driver appends to on its hot path, from which every measure is computed.

All times are seconds since the run began.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headgate.metrics.records import result_table
from headgate.metrics.records.class_order import by_priority
from headgate.metrics.records.queue_series import QueueSeries
from headgate.metrics.records.result_columns import ResultColumns, doubles
from headgate.model import QoS, Target

__all__ = ["ClassResults", "QueryRecords", "QueueSeries", "Records"]


@dataclass(slots=True)
class QueryRecords:
    """The results of one query, in the order in which they were emitted.

    A driver binds `arrival.append` and `emission.append` once and calls them per result. A composite tuple of a
    window join has a `reference` too: its ideal departure less the ideal time, so that waiting for the
    partner is not charged to the scheduler (Sharaf et al. 2006).

    >>> q = QueryRecords("q", ideal_time=0.5, classes=[(0.0, "low"), (2.0, "high")])
    >>> q.arrival.extend([0.0, 1.0]); q.emission.extend([1.0, 3.0])
    >>> [(results.query_class, results.columns.slowdown.tolist()) for results in q.class_results()]
    [('low', [2.0]), ('high', [4.0])]
    """

    query: str
    ideal_time: float
    qos: QoS | None = None
    classes: list[tuple[float, str]] = field(default_factory=list)  # (from, class), times rising
    arrival: array[float] = field(default_factory=doubles)
    emission: array[float] = field(default_factory=doubles)
    reference: array[float] | None = None  # None: the arrival
    target: Target | None = None  # how soon results were wanted

    @property
    def query_class(self) -> str:
        """The class it is in now."""
        return self.classes[-1][1]

    def columns(self) -> ResultColumns:
        since = self.arrival if self.reference is None else self.reference
        return ResultColumns.of(self.arrival, self.emission, since, self.ideal_time)

    def class_results(self) -> Iterator[ClassResults]:
        """Its results by class; a result belongs to the class the query was in when it was emitted."""
        columns = self.columns()
        names = list(dict.fromkeys(name for _, name in self.classes))
        if len(names) == 1:
            yield ClassResults(self, names[0], columns)
            return
        starts = [start for start, _ in self.classes[1:]]
        position = np.array([names.index(name) for _, name in self.classes])
        belongs = position[np.searchsorted(starts, columns.emission, side="right")]
        for number, name in enumerate(names):
            yield ClassResults(self, name, columns.where(belongs == number))


class ClassResults(NamedTuple):
    """The results that one query had while it was in one class."""

    query: QueryRecords
    query_class: str
    columns: ResultColumns


@dataclass(slots=True)
class Records:
    """Everything recorded of a run: the input of all measures.

    >>> q = QueryRecords("q", 0.5, classes=[(0.0, "only")])
    >>> q.arrival.append(0.0); q.emission.append(2.0)
    >>> Records([q], {"only": 1.0}).table()["slowdown"].to_pylist()
    [4.0]
    """

    queries: list[QueryRecords]
    priorities: dict[str, float]  # of every class, as they are at the end
    queue: QueueSeries = field(default_factory=QueueSeries)
    seconds: float = 0.0  # when the run ended
    busy: float = 0.0  # core seconds spent running
    scheduling: float = 0.0  # core seconds charged for scheduling
    call_overhead: float = 0.0  # core seconds of calling operators, of all runs that began; among `busy`
    run_overhead: float = 0.0  # core seconds of starting runs, likewise
    workers: int = 1
    decisions: int = 0
    runs: int = 0
    tuples_in: dict[str, int] = field(default_factory=dict)  # by stream
    unfinished: int = 0  # tuples still waiting at the end
    updates: list[float] = field(default_factory=list)  # when the policy rebuilt its schedule
    cancelled: int = 0  # runs that gave way to something more important; among `runs`
    cancelled_seconds: float = 0.0  # core seconds that they had taken; among `busy`
    path: str = "general"  # of a simulation, how it was computed: general or compiled

    @property
    def span(self) -> float:
        """How long the run was, its last result included."""
        return max([self.seconds, *(query.emission[-1] for query in self.queries if query.emission)])

    @property
    def class_names(self) -> list[str]:
        """Classes by falling priority, equal ones by name."""
        return by_priority(self.priorities)

    def class_results(self) -> list[ClassResults]:
        return [results for query in self.queries for results in query.class_results()]

    def by_class(self, class_results: Sequence[ClassResults] | None = None) -> dict[str, ResultColumns]:
        """The results of every class, classes by falling priority."""
        parts: dict[str, list[ResultColumns]] = {name: [] for name in self.class_names}
        for results in self.class_results() if class_results is None else class_results:
            parts[results.query_class].append(results.columns)
        return {name: ResultColumns.join(columns) for name, columns in parts.items()}

    def table(self) -> pa.Table:
        """One row per result: query, class, arrival, emission, response_time, slowdown; by emission, then query."""
        rows = [(results.query.query, results.query_class, results.columns) for results in self.class_results()]
        return result_table.build(rows)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the table, as Parquet or CSV by the path's extension."""
        result_table.write(self.table(), path)
