"""Why a result of a query came when it did: what it waited for, run by run, and in one sentence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import fsum, inf
from typing import Literal

import numpy as np

from headgate.history.history import History
from headgate.history.records import RunRecord
from headgate.insight.causes import OTHER_WORK, Cause
from headgate.insight.classes import Classes
from headgate.insight.parts import Moments, Result, moments, results
from headgate.insight.schedule import Schedule
from headgate.insight.text import runs_text, unfinished_text, who_text
from headgate.insight.timeline import Timeline
from headgate.model import HeadgateError, WaitingUnit, unknown
from headgate.model.number_text import duration

LEAST = 1e-6  # seconds: shorter delays are rounding
KEPT = "while the free worker was kept for more important classes"
SHOWN = 0.005  # of the whole: shorter parts are not in the sentence
Which = Literal["worst", "last"]


@dataclass(frozen=True, slots=True)
class Delay:
    """Seconds that a run made a result wait."""

    run: RunRecord
    seconds: float
    cause: Cause
    passed_over: WaitingUnit | None = None  # the query's unit at the decision for that run, if it was ready


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one result waited for.

    Without a run of its own, or with one that has not ended, it still waits: `moments` then end with the record.
    """

    query: str
    query_class: str
    moments: Moments
    run: RunRecord | None
    delays: tuple[Delay, ...]  # in the order of their runs
    free: float  # seconds that it waited although a worker was free
    mixed: float  # seconds of its run by the share of less important queries in it
    others: tuple[str, ...]  # those queries
    mixed_by: Cause  # why they are in it: fused, or a shared operator
    away: float = 0.0  # seconds that it waited while its query was paused or being changed
    scheduled: bool = True  # whether its query is scheduled at the end of the record
    kept: bool = False  # whether free workers were kept for more important classes
    live: bool = False  # whether the driver was still running, and with it what has not ended
    sentence: str = ""

    @property
    def waits_still(self) -> bool:
        return self.run is None or self.run.unfinished

    @property
    def causes(self) -> dict[Cause, float]:
        """Seconds by cause, the most first; they add up to the whole."""
        parts = self.moments.parts
        found = {
            Cause.WINDOW: parts["window"],
            Cause.AWAY: self.away,
            Cause.FREE: self.free,
            self.mixed_by: self.mixed,
            Cause.OWN_RUN: parts["running"] - self.mixed,
            Cause.COMMIT: parts["commit"],
            Cause.SINK: parts["sink"],
        }
        for delay in self.delays:
            found[delay.cause] = found.get(delay.cause, 0.0) + delay.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def cause(self) -> Cause:
        """What took most of its time."""
        return next(iter(self.causes))


class Explainer:
    """Explains results of one history; what all explanations need is computed once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.classes = Classes.of_history(history)
        self.schedule = Schedule(history.settings)
        self.timeline = Timeline(history)
        self.runs = self.timeline.runs
        self.now = history.now

    def at(self, query: str, moment: float) -> Explanation:
        """Of the results that were on their way at a moment (seconds since the driver began) the slowest one."""
        self._check(query)
        origin, found = self.history.origin, list(results(self.history, query, slowest=True))
        begins, ends = self.history.began - origin, self.now - origin
        if not begins <= moment <= ends:
            raise HeadgateError(
                f"--at {moment:g} s lies outside the record",
                hint=f"it is from {max(0.0, begins):.4g} s to {ends:.4g} s",
            )
        now = origin + moment
        covering = [one for one in found if one.moments.arrival <= now <= one.moments.delivered]
        worst = max(covering, key=lambda one: one.response, default=None)
        waiting = self.waiting(query)
        longest = 0.0 if worst is None else worst.response
        if waiting is not None and waiting.moments.arrival <= now and waiting.moments.total >= longest:
            return waiting
        if worst is not None:
            return self.explain(worst)
        after = [one for one in found if one.moments.arrival > now]
        if not after:
            raise HeadgateError(f"no result of '{query}' was on its way then or later", hint="ask with --last")
        return self.explain(min(after, key=lambda one: one.moments.arrival))

    def pick(self, query: str, which: Which) -> Explanation:
        """The result that took longest, or the newest one."""
        self._check(query)
        found = list(results(self.history, query, slowest=True))
        waiting = self.waiting(query)
        worst = max((one.response for one in found), default=-inf)
        if waiting is not None and (not found or (which == "worst" and waiting.moments.total > worst)):
            return waiting
        if not found:
            raise HeadgateError(f"'{query}' has no results in this record", hint="ask again when it has some")
        if which == "last":
            return self.explain(max(found, key=lambda one: (one.moments.ended, one.response)))
        return self.explain(max(found, key=lambda one: one.response))

    def waiting(self, query: str, longer_than: float = 0.0) -> Explanation | None:
        """What a query waits for whose tuples are not done at the end of the record; None if it has no such tuples.

        They are in a run that has not ended, or were passed over by a decision and have not run since, or came since
        the query's last run.
        """
        if not self.schedule.has(query):
            return None
        own = next((start for start in self.history.under_way if query in start.queries), None)
        if own is None:
            oldest = self._oldest_waiting(query)
            if oldest is None or self.now - oldest <= longer_than:
                return None
            return self._explanation(query, Moments(oldest, oldest, *[max(self.now, oldest)] * 4), None)
        if self.now - own.oldest <= longer_than:
            return None
        run = next(run for run in self.runs if run.unfinished and run.id == own.id)
        return self._explanation(query, moments(run, own.oldest, own.released, None), run)

    def _oldest_waiting(self, query: str) -> float | None:
        """When the oldest tuple came that waits for a query, as far as decisions and arrivals tell."""
        own = [place for place in self.timeline.runs_of.get(query, ()) if not self.runs[place].cancelled]
        last = own[-1] if own else -1
        for run in reversed(self.runs[last + 1 :]):
            if (unit := run.passed_over(query)) is not None:
                return unit.oldest
        if query not in self.classes.filters:  # a window may hold its tuples
            return None
        since = self.runs[last].began if own else self.schedule.since.get(query, inf)
        later = (self._first_arrival(stream, since) for stream in self.classes.sources.get(query, ()))
        return min((arrival for arrival in later if arrival is not None), default=None)

    def _first_arrival(self, stream: str, since: float) -> float | None:
        chunks = self.history.arrivals.get(stream, [])
        place = bisect_right(chunks, (since, inf))
        return chunks[place][0] if place < len(chunks) else None

    def explain(self, result: Result) -> Explanation:
        """What a result waited for."""
        return self._explanation(result.query, result.moments, result.run)

    def _explanation(self, query: str, life: Moments, run: RunRecord | None) -> Explanation:
        own = self.classes.of.get(query, "" if run is None else run.query_class)
        pieces = self.schedule.pieces(query, life.ready, life.began)
        away = max(0.0, life.began - life.ready - fsum(upto - since for since, upto in pieces))
        delays = self.timeline.delays(query, [(since, upto, 1.0) for since, upto in pieces])
        blamed = np.flatnonzero((delays.held > LEAST) | (delays.own > LEAST))
        rows = zip(blamed.tolist(), delays.held[blamed].tolist(), delays.own[blamed].tolist(), strict=True)
        told = _merged(delay for place, *seconds in rows for delay in self._delays(query, own, life, place, *seconds))
        others = () if run is None else tuple(self.classes.lower_queries(run.queries, query))
        running = life.evaluated - life.began
        mixed = running * len(others) / len(run.queries) if run is not None and others else 0.0
        free = max(0.0, life.began - life.ready - away - fsum(delay.seconds for delay in told))
        explanation = Explanation(
            query,
            own,
            life,
            run,
            told,
            free,
            mixed,
            others,
            mixed_by=self.schedule.mixed_by(life.began),
            away=away,
            scheduled=self.schedule.has(query),
            kept=self.classes.has_above(own) and self.schedule.keeps_workers(life.began),
            live=self.history.until is not None,
        )
        return replace(explanation, sentence=sentence(explanation))

    def _delays(self, query: str, own: str, life: Moments, place: int, held: float, blocked: float) -> Iterable[Delay]:
        """The delays by the run at a place."""
        run = self.runs[place]
        if held > LEAST:
            yield Delay(run, held, _cause(query, own, life.ready, run), run.passed_over(query))
        if blocked > LEAST:
            committing = max(0.0, min(run.ended, life.began) - max(run.evaluated, life.ready))
            running = max(0.0, min(run.evaluated, life.began) - max(run.began, life.ready))
            yield Delay(run, blocked, Cause.COMMIT if committing > running else Cause.SHARED)

    def _check(self, query: str) -> None:
        known = set(self.classes.of)
        if query not in known:
            raise unknown("query", query, known)


def _merged(delays: Iterable[Delay]) -> tuple[Delay, ...]:
    """Delays with those by other work as one: how many runs that were is not told."""
    told: list[Delay] = []
    other: Delay | None = None
    for delay in delays:
        if delay.cause is not Cause.OTHER:
            told.append(delay)
        else:
            other = delay if other is None else replace(other, seconds=other.seconds + delay.seconds)
    return tuple(told) if other is None else (*told, replace(other, passed_over=None))


def sentence(told: Explanation) -> str:
    """An explanation in one sentence, the longest parts first."""
    beginning = f"{'still waits, for' if told.waits_still else 'waited'} {duration(told.moments.total)}"
    listed = phrases(told)
    return f"{beginning}: {', '.join(listed)}" if listed else beginning


def phrases(told: Explanation) -> list[str]:
    """What a result waited for, the longest first, such as "610 ms behind background's report (one run, 9 tuples)"."""
    parts = told.moments.parts
    found: list[tuple[float, str]] = [
        (parts["window"], "until its window closed"),
        (told.free, KEPT if told.kept else "although a worker was free of runs"),
        (told.away, "while it was paused or being changed"),
        (parts["running"], _own_run(told)),
        (parts["commit"], "committing"),
        (parts["sink"], "until its sink had it"),
    ]
    groups: dict[tuple[str, str], list[Delay]] = {}
    for delay in told.delays:
        groups.setdefault(_behind(told.query, delay), []).append(delay)
    for (who, query_class), delays in groups.items():
        runs = [delay.run for delay in delays]
        whose = who or who_text(query_class, runs)
        counted = "" if whose == OTHER_WORK else f" ({runs_text(runs, told.live)})"
        found.append((sum(delay.seconds for delay in delays), f"behind {whose}{counted}"))
    listed = sorted((one for one in found if one[0] > SHOWN * told.moments.total), key=lambda one: -one[0])
    return [f"{duration(seconds)} {how}" for seconds, how in listed]


def _own_run(told: Explanation) -> str:
    run = told.run
    if run is None or len(run.queries) == 1:
        return "own run" + ("" if run is None else unfinished_text([run], told.live))
    if told.others:
        fewer = f"{len(told.others)} less important {'query' if len(told.others) == 1 else 'queries'}"
        if told.mixed_by is Cause.FUSED:
            return f"own run, fused with {fewer}"
        return f"own run, which shares operators with {fewer}"
    return f"own run, in a group of {len(run.queries)}" + unfinished_text([run], told.live)


def _behind(query: str, delay: Delay) -> tuple[str, str]:
    """Who a delay is blamed on: something of its own, or the runs of a class."""
    if delay.cause is Cause.OTHER:
        return OTHER_WORK, ""
    if delay.cause is Cause.COMMIT:
        return "the commit of its own earlier runs", ""
    return ("its own earlier runs", "") if query in delay.run.queries else ("", delay.run.query_class)


def _cause(query: str, own: str, ready: float, run: RunRecord) -> Cause:
    """Why a run that held a worker was in the way."""
    if run.query_class == OTHER_WORK:
        return Cause.OTHER
    if query in run.queries or run.query_class == own:
        return Cause.OWN_CLASS
    return Cause.LONG_RUN if run.began < ready else Cause.ORDER
