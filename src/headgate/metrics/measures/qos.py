"""Quality of service: what results were worth at the latency they had, and which came too late (Carney 2005)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headgate.metrics.records.result_columns import Floats
from headgate.metrics.records.run_records import ClassResults
from headgate.model import GRACE, QoS


@dataclass(frozen=True, slots=True)
class Quality:
    """Utility, averaged over queries and over tuples, and results after their deadline.

    All None where no query has a graph; the means are None where those that have one gave no results.
    """

    mean: float | None = None
    per_tuple: float | None = None
    missed: int | None = None


class _Worth(NamedTuple):
    utility: float
    results: int
    missed: int


def utility(graph: QoS, response: Floats) -> Floats:
    """The utility of every result.

    >>> utility(QoS.of([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]]), np.array([0.5, 2.0, 9.0])).round(6).tolist()
    [1.0, 0.5, 0.0]
    """
    latencies, utilities = zip(*graph.points, strict=True)
    values: Floats = np.interp(response - GRACE, latencies, utilities)
    return values


def missed(graph: QoS, response: Floats) -> int:
    """How many results came later than the graph's deadline.

    >>> missed(QoS.of([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]]), np.array([0.5, 1.0, 1.5]))
    1
    """
    return int(np.count_nonzero(response - GRACE > graph.deadline))


def summarise(class_results: Iterable[ClassResults]) -> Quality:
    """The quality of some queries' results: the mean over queries of the mean over their results, and per tuple."""
    worths: dict[str, list[_Worth]] = {}
    for results in class_results:
        if results.query.qos is not None:
            worths.setdefault(results.query.query, []).append(_worth(results.query.qos, results.columns.response))
    if not worths:
        return Quality()
    return _quality([_total(parts) for parts in worths.values()])


def _quality(totals: list[_Worth]) -> Quality:
    """From one entry per query."""
    means = [total.utility / total.results for total in totals if total.results]
    everything = _total(totals)
    if not means:
        return Quality(missed=0)
    return Quality(sum(means) / len(means), everything.utility / everything.results, everything.missed)


def of_query(graph: QoS, response: Floats) -> Quality:
    """The quality of one query's results.

    >>> of_query(QoS.of([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]]), np.array([0.5, 2.0])).missed
    1
    """
    return _quality([_worth(graph, response)])


def _worth(graph: QoS, response: Floats) -> _Worth:
    return _Worth(float(utility(graph, response).sum()), len(response), missed(graph, response))


def _total(parts: list[_Worth]) -> _Worth:
    return _Worth(sum(p.utility for p in parts), sum(p.results for p in parts), sum(p.missed for p in parts))
