"""Response times by query: of a history, or of a replay; and what is told of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.history.history import History
from headgate.model import Query, QueryClass, effective_target

POINTS = 5  # response times by which the results of a query's run are told, if they are more


@dataclass(frozen=True, slots=True)
class Times:
    """The response times of some results, in seconds; None if there was none."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    results: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"response_time": {"mean": self.mean, "p50": self.p50, "p95": self.p95}, "results": self.results}


@dataclass(slots=True)
class ResponseTimes:
    """Response times with how many results had each."""

    seconds: dict[str, array[float]] = field(default_factory=dict)  # by query
    counts: dict[str, array[float]] = field(default_factory=dict)

    def add(self, query: str, seconds: float, count: float) -> None:
        if query not in self.seconds:
            self.seconds[query], self.counts[query] = array("d"), array("d")
        self.seconds[query].append(max(0.0, seconds))
        self.counts[query].append(count)

    def extend(self, other: ResponseTimes) -> None:
        """Add all times of another one."""
        for query, seconds in other.seconds.items():
            self.seconds.setdefault(query, array("d")).extend(seconds)
            self.counts.setdefault(query, array("d")).extend(other.counts[query])

    def times(self, queries: Iterable[str]) -> Times:
        """What is told of the results of some queries.

        >>> times = ResponseTimes()
        >>> for seconds, count in ((0.1, 90), (2.0, 10)):
        ...     times.add("q", seconds, count)
        >>> times.times(["q"])
        Times(mean=0.29, p50=0.1, p95=2.0, results=100)
        """
        seconds, counts = self._of(queries)
        total = float(counts.sum())
        if not total:
            return Times()
        mean = float((seconds * counts).sum() / total)
        p50, p95 = (self.percentile(queries, share) for share in (50.0, 95.0))
        return Times(mean, p50, p95, round(total))

    def percentile(self, queries: Iterable[str], percentile: float) -> float | None:
        """The time within which so many percent of results came."""
        seconds, counts = self._of(queries)
        if not len(seconds):
            return None
        order = np.argsort(seconds, kind="stable")
        reached = np.cumsum(counts[order])
        place = int(np.searchsorted(reached, percentile / 100 * reached[-1] - 1e-9))
        return float(seconds[order[min(place, len(order) - 1)]])

    def _of(self, queries: Iterable[str]) -> tuple[np.ndarray[Any, np.dtype[np.float64]], ...]:
        names = [query for query in queries if query in self.seconds]
        parts = ([np.asarray(kept[name]) for name in names] for kept in (self.seconds, self.counts))
        first, second = (np.concatenate(part) if part else np.zeros(0) for part in parts)
        return first, second


def recorded_times(history: History) -> ResponseTimes:
    """The response times of a history, from arrivals to commits.

    Of each query's run it knows the mean and the longest: the others are spread evenly around the mean. Results of
    tuples that came before the history begins are left out, since no replay can have them.
    """
    found = ResponseTimes()
    began = min((chunks[0][0] for chunks in history.arrivals.values() if chunks), default=0.0)
    for run in history.runs:
        if run.cancelled:
            continue
        for query, answer in run.answers.items():
            if answer.oldest_arrival < began:
                continue
            mean = run.ended - answer.mean_arrival
            reach = min(answer.mean_arrival - answer.oldest_arrival, mean)
            points = min(answer.count, POINTS)
            for point in range(points):
                place = 2 * (point + 0.5) / points - 1
                found.add(query, mean + place * reach, answer.count / points)
    return found


@dataclass(frozen=True, slots=True)
class Judged:
    """What is told of a run, recorded or replayed."""

    policy: str
    classes: Mapping[str, Times]
    overall: Times
    targets: Mapping[str, bool]  # met or not, by query; without those that have none
    queries: Mapping[str, Times] = field(default_factory=dict)
    sinks: Mapping[str, Times] = field(default_factory=dict)  # by class: how long after commits sinks had results

    @classmethod
    def of(
        cls,
        policy: str,
        times: ResponseTimes,
        queries: Mapping[str, Query],
        classes: Mapping[str, QueryClass],
        delays: ResponseTimes | None = None,
    ) -> Judged:
        by_class: dict[str, list[str]] = {name: [] for name in classes}
        for query in queries.values():
            by_class.setdefault(query.query_class, []).append(query.name)
        targets: dict[str, bool] = {}
        for query in queries.values():
            target = effective_target(query, classes[query.query_class])
            if target is not None:
                reached = times.percentile([query.name], target.percentile)
                targets[query.name] = reached is not None and reached <= target.limit
        used = {name: times.times(names) for name, names in by_class.items() if names}
        by_query = {name: times.times([name]) for name in queries}
        after = {} if delays is None else {name: delays.times(names) for name, names in by_class.items()}
        sinks = {name: times for name, times in after.items() if times.results}
        return cls(policy, used, times.times(queries), targets, by_query, sinks)

    @property
    def met(self) -> int:
        return sum(self.targets.values())

    def to_json(self) -> dict[str, Any]:
        tree: dict[str, Any] = {"classes": {name: times.to_json() for name, times in self.classes.items()}}
        for name, times in self.sinks.items():
            tree["classes"][name]["sink_delay"] = times.to_json()["response_time"]
        tree["overall"] = self.overall.to_json()
        if self.targets:
            tree["targets"] = {"met": self.met, "of": len(self.targets), "queries": dict(self.targets)}
        return tree
