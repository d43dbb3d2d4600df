"""What results took lately, noted every few seconds whether somebody looks or not: the small curves of a dashboard."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from headgate.metrics.measures.latency import WINDOWS, of_counts
from headgate.model.names import SEPARATOR
from headgate.server.live.numbers import QueryNumbers
from headgate.server.live.response_times import rounded
from headgate.server.live.snapshots import Snapshot

EACH = 5.0  # seconds between two samples
KEPT = 120  # samples: ten minutes
WINDOW = "last_10_s"  # that percentiles are of
_PLACE = list(WINDOWS).index(WINDOW)


@dataclass(frozen=True, slots=True)
class ClassSample:
    """A class at one moment: what its results took in the last 10 s (None without any), and what waits."""

    p50: float | None
    p95: float | None
    waiting: int
    rate: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment."""

    at: float  # seconds since 1970
    classes: Mapping[str, Mapping[str, ClassSample]]  # by tenant, of its own queries; of all queries under ""
    queries: Mapping[str, float]  # p95 by the whole name of a query; one without results is missing


class LatencyLog:
    """The samples of the last ten minutes. One thread adds, and any may ask."""

    def __init__(self, kept: int = KEPT) -> None:
        self._samples: deque[Sample] = deque(maxlen=kept)

    def add(self, snapshot: Snapshot) -> None:
        """Note what a snapshot tells, unless that is the one of the last time."""
        at = round(snapshot.at, 3)
        if not self._samples or self._samples[-1].at < at:
            self._samples.append(_sample(at, snapshot))

    def since(self, after: float | None) -> list[Sample]:
        """The samples after a time, or all, the oldest first."""
        return [sample for sample in self._samples.copy() if after is None or sample.at > after]


def _sample(at: float, snapshot: Snapshot) -> Sample:
    groups: dict[str, dict[str, list[QueryNumbers]]] = {"": {name: [] for name in snapshot.overview.classes}}
    queries: dict[str, float] = {}
    for name, query in snapshot.queries.items():
        tenant, found, _ = name.rpartition(SEPARATOR)
        for whose in {"", tenant} if found else {""}:
            groups.setdefault(whose, {}).setdefault(query.view.query.query_class, []).append(query)
        p95 = query.times.latency[WINDOW].get("p95")
        if p95 is not None:
            queries[name] = p95
    classes = {
        tenant: {name: _class_sample(members) for name, members in by_class.items()}
        for tenant, by_class in groups.items()
    }
    return Sample(at, classes, queries)


def _class_sample(queries: Iterable[QueryNumbers]) -> ClassSample:
    chosen = list(queries)
    counts = [query.times.counts[_PLACE] for query in chosen if query.times.latency[WINDOW]["count"]]
    latency = of_counts(np.sum(counts, axis=0), 0.0) if counts else None
    return ClassSample(
        None if latency is None or latency.p50 is None else rounded(latency.p50),
        None if latency is None or latency.p95 is None else rounded(latency.p95),
        sum(query.view.waiting for query in chosen),
        round(sum(query.view.rate for query in chosen), 3),
    )
