"""What the results of a query took lately, computed again only if something has changed.

`Session.status` computes exact distributions over tens of thousands of results for each query, which takes most of a
second with a thousand queries. Here a query without new results costs some microseconds, and classes are summed up from
counts in buckets: their percentiles are at most 2.5 % off.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from headgate.metrics.measures.latency import BUCKETS, WINDOWS, Counts, Floats, Latency, bucket, of_counts
from headgate.metrics.measures.targets import reached
from headgate.spark.machine.recent_results import Committed
from headgate.spark.machine.views import QueryView

LEVELS = (("p50", 50), ("p95", 95), ("p99", 99))
LENGTHS = tuple(WINDOWS.values())
MOST_SUMS = 1000  # classes of tenants whose sums are kept


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """What results took in each of the windows, and how many there were by bucket."""

    latency: dict[str, dict[str, float]]
    counts: Counts  # by window and bucket
    totals: Floats  # seconds, by window
    reached: float | None = None  # by the target's percentile of results in the last 10 s


NO_COUNTS: Counts = np.zeros((len(WINDOWS), BUCKETS), np.int64)
NONE = ResponseTimes({name: {"count": 0} for name in WINDOWS}, NO_COUNTS, np.zeros(len(WINDOWS)))


class TimesCache:
    """The response times of queries, kept until results come or leave a window.

    The last 10 s are always exact. A longer window is computed again when at least `tolerance` of it is different, or
    something is, and a thirtieth of its length has passed.
    """

    def __init__(self, tolerance: float = 0.05) -> None:
        self._tolerance = tolerance
        self._kept: dict[str, _Kept] = {}

    def of(self, view: QueryView, now: float) -> ResponseTimes:
        """The response times of a query now."""
        if not view.recent and not view.dropped:
            return NONE
        kept = self._kept.get(view.query.name)
        if kept is None:
            kept = self._kept[view.query.name] = _Kept()
        return kept.times(view, now, self._tolerance)

    def keep(self, queries: Iterable[str]) -> None:
        """Forget all queries but these."""
        gone = self._kept.keys() - set(queries)
        for name in gone:
            del self._kept[name]


class _Kept:
    """The newest results of one query in arrays that grow, and what was computed of them."""

    __slots__ = (
        "_at",
        "_begins",
        "_buckets",
        "_computed",
        "_dropped",
        "_end",
        "_newest",
        "_oldest",
        "_percentile",
        "_times",
        "_took",
    )

    def __init__(self) -> None:
        self._oldest: Committed | None = None  # the first chunk that was seen
        self._newest: Committed | None = None  # the last one, up to which results are in the arrays
        self._at, self._took, self._buckets = np.empty(0), np.empty(0), np.empty(0, np.int64)
        self._end = 0  # of what is used of the arrays
        self._begins: list[int] = []  # of each window
        self._computed: list[tuple[int, int, float]] = []  # of each window: from where to where, and when
        self._dropped: tuple[int, ...] = ()
        self._percentile: float | None = None
        self._times = NONE

    def times(self, view: QueryView, now: float, tolerance: float) -> ResponseTimes:
        """What results took by now."""
        came = self._follow(view, now)
        begins = self._at[: self._end].searchsorted([now - length for length in LENGTHS]).tolist()
        dropped = _dropped_places(view, now)
        percentile = None if view.target is None else view.target.target.percentile
        whole = came is None or dropped != self._dropped or percentile != self._percentile
        self._begins, self._dropped, self._percentile = begins, dropped, percentile
        if whole or any(self._is_due(number, now, tolerance) for number in range(len(LENGTHS))):
            self._times = self._compute(view, now, tolerance, whole)
        return self._times

    def _follow(self, view: QueryView, now: float) -> int | None:
        """Take over results that are new; how many, or None if everything was taken anew."""
        chunks = view.recent
        oldest, newest = (chunks[0], chunks[-1]) if chunks else (None, None)
        if newest is self._newest and (oldest is self._oldest or not view.dropped):
            return 0
        self._oldest = oldest
        fresh: list[Committed] = []
        for chunk in reversed(chunks):
            if chunk is self._newest:
                break
            fresh.append(chunk)
        known = len(fresh) < len(chunks) and not view.dropped
        if not known:  # they were put together meanwhile, or some are only counted by now
            fresh = list(chunks[_first_chunk(chunks, now - LENGTHS[-1]) :])[::-1]
            self._end = 0
        self._newest = newest
        for chunk in reversed(fresh):
            self._append(chunk, now)
        return len(fresh) if known else None

    def _append(self, chunk: Committed, now: float) -> None:
        end = self._end + chunk.at.size
        if end > self._at.size:
            gone = int(self._at[: self._end].searchsorted(now - LENGTHS[-1]))
            room = max(32, 2 * (end - gone))
            for name in ("_at", "_took", "_buckets"):
                column = getattr(self, name)
                larger = np.empty(room, column.dtype)
                larger[: self._end - gone] = column[gone : self._end]
                setattr(self, name, larger)
            self._computed = [(first - gone, behind - gone, when) for first, behind, when in self._computed]
            self._end, end = self._end - gone, end - gone
        self._at[self._end : end], self._took[self._end : end] = chunk.at, chunk.took
        self._buckets[self._end : end] = bucket(chunk.took)
        self._end = end

    def _compute(self, view: QueryView, now: float, tolerance: float, whole: bool) -> ResponseTimes:
        """Compute what is different, or with `whole` everything."""
        former = self._times
        latency: dict[str, dict[str, float]] = {}
        counts, totals, reach = former.counts.copy(), former.totals.copy(), former.reached
        for number, (name, length) in enumerate(WINDOWS.items()):
            begin, end = self._begins[number], self._end
            if not whole and not self._is_due(number, now, tolerance):
                latency[name] = former.latency[name]
                continue
            dropped = [part for part in view.dropped if part.began >= now - length]
            took = self._took[begin:end]
            if not number:
                reach = reached(took, self._percentile) if self._percentile is not None and took.size else None
            counts[number] = np.bincount(self._buckets[begin:end], minlength=BUCKETS)
            totals[number] = float(took.sum()) + sum(part.total for part in dropped)
            if dropped:
                counts[number] += sum(part.counts for part in dropped)
                latency[name] = shown(of_counts(counts[number], float(totals[number])))
            else:
                latency[name] = _exact(took, float(totals[number]))
            place = begin, end, now
            self._computed[number : number + 1] = [place]
        return ResponseTimes(latency, counts, totals, reach)

    def _is_due(self, number: int, now: float, tolerance: float) -> bool:
        """Whether a window is different enough to be computed again; the shortest one always is if it is different."""
        first, behind, when = self._computed[number]
        changed = self._begins[number] - first + self._end - behind
        if not changed:
            return False
        return not number or changed > tolerance * (behind - first) or now - when >= LENGTHS[number] / 30


def _dropped_places(view: QueryView, now: float) -> tuple[int, ...]:
    """Changes when counts of results that are not kept come or leave a window."""
    if not view.dropped:
        return ()
    places = (bisect_left(view.dropped, now - length, key=lambda part: part.began) for length in LENGTHS)
    return len(view.dropped), *places


def _first_chunk(chunks: Sequence[Committed], first: float) -> int:
    """The first chunk that has a result from a moment on."""
    return bisect_left(chunks, first, key=lambda chunk: chunk.at[-1])


def _exact(took: Floats, total: float) -> dict[str, float]:
    """Count, mean and percentiles, linear between neighbours; as numpy's, in a tenth of its time for few values."""
    count = took.size
    if not count:
        return {"count": 0}
    ordered = np.sort(took)
    found = {"count": count, "mean": rounded(total / count)}
    for name, percentile in LEVELS:
        place = percentile / 100 * (count - 1)
        low = int(place)
        below, above = float(ordered[low]), float(ordered[min(low + 1, count - 1)])
        found[name] = rounded(below + (above - below) * (place - low))
    return found


Json = dict[str, dict[str, float]]


class SumsCache:
    """Sums over several queries, by what they are of; only queries that are different are added again."""

    def __init__(self) -> None:
        self._kept: dict[object, tuple[list[ResponseTimes], ResponseTimes]] = {}

    def of(self, key: object, parts: Sequence[ResponseTimes]) -> Json:
        """The response times of some queries together."""
        before, summary = self._kept.get(key, ([], NONE))
        changed = [(old, new) for old, new in zip(before, parts, strict=False) if old is not new]
        if len(before) != len(parts) or len(changed) > len(parts) // 2:
            summary = _summary([part.counts for part in parts], [part.totals for part in parts])
        elif changed:
            counts, totals = summary.counts.copy(), summary.totals.copy()  # whoever has the former keeps it
            for old, new in changed:
                counts += new.counts
                counts -= old.counts
                totals += new.totals - old.totals
            summary = _summary([counts], [totals])
        if len(self._kept) > MOST_SUMS:
            self._kept.clear()
        self._kept[key] = list(parts), summary
        return summary.latency


def summed(parts: Sequence[ResponseTimes]) -> Json:
    """Several queries together."""
    return _summary([part.counts for part in parts], [part.totals for part in parts]).latency


def _summary(counts: Sequence[Counts], totals: Sequence[Floats]) -> ResponseTimes:
    if not counts:
        return NONE
    count, total = np.sum(counts, axis=0), np.maximum(0.0, np.sum(totals, axis=0))
    latency = {name: shown(of_counts(count[number], float(total[number]))) for number, name in enumerate(WINDOWS)}
    return ResponseTimes(latency, count, total)


def shown(latency: Latency) -> dict[str, float]:
    """A latency as plain values."""
    values = {name: getattr(latency, name) for name in ("mean", "p50", "p95", "p99")}
    return {"count": latency.count, **{name: rounded(value) for name, value in values.items() if value is not None}}


def rounded(seconds: float) -> float:
    """Seconds to a microsecond: more digits would only make answers longer."""
    return round(seconds, 6)
