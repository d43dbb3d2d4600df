"""How many tuples come out, by how many have gone in, as it was recorded."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_GOLDEN = 0.618033988749895  # multiples of it, without their whole parts, are spread evenly over 0 to 1
_LONG = 10_007  # draws that stand for an operator nobody has seen at work


@dataclass(frozen=True, slots=True)
class Curve:
    """The number of results by the number of tuples taken, straight between recorded runs.

    It depends on how much was taken, not on who ran when: replayed under any policy, the same tuples give the same
    results. Behind its end it begins anew, in case more tuples are taken than were recorded.

    >>> curve = Curve.of([(10, 0), (10, 4)])  # two runs of ten tuples each: no result, then four
    >>> curve.between(0, 10), curve.between(10, 15), curve.between(15, 20), curve.between(20, 40)
    (0, 2, 2, 4)
    """

    taken: tuple[float, ...]  # in all after each run, from 0 on
    given: tuple[float, ...]

    @classmethod
    def of(cls, runs: Iterable[tuple[float, float]]) -> Curve:
        taken, given = [0.0], [0.0]
        for more_taken, more_given in runs:
            if more_taken > 0:
                taken.append(taken[-1] + more_taken)
                given.append(given[-1] + more_given)
        return cls(tuple(taken), tuple(given))

    @property
    def share(self) -> float:
        """Results per tuple."""
        return self.given[-1] / self.taken[-1] if self.taken[-1] else 0.0

    def between(self, first: float, behind: float) -> int:
        """The results of the tuples from one place to another."""
        return int(self._upto(behind) + 1e-9) - int(self._upto(first) + 1e-9)

    def _upto(self, place: float) -> float:
        total = self.taken[-1]
        if not total:
            return 0.0
        rounds, rest = divmod(place, total)
        after = bisect_right(self.taken, rest)
        if after == len(self.taken):
            return (rounds + 1) * self.given[-1]
        low, high = self.taken[after - 1], self.taken[after]
        part = (rest - low) / (high - low)
        return rounds * self.given[-1] + self.given[after - 1] + part * (self.given[after] - self.given[after - 1])


def copies(runs: Sequence[tuple[int, int]]) -> list[int]:
    """What an operator gave for each of its tuples, in order.

    Which tuples of a run its results are of is not recorded: they are taken at equal distances, from another first one
    in every run, so that neither early nor late tuples are preferred.

    >>> copies([(1, 0), (1, 2), (4, 2), (4, 2)])
    [0, 2, 0, 1, 0, 1, 1, 0, 1, 0]
    """
    found: list[int] = []
    start = 0.0
    for taken, given in runs:
        start = (start + _GOLDEN) % 1.0
        given_here = [0] * taken
        for number in range(given):
            given_here[int((number + start) * taken / given)] += 1
        found.extend(given_here)
    return found


def drawn(selectivity: float, seed: str) -> list[int]:
    """What an operator might give for each of its tuples, of which only the selectivity is known.

    >>> sum(drawn(0.25, "seed")) / len(drawn(0.25, "seed"))  # doctest: +ELLIPSIS
    0.2...
    """
    dice = random.Random(seed)
    whole, rest = divmod(max(0.0, selectivity), 1.0)
    return [int(whole) + (dice.random() < rest) for _ in range(_LONG)]
