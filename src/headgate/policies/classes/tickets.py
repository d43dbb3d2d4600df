"""A lottery with tickets: who has many is drawn often."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random


class Tickets:
    """Numbers with tickets, kept as a tree of sums: entering, leaving and drawing take the logarithm of their count.

    >>> tickets = Tickets({7: 1.0, 9: 3.0})
    >>> tickets.enter(7), tickets.enter(9)
    (None, None)
    >>> random = Random(1)
    >>> drawn = [tickets.draw(random) for _ in range(1000)]
    >>> drawn.count(7), drawn.count(9)
    (227, 773)
    """

    def __init__(self, tickets: Mapping[int, float]) -> None:
        self._numbers = sorted(tickets)
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self._tickets = dict(tickets)
        self._leaves = 1 << (len(self._numbers) - 1).bit_length() if self._numbers else 1
        self._sums = [0.0] * (2 * self._leaves)

    def of(self, number: int) -> float:
        """How many tickets a number has, whether it takes part or not."""
        return self._tickets[number]

    def enter(self, number: int) -> None:
        """The number takes part."""
        self._put(number, self._tickets[number])

    def leave(self, number: int) -> None:
        self._put(number, 0.0)

    def draw(self, random: Random) -> int | None:
        """One of those that take part; None if nobody does."""
        sums, node = self._sums, 1
        if not sums[1]:
            return None
        left = random.random() * sums[1]
        while node < self._leaves:
            node *= 2
            # Rounding may lead to an empty branch: nobody in it can win.
            if (left >= sums[node] and sums[node + 1]) or not sums[node]:
                left -= sums[node]
                node += 1
        return self._numbers[node - self._leaves]

    def _put(self, number: int, tickets: float) -> None:
        sums, node = self._sums, self._leaves + self._places[number]
        sums[node] = tickets
        while node > 1:
            node //= 2
            sums[node] = sums[2 * node] + sums[2 * node + 1]  # not by difference: no rounding piles up


def at_least(tickets: Mapping[int, float]) -> dict[int, float]:
    """The same tickets, but none without any: who costs nothing has the fewest that anybody has.

    >>> at_least({1: 0.0, 2: 3.0, 3: 2.0})
    {1: 2.0, 2: 3.0, 3: 2.0}
    """
    least = min((count for count in tickets.values() if count > 0), default=1.0)
    return {number: count or least for number, count in tickets.items()}
