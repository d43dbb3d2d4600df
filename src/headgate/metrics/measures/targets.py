"""Whether targets are met: judged at every moment by the results of the last 10 s.

A target wants p % of results within a limit. At a moment it is met if at least p % of the results of the last `WINDOW`
seconds took no longer than the limit, and missed if not. Without results there it is neither, unless tuples are
overdue: from the moment on at which one has waited for longer than the limit, the target is missed.

Time counts, not results: how much of the time it was met is judged over the moments at which it was met or missed.
`TargetTracker` is told of results as they come; `over_run` judges a run that is over, and gives the same.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any

import numpy as np

from headgate.model import GRACE, Target

WINDOW = 10.0  # seconds
_FINEST = WINDOW / 1000  # results that come in a shorter time than this are counted together, to bound the memory
_ROUNDING = 1e-9

Floats = np.ndarray[Any, np.dtype[np.float64]]


class TargetState(StrEnum):
    """What can be said of a target at a moment."""

    MET = "met"
    MISSED = "missed"
    NO_RESULTS = "no results"


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """How a query does by its target.

    * `state`, `since`: at this moment, and from when on; a time as those of the results, None before the first result.
    * `met`, `missed`: for how many seconds it was.
    * `reached`: what the target's percentile of results took at most in the last 10 s, or how long an overdue tuple has
      waited; None without either.
    * `overdue`: whether it is missed because of such a tuple, and not by results.

    >>> status = TargetStatus(Target(0.5), TargetState.MISSED, since=3.0, met=9.0, missed=3.0, reached=0.75)
    >>> status.share, status.missed_by
    (0.75, 0.25)
    """

    target: Target
    state: TargetState = TargetState.NO_RESULTS
    since: float | None = None
    met: float = 0.0
    missed: float = 0.0
    reached: float | None = None
    overdue: bool = False

    @property
    def share(self) -> float | None:
        """How much of the time it was met, as far as there were results."""
        judged = self.met + self.missed
        return self.met / judged if judged > 0 else None

    @property
    def missed_by(self) -> float | None:
        """Seconds beyond the target, the tolerance not counted; None if it is not missed."""
        if self.state is not TargetState.MISSED or self.reached is None:
            return None
        return max(0.0, self.reached - self.target.seconds)

    def to_json(self) -> dict[str, Any]:
        return {
            "target": str(self.target),
            "seconds": self.target.seconds,
            "percentile": self.target.percentile,
            "tolerance": self.target.tolerance,
            "state": self.state.value,
            "since": self.since,
            "share_met": self.share,
            "reached": self.reached,
            "overdue": self.overdue,
            "missed_by": self.missed_by,
        }


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """How several queries do by their targets: how many are met and missed now, and how much of the time they were.

    `share` weighs every query by the time in which its target was met or missed. All None where no query has a target.
    """

    met: int | None = None
    missed: int | None = None
    share: float | None = None
    missed_seconds: float | None = None


def summarise(statuses: Iterable[TargetStatus]) -> TargetSummary:
    """Several queries together.

    >>> good = TargetStatus(Target(0.5), TargetState.MET, met=9.0)
    >>> bad = TargetStatus(Target(0.5), TargetState.MISSED, met=2.0, missed=1.0)
    >>> summarise([good, bad])
    TargetSummary(met=1, missed=1, share=0.9166666666666666, missed_seconds=1.0)
    """
    found = list(statuses)
    if not found:
        return TargetSummary()
    met, missed = sum(status.met for status in found), sum(status.missed for status in found)
    states = Counter(status.state for status in found)
    share = met / (met + missed) if met + missed > 0 else None
    return TargetSummary(states[TargetState.MET], states[TargetState.MISSED], share, missed)


def judged(count: int, late: int, target: Target) -> TargetState:
    """What so many results say, of which some were late.

    >>> judged(20, 1, Target(0.5)).value, judged(20, 2, Target(0.5)).value, judged(0, 0, Target(0.5)).value
    ('met', 'missed', 'no results')
    """
    if not count:
        return TargetState.NO_RESULTS
    enough = (count - late) * 100 >= target.percentile * count - _ROUNDING * count
    return TargetState.MET if enough else TargetState.MISSED


def reached(took: Floats, percentile: float) -> float | None:
    """The time within which so many percent of results came; None without results.

    >>> reached(np.array([0.4, 0.1, 0.3, 0.2]), 75.0)
    0.3
    """
    if not took.size:
        return None
    place = int(np.ceil(took.size * percentile / 100 - _ROUNDING * took.size)) - 1
    return float(np.partition(took, max(0, place))[max(0, place)])


class TargetTracker:
    """Follows one target. A few microseconds per call of `add`, at most a thousand counts kept.

    >>> tracker = TargetTracker(Target(0.5))
    >>> tracker.add(1.0, np.array([0.2, 0.3]))
    >>> tracker.add(4.0, np.array([0.9]))
    >>> tracker.status(now=6.0).state.value, tracker.status(now=6.0).since, tracker.status(now=6.0).share
    ('missed', 4.0, 0.6)
    >>> tracker.status(now=30.0).state.value
    'no results'
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._chunks: deque[list[Any]] = deque()  # when, how many results, how many late: of the last WINDOW seconds
        self._count = self._late = 0
        self._state = TargetState.NO_RESULTS
        self._since: float | None = None
        self._upto = inf  # all is counted up to then
        self._met = self._missed = 0.0

    def add(self, at: float, took: Floats) -> None:
        """Results that came at a time, not before those added before, and how long each took."""
        if not took.size:
            return
        at = max(at, self._upto) if self._upto < inf else at
        self._advance(at)
        if self._state is TargetState.NO_RESULTS:
            self._overdue(at, at - float(took.max()) + self.target.limit)
        late = int(np.count_nonzero(took > self.target.limit + GRACE))
        if self._chunks and at - self._chunks[-1][0] < _FINEST:
            self._chunks[-1][1] += took.size
            self._chunks[-1][2] += late
        else:
            self._chunks.append([at, took.size, late])
        self._count += took.size
        self._late += late
        self._change(at)

    def status(self, now: float, oldest_wait: float = 0.0, recent: Floats | None = None) -> TargetStatus:
        """How it stands.

        `oldest_wait` is how long a tuple has waited by now, and `recent` are the response times of the last `WINDOW`
        seconds, if they are at hand.
        """
        self._advance(now)
        overdue = oldest_wait > self.target.limit + GRACE
        if overdue and self._state is TargetState.NO_RESULTS:
            due = now - oldest_wait + self.target.limit
            from_then = due if self._since is None else max(self._since, due)
            missed = self._missed + now - from_then
            return TargetStatus(self.target, TargetState.MISSED, from_then, self._met, missed, oldest_wait, overdue)
        found = None if recent is None else reached(recent, self.target.percentile)
        return TargetStatus(self.target, self._state, self._since, self._met, self._missed, found)

    def _overdue(self, at: float, due: float) -> None:
        """Count time without results as missed from the moment on at which one was due that now comes."""
        if due < at - GRACE:
            self._since = max(due, -inf if self._since is None else self._since)
            self._missed += at - self._since
            self._state = TargetState.MISSED

    def _advance(self, now: float) -> None:
        """Let time pass: results leave the window."""
        while self._chunks and self._chunks[0][0] + WINDOW <= now:
            at, count, late = self._chunks.popleft()
            self._pass(at + WINDOW)
            self._count -= count
            self._late -= late
            self._change(at + WINDOW)
        self._pass(now)

    def _pass(self, now: float) -> None:
        seconds = max(0.0, now - self._upto)
        if self._state is TargetState.MET:
            self._met += seconds
        elif self._state is TargetState.MISSED:
            self._missed += seconds
        self._upto = now if self._upto == inf else max(now, self._upto)

    def _change(self, at: float) -> None:
        state = judged(self._count, self._late, self.target)
        if state is not self._state or self._since is None:
            self._state, self._since = state, at


def over_run(target: Target, emission: Floats, took: Floats, end: float) -> TargetStatus:
    """The same for a run that is over: results in the order in which they came, judged up to `end`.

    >>> over_run(Target(0.5), np.array([1.0, 1.0, 4.0]), np.array([0.2, 0.3, 0.9]), end=6.0).share
    0.6
    """
    if not emission.size:
        return TargetStatus(target)
    at, first, counts = np.unique(emission, return_index=True, return_counts=True)
    late = np.add.reduceat((took > target.limit + GRACE).astype(np.int64), first)
    due = at - np.maximum.reduceat(took, first) + target.limit
    moments = np.concatenate([at, at + WINDOW])
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    count = np.cumsum(np.concatenate([counts, -counts])[order])
    late_then = np.cumsum(np.concatenate([late, -late])[order])
    ends = np.minimum(np.append(moments[1:], end), end)
    seconds = np.maximum(0.0, ends - moments)
    enough = (count - late_then) * 100 >= target.percentile * count - _ROUNDING * count
    met = float(seconds[enough & (count > 0)].sum())
    missed = float(seconds[~enough & (count > 0)].sum())
    idle_from = np.append(-inf, at[:-1] + WINDOW)  # no results from then on until the next ones came
    missed += float(np.maximum(0.0, at - np.maximum(idle_from, np.where(due < at - GRACE, due, at))).sum())
    recent = took[emission > end - WINDOW]
    state = judged(recent.size, int(np.count_nonzero(recent > target.limit + GRACE)), target)
    return TargetStatus(target, state, None, met, missed, reached(recent, target.percentile))
