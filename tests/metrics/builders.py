"""Small records, written the way the tests think of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from headgate.metrics import QueryRecords, Records
from headgate.model import QoS


def query(
    name: str,
    results: Sequence[tuple[float, float]],
    query_class: str = "only",
    *,
    ideal: float = 1.0,
    qos: QoS | None = None,
) -> QueryRecords:
    """A query whose results are (arrival, emission)."""
    records = QueryRecords(name, ideal, qos, [(0.0, query_class)])
    records.arrival.extend(arrival for arrival, _ in results)
    records.emission.extend(emission for _, emission in results)
    return records


def responses(
    name: str, emissions: Sequence[float], responses: Sequence[float], query_class: str = "only"
) -> QueryRecords:
    """A query that emits at these times results of these response times."""
    return query(name, [(e - r, e) for e, r in zip(emissions, responses, strict=True)], query_class)


def random_records(seed: int, results: int, classes: int = 3, seconds: float = 20.0) -> Records:
    """Many results of one query per class, slower from class to class."""
    rng = np.random.default_rng(seed)
    queries = []
    for number in range(classes):
        arrival = np.sort(rng.uniform(0.0, seconds, results // classes))
        emission = arrival + 0.001 * (number + 1)
        record = QueryRecords(f"q{number}", 0.001, classes=[(0.0, f"class-{number}")])
        record.arrival, record.emission = array("d", arrival.tobytes()), array("d", emission.tobytes())
        queries.append(record)
    priorities = {f"class-{number}": float(10 * (classes - number)) for number in range(classes)}
    return Records(queries, priorities, seconds=seconds + 1, busy=5.0)
