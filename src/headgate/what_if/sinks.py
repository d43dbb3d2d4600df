"""Sinks in a replay: how long they take for what was committed, and queries that wait because too much lies there.

A response time ends with the commit. What a sink takes after that is told apart; it matters to other times only when
an outbox is full: then the engine stops running the query until the sink has taken half of it.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import NamedTuple

from headgate.core import Event, QueryAdded, QueryRemoved
from headgate.history.history import History
from headgate.history.records import Delivery, RunRecord
from headgate.insight.parts import Deliveries
from headgate.what_if.response_times import ResponseTimes
from headgate.what_if.samples import Sample, Samples

FULL = 64 << 20  # bytes for one sink at which its query stops running, as the engine has it
FILE = 4 << 20  # bytes that are delivered at once, likewise

At = Callable[[float, Callable[[float], None]], None]


class _Made(NamedTuple):
    """A recorded delivery."""

    began: float
    results: int
    seconds: float
    waited: float  # from when it could have begun
    size: int


@dataclass(frozen=True, slots=True)
class SinkTimes:
    """What is known of a query's sink."""

    behind: float  # seconds that results wait for more, so that several commits share a file
    fixed: float  # seconds of a delivery
    per_result: float
    bytes_per_result: float
    samples: Samples  # how far deliveries are off, by results

    @classmethod
    def of(cls, made: Sequence[_Made]) -> SinkTimes:
        results, seconds = [float(one.results) for one in made], [one.seconds for one in made]
        middle, usual = fmean(results), fmean(seconds)
        spread = sum((one - middle) ** 2 for one in results)
        slope = sum((one - middle) * (took - usual) for one, took in zip(results, seconds, strict=True))
        per_result = min(max(0.0, slope / spread), usual / middle) if spread > 0 and middle > 0 else 0.0
        fixed = usual - per_result * middle
        samples = [
            Sample(one.began, (float(one.results),), one.seconds / max(1e-9, fixed + per_result * one.results), 0.0)
            for one in made
        ]
        sizes = sum(one.size for one in made) / max(1.0, sum(results))
        return cls(median(one.waited for one in made), fixed, per_result, sizes, Samples.of(samples))

    def seconds(self, now: float, results: float, dice: random.Random) -> float:
        """How long the sink takes for so many results."""
        return (self.fixed + self.per_result * results) * self.samples.like(now, (results,), dice).off


def learn_sinks(history: History) -> dict[str, SinkTimes]:
    """The sinks of all queries of which deliveries were recorded."""
    committed: dict[str, list[RunRecord]] = {}
    for run in sorted(history.runs, key=lambda run: run.ended):
        if run.commit is not None:
            for query in run.answers:
                committed.setdefault(query, []).append(run)
    made = {query: list(_made(query, theirs, committed.get(query, []))) for query, theirs in history.deliveries.items()}
    return {query: SinkTimes.of(theirs) for query, theirs in made.items() if theirs}


def _made(query: str, deliveries: Sequence[Delivery], runs: Sequence[RunRecord]) -> Iterator[_Made]:
    commits = [run.commit or 0 for run in runs]
    first, free = 0, 0.0  # the first run that is not delivered yet, and when the sink was free
    for delivery in deliveries:
        behind = max(first, bisect_right(commits, delivery.commit))
        taken = runs[first:behind]
        if taken:
            ready = max(free, taken[0].ended)
            seconds = delivery.seconds
            if seconds is None:
                seconds = delivery.at - max(free, taken[-1].ended)
            began = delivery.at - max(0.0, seconds)
            results = sum(run.answers[query].count for run in taken)
            yield _Made(began, results, max(0.0, seconds), max(0.0, began - ready), delivery.size or 0)
        first, free = behind, delivery.at


def recorded_delays(history: History) -> ResponseTimes:
    """How long after their commits sinks had results."""
    found, deliveries = ResponseTimes(), Deliveries(history.deliveries)
    for run in history.runs:
        for query, answer in run.answers.items():
            if (delivered := deliveries.at(query, run)) is not None:
                found.add(query, delivered - run.ended, answer.count)
    return found


def without_sink_waits(
    changes: Sequence[tuple[float, Event]], history: History, sinks: Mapping[str, SinkTimes]
) -> list[tuple[float, Event]]:
    """The recorded changes but those of queries that left because their outbox was full: a replay finds that itself."""
    kept: list[tuple[float, Event]] = []
    waiting: set[str] = set()
    deliveries = Deliveries(history.deliveries)
    for at, event in changes:
        if isinstance(event, QueryRemoved) and _undelivered(event.name, at, history, sinks, deliveries) > FULL // 2:
            waiting.add(event.name)
        elif isinstance(event, QueryAdded) and event.query.name in waiting:
            waiting.discard(event.query.name)
        else:
            kept.append((at, event))
    return kept


def _undelivered(
    query: str, at: float, history: History, sinks: Mapping[str, SinkTimes], deliveries: Deliveries
) -> float:
    """Bytes that lay in a query's outbox at a time."""
    if query not in sinks:
        return 0.0
    results = 0
    for run in history.runs:
        if query in run.answers and run.commit is not None and run.ended <= at:
            delivered = deliveries.at(query, run)
            results += run.answers[query].count if delivered is None or delivered > at else 0
    return results * sinks[query].bytes_per_result


@dataclass(slots=True)
class _Box:
    """Results that wait for one sink: when they were committed, and how many."""

    sink: SinkTimes
    dice: random.Random
    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    in_delivery: int = 0
    size: float = 0.0
    held: bool = False  # the query waits until there is room


class Outboxes:
    """The outboxes of a replay. `hold` and `go_on` stop a query and let it run again; `at` is the replay's clock."""

    def __init__(
        self,
        sinks: Mapping[str, SinkTimes],
        seed: int,
        at: At,
        hold: Callable[[str, float], None],
        go_on: Callable[[str, float], None],
    ) -> None:
        self._boxes = {query: _Box(sink, random.Random(f"{seed} {query}")) for query, sink in sinks.items()}
        self._at, self._hold, self._go_on = at, hold, go_on
        self.delays = ResponseTimes()

    def put(self, query: str, results: float, now: float) -> None:
        """Results of a query were committed."""
        box = self._boxes.get(query)
        if box is None or results <= 0:
            return
        box.waiting.append((now, results))
        box.size += results * box.sink.bytes_per_result
        self._pump(query, box, now)
        if box.size > FULL and not box.held:
            box.held = True
            self._hold(query, now)

    def _pump(self, query: str, box: _Box, now: float) -> None:
        if box.in_delivery or not box.waiting:
            return
        due = box.waiting[0][0] + box.sink.behind
        if now + 1e-9 < due and box.size < FILE:
            self._at(due, lambda then: self._pump(query, box, then))
            return
        box.in_delivery = len(box.waiting)
        results = sum(count for _, count in box.waiting)
        self._at(now + box.sink.seconds(now, results, box.dice), lambda then: self._delivered(query, box, then))

    def _delivered(self, query: str, box: _Box, now: float) -> None:
        for _ in range(box.in_delivery):
            committed, results = box.waiting.popleft()
            box.size -= results * box.sink.bytes_per_result
            self.delays.add(query, now - committed, results)
        box.in_delivery = 0
        self._pump(query, box, now)
        if box.held and box.size <= FULL // 2:
            box.held = False
            self._go_on(query, now)
