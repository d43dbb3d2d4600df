"""A mirror, simulated: changes and accesses are Poisson, refreshes come at fixed distances, every access is looked at.

The measured share of accesses that find a fresh copy has a confidence interval from equal stretches of time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.freshness.curve import Floats
from headgate.freshness.elements import Elements
from headgate.model import HeadgateError

STRETCHES = 20
STUDENT = 2.093  # the 97.5 % quantile at 19 degrees of freedom
MOST_EVENTS = 50_000_000
_REFRESH, _CHANGE, _ACCESS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Seen:
    """What the users of a mirror saw."""

    perceived_freshness: float
    half_width: float  # of the 95 % confidence interval
    accesses: int
    changes: int
    refreshes: int

    def agrees(self, expected: float) -> bool:
        """Whether a formula's value lies within the interval."""
        return abs(self.perceived_freshness - expected) <= self.half_width


def observe(
    elements: Elements, frequency: Floats, *, periods: float = 100.0, accesses: float = 1000.0, seed: int = 1
) -> Seen:
    """Watch a mirror for some periods with so many accesses per period.

    >>> elements = Elements.of(change_rate=[1, 2], access=[1, 1])
    >>> seen = observe(elements, np.array([1.0, 2.0]), periods=500, seed=3)
    >>> round(seen.perceived_freshness, 2), seen.agrees(0.6321)
    (0.64, True)
    """
    _check(elements, frequency, periods, accesses)
    rng = np.random.default_rng(seed)
    begin, refreshes = _refreshes(frequency, periods, rng)
    changes = _poisson(elements.change_rate, begin, periods, rng)
    reads = _poisson(elements.access * accesses, np.zeros(len(elements)), periods, rng)
    fresh = _fresh(refreshes, changes, reads)
    stale = (frequency == 0) & (elements.change_rate > 0)  # for ever, once it has changed
    return _measure(reads[1], fresh & ~stale[reads[0]], periods, len(changes[0]), len(refreshes[0]))


Events = tuple[NDArray[np.intp], Floats]  # element and time


def _check(elements: Elements, frequency: Floats, periods: float, accesses: float) -> None:
    if not (periods > 0 and accesses > 0):
        raise HeadgateError("periods and accesses must be more than 0", hint="write for example 100 and 1000")
    events = periods * (accesses + float(elements.change_rate.sum()) + float(frequency.sum()))
    if events > MOST_EVENTS:
        raise HeadgateError(f"that would be {events:,.0f} events", hint=f"ask for at most {MOST_EVENTS:,}")


def _refreshes(frequency: Floats, periods: float, rng: np.random.Generator) -> tuple[Floats, Events]:
    """When each copy was refreshed before the start, and all refreshes from there on."""
    phase = rng.random(len(frequency))
    often = np.where(frequency > 0, frequency, 1.0)
    begin = np.where(frequency > 0, (phase - 1.0) / often, 0.0)
    counts = np.where(frequency > 0, np.ceil((periods - begin) * often), 0.0).astype(np.intp)
    which = np.repeat(np.arange(len(frequency)), counts)
    number = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return begin, (which, begin[which] + number / often[which])


def _poisson(rate: Floats, begin: Floats, end: float, rng: np.random.Generator) -> Events:
    counts = rng.poisson(rate * (end - begin))
    which = np.repeat(np.arange(len(rate)), counts)
    return which, begin[which] + rng.random(len(which)) * (end - begin[which])


def _fresh(refreshes: Events, changes: Events, reads: Events) -> NDArray[np.bool_]:
    """For each access whether the last thing that happened to its element was a refresh, in the order of `reads`."""
    which = np.concatenate([refreshes[0], changes[0], reads[0]])
    time = np.concatenate([refreshes[1], changes[1], reads[1]])
    kind = np.repeat([_REFRESH, _CHANGE, _ACCESS], [len(refreshes[0]), len(changes[0]), len(reads[0])])
    order = np.lexsort((time, which))
    sorted_kind, place = kind[order], np.arange(len(order))
    last_refresh = np.maximum.accumulate(np.where(sorted_kind == _REFRESH, place, -1))
    last_change = np.maximum.accumulate(np.where(sorted_kind == _CHANGE, place, -1))
    first = np.searchsorted(which[order], which[order])  # where the element's events begin
    fresh: NDArray[np.bool_] = np.empty(len(order), dtype=bool)
    fresh[order] = np.maximum(last_refresh, first - 1) >= np.where(last_change >= first, last_change, -1)
    return np.asarray(fresh[kind == _ACCESS])


def _measure(time: Floats, fresh: NDArray[np.bool_], periods: float, changes: int, refreshes: int) -> Seen:
    stretch = np.minimum((time * (STRETCHES / periods)).astype(np.intp), STRETCHES - 1)
    counts = np.bincount(stretch, minlength=STRETCHES)
    if not counts.all():
        raise HeadgateError("too few accesses to judge by", hint="watch longer, or ask for more accesses per period")
    shares = np.bincount(stretch, weights=fresh, minlength=STRETCHES) / counts
    half = STUDENT * float(shares.std(ddof=1)) / np.sqrt(STRETCHES)
    return Seen(float(fresh.mean()), float(half), len(time), changes, refreshes)
