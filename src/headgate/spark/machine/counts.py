"""What the engine has done since it started, as numbers that only grow; for those who look at it again and again.

A query may be removed and its own counters with it. So these are kept by namespace and class, both of which are few.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from headgate.model.names import namespace
from headgate.spark.machine.active_run import ActiveRun
from headgate.spark.machine.lifecycle import Life
from headgate.spark.machine.recent_results import Floats
from headgate.spark.machine.tasks import PortionResult

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # bounds of buckets
MEMBERS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram at one moment: how many values lie up to each bound (above the one before), and above the last."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float  # the sum of all values

    @property
    def count(self) -> int:
        return sum(self.counts)


FEW = 8  # values that are counted faster one by one


class Histogram:
    """Counts values by buckets.

    >>> histogram = Histogram((1.0, 2.0))
    >>> histogram.add(1.0); histogram.add_all(np.array([1.5, 7.0]))
    >>> histogram.now()
    Distribution(bounds=(1.0, 2.0), counts=(1, 1, 1), total=9.5)
    """

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self._bounds, self._edges = bounds, np.array(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def add_all(self, values: Floats) -> None:
        if values.size <= FEW:
            for value in values.tolist():
                self.add(value)
        else:
            counted = np.bincount(np.searchsorted(self._edges, values), minlength=len(self._counts))
            self._counts = [before + int(more) for before, more in zip(self._counts, counted, strict=True)]
            self._total += float(values.sum())

    def now(self) -> Distribution:
        """As it is at the moment."""
        return Distribution(self._bounds, tuple(self._counts), self._total)


@dataclass(frozen=True, slots=True)
class Counted:
    """What the queries of one class in one namespace have done so far."""

    space: str
    query_class: str
    runs: int  # committed
    cancelled: int  # runs that gave way to something more important
    failed: int  # runs
    tuples_in: int
    tuples_out: int
    late: int
    skipped: int
    latency: Distribution  # seconds from the last tuple of a result to its commit
    run_seconds: Distribution  # that a worker was busy with a run
    members: Distribution  # queries in a run
    commit_seconds: Distribution  # from the end of a run's evaluation to its commit
    sink_seconds: Distribution  # from a commit to when the sink had its results


@dataclass(slots=True)
class ClassCounts:
    """The same while it grows."""

    runs: int = 0
    cancelled: int = 0
    failed: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    late: int = 0
    skipped: int = 0
    latency: Histogram = field(default_factory=Histogram)
    run_seconds: Histogram = field(default_factory=Histogram)
    members: Histogram = field(default_factory=lambda: Histogram(MEMBERS))
    commit_seconds: Histogram = field(default_factory=Histogram)
    sink_seconds: Histogram = field(default_factory=Histogram)

    def now(self, space: str, query_class: str) -> Counted:
        return Counted(
            space,
            query_class,
            self.runs,
            self.cancelled,
            self.failed,
            self.tuples_in,
            self.tuples_out,
            self.late,
            self.skipped,
            self.latency.now(),
            self.run_seconds.now(),
            self.members.now(),
            self.commit_seconds.now(),
            self.sink_seconds.now(),
        )


class Counters:
    """The counters of all namespaces and classes."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], ClassCounts] = {}

    def of(self, life: Life) -> ClassCounts:
        """Those that a query counts for, by the class that it is in now."""
        return self._of(life.name, life.query.query_class)

    def gave(self, life: Life, result: PortionResult, times: Floats) -> None:
        """Count what a run gave to one of its queries."""
        counts = self.of(life)
        counts.tuples_in += result.arrived
        counts.tuples_out += result.count if result.portion.fragment.feeds_name is None else 0
        counts.late += result.late
        counts.latency.add_all(times)

    def committed(self, active_run: ActiveRun, now: float) -> None:
        """Count a commit of a run for the class that pays for it."""
        counts = self._paying(active_run)
        counts.runs += 1
        counts.commit_seconds.add(max(0.0, now - active_run.run.began - active_run.seconds))

    def ended(self, active_run: ActiveRun, *, failed: bool = False, cancelled: bool = False) -> None:
        """Count a run that is over for the class that pays for it."""
        counts = self._paying(active_run)
        counts.failed += failed
        counts.cancelled += cancelled
        counts.run_seconds.add(active_run.seconds)
        counts.members.add(len(active_run.members))

    def _paying(self, active_run: ActiveRun) -> ClassCounts:
        unit = active_run.run.units[0]
        return self._of(unit.queries[0], unit.payer)

    def _of(self, query: str, query_class: str) -> ClassCounts:
        key = namespace(query), query_class
        if (counts := self._counts.get(key)) is None:
            counts = self._counts[key] = ClassCounts()
        return counts

    def now(self) -> tuple[Counted, ...]:
        """As they are at the moment."""
        return tuple(counts.now(*key) for key, counts in sorted(self._counts.items()))
