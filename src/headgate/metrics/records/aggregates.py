"""Results counted and summed as they come, for runs with more of them than memory holds.

Counts, means, maxima and ℓ2 norms are those of all results. Percentiles come from buckets that are 1 % wide, so they
are at most 0.5 % off, as long as response times lie between a nanosecond and a hundred days. Measures over time have
at most `MOST_BINS` bins: a longer run has wider ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.measures.over_time import Bins, OverTime
from headgate.metrics.measures.response import LEVELS, PERCENTILES, Distribution
from headgate.metrics.measures.slowdown import Slowdown
from headgate.metrics.measures.throughput import Throughput
from headgate.metrics.records.result_columns import Floats
from headgate.metrics.records.run_records import QueryRecords

Numbers = NDArray[np.int64]
SHORTEST = 1e-9  # seconds; what takes less is counted as this
STEP = 1.01  # from one bucket to the next
BUCKETS = 3700
MOST_BINS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over the results of some queries."""

    count: int
    response: float
    longest: float
    defined: int  # results whose slowdown is defined
    slowdown: float
    largest: float
    squares: float
    buckets: Numbers

    def distribution(self) -> Distribution:
        """Their response times."""
        if not self.count:
            return Distribution()
        places = np.searchsorted(np.cumsum(self.buckets), np.ceil(np.array(PERCENTILES) / 100 * self.count))
        middles = np.minimum(SHORTEST * STEP**places, self.longest)
        values = [self.response / self.count, *middles.tolist(), self.longest]
        return Distribution(**dict(zip(LEVELS, values, strict=True)))

    def slowdowns(self) -> Slowdown:
        """Their slowdowns."""
        if not self.defined:
            return Slowdown()
        return Slowdown(self.slowdown / self.defined, self.largest, self.squares**0.5)


class Aggregates:
    """Results of all queries, by query, and by class over time.

    >>> q = QueryRecords("q", ideal_time=0.5, classes=[(0.0, "only")])
    >>> seen = Aggregates([q], duration=10.0, bin=0.1)
    >>> seen.add(np.array([0, 0]), np.array([0.0, 0.0]), np.array([0.5, 1.0]), np.array([0.0, 0.0]))
    >>> seen.of(["q"]).slowdowns().mean, seen.of(["q"]).distribution().max
    (1.5, 1.0)
    """

    def __init__(self, queries: Sequence[QueryRecords], duration: float, bin: float, end: float = np.inf) -> None:
        self.queries = list(queries)
        self.bin = max(bin, duration / MOST_BINS)
        self._end = end  # results after it do not count
        self._place = {query.query: place for place, query in enumerate(self.queries)}
        self._classes = sorted({query.query_class for query in self.queries})
        self._class = np.array([self._classes.index(query.query_class) for query in self.queries])
        self._ideal = np.array([query.ideal_time for query in self.queries])
        count = len(self.queries)
        self._count, self._defined = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._response, self._slowdown, self._squares = np.zeros(count), np.zeros(count), np.zeros(count)
        self._longest, self._largest = np.zeros(count), np.full(count, -np.inf)
        self._buckets = np.zeros((count, BUCKETS), np.int64)
        self._by_bin = _OverTime(len(self._classes), self.bin)
        self._by_second = _OverTime(len(self._classes), max(1.0, duration / MOST_BINS))
        self.last = 0.0  # emission

    def add(self, query: Numbers, arrival: Floats, emission: Floats, reference: Floats) -> None:
        """Count some results; queries are given by their places."""
        if self._end < np.inf:
            kept = emission <= self._end
            query, arrival, emission, reference = query[kept], arrival[kept], emission[kept], reference[kept]
        if not len(query):
            return
        response, queries = emission - arrival, len(self.queries)
        self._count += np.bincount(query, minlength=queries)
        self._response += np.bincount(query, response, queries)
        np.maximum.at(self._longest, query, response)
        numbers = np.rint(np.log(np.maximum(response, SHORTEST) / SHORTEST) * (1 / np.log(STEP))).astype(np.int64)
        np.add.at(self._buckets, (query, np.minimum(numbers, BUCKETS - 1)), 1)
        self._add_slowdowns(query, emission - reference)
        self._by_bin.add(self._class[query], arrival, emission, response)
        self._by_second.add(self._class[query], arrival, emission, response)
        self.last = max(self.last, float(emission.max()))

    def _add_slowdowns(self, query: Numbers, seconds: Floats) -> None:
        ideal, queries = self._ideal[query], len(self.queries)
        if not ideal.all():
            query, seconds, ideal = query[ideal > 0], seconds[ideal > 0], ideal[ideal > 0]
        slowdown = seconds / ideal
        self._defined += np.bincount(query, minlength=queries)
        self._slowdown += np.bincount(query, slowdown, queries)
        self._squares += np.bincount(query, slowdown * slowdown, queries)
        np.maximum.at(self._largest, query, slowdown)

    def of(self, names: Sequence[str]) -> Sums:
        """Some queries together."""
        places = [self._place[name] for name in names]
        if not places:
            return Sums(0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, np.zeros(BUCKETS, np.int64))
        return Sums(
            int(self._count[places].sum()),
            float(self._response[places].sum()),
            float(self._longest[places].max()),
            int(self._defined[places].sum()),
            float(self._slowdown[places].sum()),
            float(self._largest[places].max()),
            float(self._squares[places].sum()),
            self._buckets[places].sum(axis=0),
        )

    def over_time(self, bins: Bins, names: Sequence[str]) -> OverTime:
        """Classes over time, in these bins; a result belongs to the one in which its own narrow bin begins."""
        return self._by_bin.over_time(bins, {name: self._numbers(name) for name in names})

    def throughput(self, span: float, query_class: str | None = None) -> Throughput:
        """Results per second, of a class or of all; no deviation where a run is too long to count seconds."""
        numbers = range(len(self._classes)) if query_class is None else self._numbers(query_class)
        counts = self._by_second.results[list(numbers)].sum(axis=0)
        if span <= 0:
            return Throughput()
        whole = int(span + 1e-9)
        if not whole or self._by_second.width > 1.0:
            return Throughput(float(counts.sum()) / span, None)
        seconds = np.zeros(whole, np.int64)
        seconds[: len(counts)] = counts[:whole]
        return Throughput(float(counts.sum()) / span, float(seconds.std()))

    def _numbers(self, query_class: str) -> list[int]:
        return [self._classes.index(query_class)] if query_class in self._classes else []


class _OverTime:
    """Sums by class and bin; bins are added as they are needed."""

    def __init__(self, classes: int, width: float) -> None:
        self.width = width
        self.results = np.zeros((classes, 1024), np.int64)
        self._arrivals = np.zeros((classes, 1024), np.int64)
        self._response = np.zeros((classes, 1024))

    def add(self, classes: Numbers, arrival: Floats, emission: Floats, response: Floats) -> None:
        at, came = self._bins(emission), self._bins(arrival)
        self._make_room(int(at.max()) + 1)
        shape = self.results.shape
        first = int(came.min())  # of the few bins that these results are in
        behind = int(at.max()) + 1
        width = behind - first
        place = classes * width
        size = shape[0] * width
        part = (slice(None), slice(first, behind))
        self.results[part] += np.bincount(place + at - first, minlength=size).reshape(shape[0], width)
        self._arrivals[part] += np.bincount(place + came - first, minlength=size).reshape(shape[0], width)
        self._response[part] += np.bincount(place + at - first, response, size).reshape(shape[0], width)

    def over_time(self, bins: Bins, classes: Mapping[str, Sequence[int]]) -> OverTime:
        middles: Floats = (np.arange(self.results.shape[1], dtype=np.float64) + 0.5) * np.float64(self.width)
        at = bins.index(middles)

        def summed(values: NDArray[Any], name: str) -> Floats:
            sums: Floats = values[list(classes[name])].sum(axis=0).astype(np.float64)
            return np.bincount(at, weights=sums, minlength=bins.count).astype(np.float64)

        counts = {name: summed(self.results, name) for name in classes}
        means = {}
        for name, count in counts.items():
            means[name] = np.full(bins.count, np.nan)
            np.divide(summed(self._response, name), count, out=means[name], where=count > 0)
        arrivals = {name: summed(self._arrivals, name).astype(np.int64) for name in classes}
        return OverTime(bins, means, {name: count.astype(np.int64) for name, count in counts.items()}, arrivals)

    def _bins(self, times: Floats) -> Numbers:
        return np.floor(times / self.width + 1e-9).astype(np.int64)

    def _make_room(self, bins: int) -> None:
        missing = bins - self.results.shape[1]
        if missing > 0:
            wider = ((0, 0), (0, max(missing, self.results.shape[1])))
            self.results, self._arrivals = np.pad(self.results, wider), np.pad(self._arrivals, wider)
            self._response = np.pad(self._response, wider)
