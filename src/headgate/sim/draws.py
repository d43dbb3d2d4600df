"""What an operator makes of each tuple: drawn, patterned, or decided by an attribute.

A tuple straight from a stream is known by its offset there, and what becomes of it is drawn beforehand. Composite
tuples are known by a number mixed from their parts' and are drawn one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from headgate.sim.randomness import generator, uniform


class Outcomes(ABC):
    """How many results an operator gives for a tuple."""

    at_most_one = True

    @abstractmethod
    def copies(self, identity: int, arrival: float) -> int: ...

    def restorer(self) -> Callable[[], None]:
        """A function that brings back what there is now; nothing where outcomes depend on the tuple only."""
        return nothing


def nothing() -> None:
    """Restore what never changes."""


class Pattern(Outcomes):
    """A fixed pattern over the tuples in the order in which the operator sees them.

    >>> second_of_three = Pattern((False, True, False))
    >>> [second_of_three.copies(0, 0.0) for _ in range(4)]
    [0, 1, 0, 0]
    """

    def __init__(self, passes: tuple[bool, ...]) -> None:
        self._passes = passes
        self._seen = 0

    def copies(self, identity: int, arrival: float) -> int:
        self._seen += 1
        return int(self._passes[(self._seen - 1) % len(self._passes)])

    def restorer(self) -> Callable[[], None]:
        seen = self._seen

        def restore() -> None:
            self._seen = seen

        return restore


class Always(Outcomes):
    """One result for every tuple."""

    def copies(self, identity: int, arrival: float) -> int:
        return 1


class Drawn(Outcomes):
    """Outcomes for all tuples of a stream, by offset: a byte each, drawn beforehand.

    `selectivities` are (from offset, value), the first from 0: a change holds for tuples that arrive after it,
    whenever they are processed.

    >>> drawn = Drawn(1, ("outcomes", "q"), [(0, 1.0), (2, 0.0)], tuples=4)
    >>> list(drawn.table)
    [1, 1, 0, 0]
    """

    def __init__(
        self, seed: int, purpose: tuple[str | int, ...], selectivities: list[tuple[int, float]], tuples: int
    ) -> None:
        draws = generator(seed, *purpose).random(tuples)
        starts = [start for start, _ in selectivities]
        values = np.array([value for _, value in selectivities])
        per_tuple = values[np.searchsorted(starts, np.arange(tuples), side="right") - 1]
        self.at_most_one = bool(values.max() <= 1.0)
        whole = np.floor(per_tuple)
        self.table: bytes = (whole + (draws < per_tuple - whole)).astype(np.uint8).tobytes()

    def copies(self, identity: int, arrival: float) -> int:
        return self.table[identity]


class Single(Outcomes):
    """Drawn outcomes for composite tuples; `selectivities` are (from arrival, value)."""

    def __init__(self, seed: int, purpose: tuple[str | int, ...], selectivities: list[tuple[float, float]]) -> None:
        self._key = int(generator(seed, *purpose).integers(2**62))
        self._starts = [start for start, _ in selectivities]
        self._values = [value for _, value in selectivities]

    def copies(self, identity: int, arrival: float) -> int:
        value = self._values[bisect_right(self._starts, arrival) - 1]
        whole = int(value)
        return whole + (uniform(self._key, identity) < value - whole)


class Noise:
    """Factors by which costs vary from tuple to tuple.

    >>> noise = Noise(1, ("noise", 0), 0.05)
    >>> 0.95 <= noise.factor(7) <= 1.05
    True
    """

    def __init__(self, seed: int, purpose: tuple[str | int, ...], share: float) -> None:
        self._key = int(generator(seed, *purpose).integers(2**62))
        self._share = share

    def factor(self, identity: int) -> float:
        return 1.0 - self._share + 2 * self._share * uniform(self._key, identity)
