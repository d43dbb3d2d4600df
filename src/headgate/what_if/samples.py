"""Recorded runs that a replayed one is like: of the same unit, of about its size and its time.

What a job does depends on more than a cost model knows: a join that finds no tuple on one side starts no Spark job at
all, a window that is read again costs what is left in it. So a replayed run is as far from its expected seconds as a
recorded one that took about as many tuples of each stream, at about that time (the machine may have been slower then).
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any, NamedTuple

import numpy as np

AROUND = 64  # runs before and after a moment among which to look
NEAR = 4  # runs that are like it, one of which is drawn
FAR = 20.0  # seconds apart count as much as a size of e times as many tuples
SOME = 1.0  # likewise, to take no tuple of a stream or some

Sizes = tuple[float, ...]  # tuples of each stream that a run takes, for each of its queries


class Sample(NamedTuple):
    """A recorded run."""

    began: float
    sizes: Sizes
    off: float  # its seconds relative to expected ones
    commit: float = 0.0  # seconds that its commit took
    jobs: float = 1.0  # Spark jobs
    besides: float = 0.0  # tuples read beside those that it took for each query


@dataclass(frozen=True, slots=True)
class Samples:
    """The recorded runs of a unit, by when they began."""

    runs: tuple[Sample, ...]
    began: tuple[float, ...]
    places: np.ndarray[Any, np.dtype[np.float64]]  # of their sizes and times, one row for each

    @classmethod
    def of(cls, runs: Iterable[Sample]) -> Samples:
        ordered = tuple(sorted(runs))
        places = np.array([_place(run.sizes, run.began) for run in ordered])
        return cls(ordered, tuple(run.began for run in ordered), places)

    def like(self, now: float, sizes: Sizes, dice: random.Random) -> Sample:
        """One of the runs that are most like a run of so many tuples which begins now.

        >>> runs = Samples.of(Sample(float(n), (100.0, n % 2), off=1.0 + n % 2, commit=0.0) for n in range(20))
        >>> {runs.like(5.0, (90.0, 0.0), random.Random(n)).off for n in range(9)}
        {1.0}
        """
        middle = bisect_left(self.began, now)
        first, behind = max(0, middle - AROUND), middle + AROUND
        apart = np.abs(self.places[first:behind] - _place(sizes, now)).sum(axis=1)
        near = np.argpartition(apart, NEAR - 1)[:NEAR] if len(apart) > NEAR else np.arange(len(apart))
        return self.runs[first + int(dice.choice(near))]


def _place(sizes: Sequence[float], began: float) -> list[float]:
    return [*(log1p(size) + SOME * (size > 0) for size in sizes), began / FAR]


NO_SAMPLES = Samples.of(())
