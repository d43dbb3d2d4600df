"""From frequencies to a timetable: which element when.

Every element is refreshed at equal distances, 1/f apart, in an order that repeats (fixed order, Carney 2005, section
2.2.2): only then is its freshness what the plan says. What is free is where in its distance each element begins. The
k-th most often refreshed begins at the fractional part of k times the golden ratio, so elements of like frequency lie
as far apart as they can. Because different frequencies drift against each other some visits still come close together;
`paced` puts each of them off until the bandwidth has paid for those before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate.freshness.curve import Floats
from headgate.freshness.elements import name_rows
from headgate.model import HeadgateError

GOLDEN = (5.0**0.5 - 1.0) / 2.0
AT_ONCE = 100_000  # visits that an iterator holds


class Visit(NamedTuple):
    """A refresh that is due: at a time in periods, of the element with this number."""

    time: float
    element: int


@dataclass(frozen=True, slots=True, eq=False)
class Timetable:
    """When to refresh what; made by `Timetable.of`."""

    frequency: Floats
    phase: Floats

    @classmethod
    def of(cls, frequency: ArrayLike) -> Timetable:
        """The timetable of some frequencies, in refreshes per period.

        >>> table = Timetable.of([2.0, 1.0, 0.0])
        >>> [(round(visit.time, 2), visit.element) for visit in table.until(1.0)]
        [(0.0, 0), (0.5, 0), (0.62, 1)]
        """
        often = np.asarray(frequency, dtype=float)
        wrong = np.flatnonzero(~((often >= 0) & np.isfinite(often)))
        if len(wrong):
            raise HeadgateError(f"frequency is negative or missing in {name_rows(wrong)}", hint="write 0 or more")
        phase = np.empty(len(often))
        phase[np.argsort(-often, kind="stable")] = np.arange(len(often)) * GOLDEN % 1.0
        return cls(often, phase)

    def between(self, begin: float, end: float) -> tuple[Floats, NDArray[np.intp]]:
        """The times and elements of all visits from `begin` up to, not including, `end`, in order."""
        first = np.maximum(np.ceil(begin * self.frequency - self.phase), 0.0)
        last = np.maximum(np.ceil(end * self.frequency - self.phase), first)
        counts = np.where(self.frequency > 0, last - first, 0.0).astype(np.intp)
        which = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + first[which]
        time = (number + self.phase[which]) / self.frequency[which]
        order = np.lexsort((which, time))
        return time[order], which[order]

    def until(self, end: float, begin: float = 0.0) -> Iterator[Visit]:
        """Visits one by one, up to a time; a part of them is worked out at a time."""
        step = AT_ONCE / max(float(self.frequency.sum()), 1e-300)
        while begin < end:
            following = min(begin + step, end)
            times, which = self.between(begin, following)
            yield from map(Visit, times.tolist(), which.tolist())
            begin = following

    def __iter__(self) -> Iterator[Visit]:
        """All visits, without end."""
        return self.until(float("inf")) if self.frequency.any() else iter(())


def paced(due: Floats, size: Floats, bandwidth: float) -> Floats:
    """When each visit begins if one follows the other and each takes its size over the bandwidth.

    >>> paced(np.array([0.0, 0.1, 0.9]), np.ones(3), bandwidth=4.0).tolist()
    [0.0, 0.25, 0.9]
    """
    spent = np.cumsum(size) / bandwidth
    before = spent - size / bandwidth
    return np.maximum.accumulate(due - before) + before
