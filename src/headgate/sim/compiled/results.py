"""Results, sorted by query as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from headgate.metrics import QueryRecords
from headgate.metrics.records.aggregates import Aggregates
from headgate.sim.compiled.jit import entry
from headgate.sim.compiled.tables import Array


class Results(Protocol):
    """Takes results: query, arrival, emission, reference."""

    def take(self, results: Array) -> None: ...


@entry
def by_query(query: Array, columns: tuple[Array, Array, Array], queries: int) -> tuple[Array, Array, Array, Array]:
    """Where the results of each query begin, and the columns by query."""
    begins = np.zeros(queries + 1, np.int64)
    for place in range(len(query)):
        begins[query[place] + 1] += 1
    for number in range(queries):
        begins[number + 1] += begins[number]
    following = begins[:-1].copy()
    arrival, emission, reference = np.empty(len(query)), np.empty(len(query)), np.empty(len(query))
    for place in range(len(query)):
        at = following[query[place]]
        following[query[place]] = at + 1
        arrival[at], emission[at], reference[at] = columns[0][place], columns[1][place], columns[2][place]
    return begins, arrival, emission, reference


class RecordedResults:
    """Appends results to the records of their queries."""

    def __init__(self, records: Sequence[QueryRecords]) -> None:
        self._records = records

    def take(self, results: Array) -> None:
        columns = (results["arrival"], results["emission"], results["reference"])
        begins, *sorted_columns = by_query(results["query"], columns, len(self._records))
        arrival, emission, reference = (memoryview(column).cast("B") for column in sorted_columns)
        places = (begins * results["arrival"].itemsize).tolist()
        for records, begin, end in zip(self._records, places, places[1:], strict=False):
            records.arrival.frombytes(arrival[begin:end])
            records.emission.frombytes(emission[begin:end])
            if records.reference is not None:
                records.reference.frombytes(reference[begin:end])


class CountedResults:
    """Counts results, and keeps none."""

    def __init__(self, seen: Aggregates) -> None:
        self._seen = seen

    def take(self, results: Array) -> None:
        self._seen.add(results["query"], results["arrival"], results["emission"], results["reference"])
