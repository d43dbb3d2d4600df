"""The refresher: visits elements when they are due, within the bandwidth, and plans anew every so often.

A run needs nothing of the one before it but the recorded visits, so it goes on after a crash as after a stop: rates are
estimated from all visits, the plan is made, and each element comes at its next turn. What was due in between is not
caught up with.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements
from headgate.freshness.exact import plan
from headgate.freshness.rates import Rates, estimate
from headgate.freshness.refresher.sources import CopySource, Fetched, SourceError
from headgate.freshness.refresher.store import Store, Visited
from headgate.freshness.timetable import Timetable
from headgate.model import HeadgateError

PRIOR = 4.0  # visits that the table's own change rate counts for


@dataclass(slots=True)
class VisitTally:
    """What a run has done."""

    visits: Counter[str] = field(default_factory=Counter)  # changed, same, failed
    plans: int = 0


class Refresher:
    """Follows a plan for the elements of a store.

    `period` is in seconds. `clock` and `sleep` are replaced in tests.
    """

    def __init__(
        self,
        store: Store,
        source: CopySource,
        bandwidth: float,
        *,
        period: float,
        replan: float = 1.0,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not (period > 0 and replan > 0):
            raise HeadgateError(
                "a period and the time between plans must be more than 0", hint="write for example 60 s"
            )
        self._store, self._source, self._bandwidth = store, source, bandwidth
        self._period, self._replan = period, replan
        self._clock, self._sleep = clock, sleep
        self.tally = VisitTally()

    def run(self, periods: float, on_visit: Callable[[Visited], None] = lambda _: None) -> VisitTally:
        """Go on for some periods; `on_visit` is called with every visit."""
        began = self._clock()
        keys, begin = self._store.keys(), 0.0
        while begin < periods:
            following = min(begin + self._replan, periods)
            self._follow(began, begin, following, keys, on_visit)
            self._wait(began, following)
            begin = max(following, self._now(began))
        return self.tally

    def _follow(
        self, began: float, begin: float, end: float, keys: list[str], on_visit: Callable[[Visited], None]
    ) -> None:
        """One plan, from `begin` to `end` periods after the start."""
        elements = self._plan()
        frequency = plan(elements, self._bandwidth).frequency
        free = begin  # when the bandwidth has paid for the last visit
        for due, number in Timetable.of(frequency).until(end, begin):
            start = max(due, free)
            if start >= end or self._now(began) >= end:
                break
            self._wait(began, start)
            free = start + float(elements.size[number]) / self._bandwidth
            on_visit(self._visit(keys[number], number))

    def _now(self, began: float) -> float:
        return (self._clock() - began) / self._period

    def _wait(self, began: float, until: float) -> None:
        left = (until - self._now(began)) * self._period
        if left > 0:
            self._sleep(left)

    def _plan(self) -> Elements:
        """The elements with the rates that visits have shown."""
        self._store.learn(blended(self._store.elements().change_rate, estimate(self._store.histories(self._period))))
        self.tally.plans += 1
        return self._store.learned()

    def _visit(self, key: str, number: int) -> Visited:
        before = self._store.version(number)
        fetched: Fetched | None = None
        try:
            fetched = self._source.fetch(key, before)
            visit = Visited(number, self._clock(), fetched.changed(before))
        except SourceError as error:
            visit = Visited(number, self._clock(), None, str(error))
        self._store.record(key, visit, fetched)
        self.tally.visits["failed" if visit.changed is None else "changed" if visit.changed else "same"] += 1
        return visit


def blended(given: Floats, estimated: Rates) -> list[float]:
    """Estimated rates, averaged with those of the table as long as visits are few.

    >>> from headgate.freshness.rates import Histories
    >>> estimated = estimate(Histories.of([0] * 4, [1.0] * 4, [0] * 4, count=2))
    >>> blended(np.array([3.0, 3.0]), estimated)
    [1.5, 3.0]
    """
    share = estimated.visits / (estimated.visits + PRIOR)
    mixed = (1.0 - share) * given + share * np.nan_to_num(estimated.rate)
    return [float(rate) for rate in mixed]
