"""Where the time of a result goes: window, queue, run, commit, sink.

A result's life has six moments: its tuple arrives, its window closes, its run begins, is evaluated, is committed, and
the sink has the result. The parts between them add up to the whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import fsum

from headgate.history.history import History
from headgate.history.records import Delivery, RunRecord

PARTS = ("window", "queue", "running", "commit", "sink")


@dataclass(frozen=True, slots=True)
class Moments:
    """The moments of a result's life, none before the one above it.

    >>> life = Moments(arrival=1.0, ready=3.0, began=3.5, evaluated=4.0, ended=4.25, delivered=4.25)
    >>> life.parts
    {'window': 2.0, 'queue': 0.5, 'running': 0.5, 'commit': 0.25, 'sink': 0.0}
    >>> life.total
    3.25
    """

    arrival: float
    ready: float  # its window has closed; the arrival, where no window held the tuple
    began: float
    evaluated: float
    ended: float  # committed
    delivered: float  # the sink has it; when it was committed, where no sink is known

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by `PARTS`."""
        moments = (self.arrival, self.ready, self.began, self.evaluated, self.ended, self.delivered)
        return {name: after - before for name, before, after in zip(PARTS, moments, moments[1:], strict=False)}

    @property
    def total(self) -> float:
        return self.delivered - self.arrival


@dataclass(frozen=True, slots=True)
class Result:
    """A result of a run, for one query, or the mean of all that it gave to that query."""

    query: str
    run: RunRecord
    moments: Moments
    count: int = 1  # results that it stands for
    window: float = 0.0  # seconds of it before the arrival that its response time counts from

    @property
    def response(self) -> float:
        """How late it was: the wait for more tuples, which its window wants, does not count."""
        return self.moments.total - self.window


@dataclass(frozen=True, slots=True)
class MeanParts:
    """Mean seconds by part over results, the mean of the whole, and how many there are."""

    results: int
    total: float
    parts: Mapping[str, float]


class Deliveries:
    """When sinks had the results of a commit; those of a query are put in order when they are asked for."""

    def __init__(self, made: Mapping[str, Sequence[Delivery]]) -> None:
        self._made = made
        self._of: dict[str, tuple[list[int], list[float]]] = {}  # by query: commits, and when they were taken

    def at(self, query: str, run: RunRecord) -> float | None:
        """When the query's sink had what a run gave; None if that is not known."""
        if run.commit is None or query not in self._made:
            return None
        if query not in self._of:
            made = self._made[query]
            self._of[query] = list(accumulate((one.commit for one in made), max)), [one.at for one in made]
        commits, times = self._of[query]
        place = bisect_left(commits, run.commit)
        return times[place] if place < len(times) else None


def moments(
    run: RunRecord, arrival: float, released: float | None, delivered: float | None, window: float = 0.0
) -> Moments:
    """The moments of a result of a run, in order even where clocks disagree a little.

    The simulator counts results from when they come out of a run, which may be before its end. What is known of such a
    result is its response time, so its arrival may lie within the run; it then has no part in the queue.
    """
    closed = arrival if arrival <= run.ended else run.began
    began = max(run.began, closed)
    ready = closed if released is None else min(max(released, closed), began)
    evaluated = max(began, run.evaluated)
    ended = max(evaluated, run.ended)
    known = ended if delivered is None else max(ended, delivered)
    return Moments(closed - max(0.0, window), ready, began, evaluated, ended, known)


def results(
    history: History, query: str | None = None, *, slowest: bool = False, windows: bool = True
) -> Iterator[Result]:
    """For every run and query the mean result, or the slowest one; without `windows` from when its window closed."""
    deliveries = Deliveries(history.deliveries)
    for run in history.runs:
        for name in run.answers if query is None else (query,):
            answer = run.answers.get(name)
            if answer is not None:
                arrival = answer.oldest_arrival if slowest else answer.mean_arrival
                window = (answer.window if slowest else answer.mean_window) if windows else 0.0
                life = moments(run, arrival, answer.released, deliveries.at(name, run), window)
                yield Result(name, run, life, 1 if slowest else answer.count, window)


def mean_parts(found: Iterable[Result]) -> MeanParts:
    """The mean of results, part by part; their sum is the mean of the whole."""
    chosen = list(found)
    count = sum(result.count for result in chosen)
    if not count:
        return MeanParts(0, 0.0, dict.fromkeys(PARTS, 0.0))
    lives = [(result.count / count, result.moments.parts) for result in chosen]
    parts = {name: fsum(weight * parts[name] for weight, parts in lives) for name in PARTS}
    return MeanParts(count, fsum(parts.values()), parts)


def within(history: History, since: float, upto: float) -> History:
    """The same history with only those runs that ended between two times."""
    return replace(history, runs=[run for run in history.runs if since <= run.ended <= upto])


def by_query(history: History) -> dict[str, MeanParts]:
    """Where the time of each query's results goes, on average."""
    return _grouped((result.query, result) for result in results(history))


def by_class(history: History, of: Mapping[str, str]) -> dict[str, MeanParts]:
    """Where the time of each class's results goes, on average; `of` says which class a query has."""
    return _grouped((of.get(result.query, result.run.query_class), result) for result in results(history))


def _grouped(found: Iterable[tuple[str, Result]]) -> dict[str, MeanParts]:
    groups: dict[str, list[Result]] = {}
    for name, result in found:
        groups.setdefault(name, []).append(result)
    return {name: mean_parts(group) for name, group in groups.items()}
