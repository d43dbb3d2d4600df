"""When the tuples of a stream came, by their offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Chunk = tuple[float, int]  # (arrival, how many)


@dataclass(frozen=True, slots=True)
class StreamArrivals:
    """Chunks of tuples with the offset behind each.

    >>> arrivals = StreamArrivals.of([(0.5, 10), (1.0, 5)])
    >>> arrivals.at(9), arrivals.at(10), arrivals.ends
    (0.5, 1.0, (10, 15))
    """

    times: tuple[float, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> StreamArrivals:
        times: list[float] = []
        ends: list[int] = []
        for arrival, count in chunks:
            if count > 0:
                times.append(arrival)
                ends.append((ends[-1] if ends else 0) + count)
        return cls(tuple(times), tuple(ends))

    def at(self, offset: int) -> float:
        """The arrival of the tuple at an offset; beyond the end that of the last one."""
        return self.times[min(bisect_right(self.ends, offset), len(self.times) - 1)]


def scaled(chunks: Sequence[Chunk], rate: float) -> list[Chunk]:
    """So many times as many tuples, at the same times; those that are added come between two chunks.

    >>> scaled([(0.0, 1), (1.0, 1), (2.0, 1), (3.0, 1)], 1.5)
    [(0.0, 1), (1.0, 1), (1.5, 1), (2.0, 1), (3.0, 1), (3.0, 1)]
    >>> scaled([(0.0, 10), (1.0, 10)], 0.5)
    [(0.0, 5), (1.0, 5)]
    """
    if rate == 1.0:
        return list(chunks)
    found: list[Chunk] = []
    before = 0
    for place, (arrival, count) in enumerate(chunks):
        due = int(rate * (before + count) + 1e-9) - int(rate * before + 1e-9)
        before += count
        following = chunks[place + 1][0] if place + 1 < len(chunks) else arrival
        found.append((arrival, min(due, count)))
        if due > count:
            found.append(((arrival + following) / 2, due - count))
    return [(arrival, count) for arrival, count in found if count]
