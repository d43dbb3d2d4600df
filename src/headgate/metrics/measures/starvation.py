"""Starvation, and how soon a scheduler settles (Al Moakar 2013).

A class starves when its response time keeps rising though its input does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.measures.over_time import Bins, OverTime
from headgate.metrics.measures.response import Distribution
from headgate.metrics.records.class_order import by_priority
from headgate.metrics.records.result_columns import Floats

STRETCH = 5  # bins in a row, each above the one before
GROWTH = 2.0  # the last of them at least so many times the first
PERIODS = 10  # in bins of 0.1 s, every queue that is stable but busy climbs five in a row sooner or later
MORE_INPUT = 1.1  # how much more input than before explains the rise


@dataclass(frozen=True, slots=True)
class Starvation:
    """RT(lowest class)/RT(highest class), None if either has no results; and the classes that starve."""

    ratio: float | None
    rising: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Convergence:
    """From when on no bin has an inversion (None: up to the end some have); the schedule's updates and the last one."""

    time: float | None
    updates: int
    last_update: float | None


def periods(span: float, bin: float) -> Bins:
    """The bins in which to look for a rise: tenths of the run, unless that is finer than `bin`.

    >>> periods(20.0, 0.1).width
    2.0
    """
    return Bins.over(span, max(bin, span / PERIODS))


def summarise(classes: Mapping[str, Distribution], times: OverTime, priorities: Mapping[str, float]) -> Starvation:
    """The classes that starve, judged by their response times in the run's `periods`."""
    rising = (name for name in classes if rises(times.response[name], times.arrivals[name]))
    return Starvation(_ratio(classes, priorities), tuple(rising))


def rises(response: Floats, arrivals: NDArray[np.int64], stretch: int = STRETCH, growth: float = GROWTH) -> bool:
    """Whether the response time rises for a stretch of bins to `growth` times its start, without more input.

    Bins without results are passed over: a class that starves has many of them.

    >>> rises(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([9, 9, 9, 9, 9, 9]))
    True
    >>> rises(np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([1, 9, 9, 9, 9, 9, 9]))
    False
    """
    filled = np.flatnonzero(~np.isnan(response))
    values = response[filled]
    return any(
        last - first >= stretch
        and values[last] >= growth * values[first]
        and not _more_input(arrivals, int(filled[first]), int(filled[last]))
        for first, last in _climbs(values)
    )


def converged(inverted: NDArray[np.bool_], width: float, updates: Sequence[float] = ()) -> Convergence:
    """The time after which no bin has an inversion, given which bins do and how wide they are; the schedule's updates.

    >>> converged(np.array([True, False, True, False]), 0.5).time
    1.5
    """
    last = int(np.flatnonzero(inverted)[-1]) if inverted.any() else -1
    settled = (last + 1) * width if last + 1 < len(inverted) else None
    return Convergence(settled, len(updates), max(updates, default=None))


def _ratio(classes: Mapping[str, Distribution], priorities: Mapping[str, float]) -> float | None:
    ordered = by_priority(priorities)
    if not ordered or priorities[ordered[0]] == priorities[ordered[-1]]:
        return None
    highest, lowest = classes[ordered[0]].mean, classes[ordered[-1]].mean
    return lowest / highest if highest and lowest is not None else None


def _climbs(values: Floats) -> Iterator[tuple[int, int]]:
    """First and last position of every longest stretch in which each value is above the one before."""
    edges = np.flatnonzero(np.diff(values) <= 0) + 1
    starts, ends = [0, *edges.tolist()], [*(edges - 1).tolist(), len(values) - 1]
    return zip(starts, ends, strict=True)


def _more_input(arrivals: NDArray[np.int64], first: int, last: int) -> bool:
    """Whether more came in per bin of the stretch than in as many bins before it."""
    before = arrivals[max(0, 2 * first - last - 1) : first]
    return len(before) > 0 and bool(arrivals[first : last + 1].mean() > MORE_INPUT * before.mean())
