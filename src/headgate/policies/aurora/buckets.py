"""The plane of utility and slack cut into buckets (Carney 2005, section 4.4.2), and the units in them."""

from __future__ import annotations

import math
from collections.abc import Collection
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from headgate.model import QoS, UnitId
from headgate.policies.aurora.outlook import Outlook

Bucket = tuple[int, int]  # (row, column), both from 1: the steepest falls in the first row, the least slack first in it
Turn = tuple[int, UnitId]  # the round of a cycle through all units, and the unit
_ROUNDING = 1e-9  # of a bucket's width: a value at an edge belongs to the bucket that begins there
_FEW = 64


class Plane(NamedTuple):
    """Both ranges, from 0 to the most there is, cut into equally wide parts.

    >>> plane = Plane(steepest=4.0, longest=4.0, partitions=4)
    >>> plane.bucket(Outlook(utility=1.5, slack=1.5)), plane.bucket(Outlook(0.0, math.inf))
    ((3, 2), (4, 4))
    """

    steepest: float
    longest: float
    partitions: int

    @classmethod
    def of(cls, graphs: Collection[QoS], partitions: int) -> Plane:
        """As large as some graphs need it.

        >>> Plane.of([QoS.of([[0, 1], [2, 1], [3, 0]]), QoS.of([[0, 1], [8, 0]])], partitions=20)
        Plane(steepest=1.0, longest=8.0, partitions=20)
        """
        edges = [(graph, latency) for graph in graphs for latency in (0.0, *(x for x, _ in graph.points))]
        slacks = [graph.slack(latency) for graph, latency in edges]
        return cls(
            max((graph.fall(latency) for graph, latency in edges), default=0.0),
            max((slack for slack in slacks if math.isfinite(slack)), default=0.0),
            partitions,
        )

    @property
    def width(self) -> float:
        """How much slack lies in one bucket."""
        return self.longest / self.partitions

    def bucket(self, outlook: Outlook) -> Bucket:
        """The better a bucket, the smaller its name."""
        return self.partitions + 1 - self._part(outlook.utility, self.steepest), self._part(outlook.slack, self.longest)

    def lasts(self, outlook: Outlook) -> float:
        """Seconds until time alone moves the outlook into another bucket; a bucket's width where it never does."""
        if math.isinf(outlook.slack):
            return self.width
        _, column = self.bucket(outlook)
        return max(0.0, outlook.slack - (column - 1) * self.width)

    def _part(self, value: float, most: float) -> int:
        if value >= most:
            return self.partitions if value else 1
        return min(self.partitions, 1 + int(self.partitions * value / most + _ROUNDING))


class Buckets:
    """Units in buckets: the best bucket first, and in it the units in turn.

    >>> buckets = Buckets()
    >>> buckets.place(7, (2, 1), turn=(0, 7))
    >>> buckets.place(8, (1, 3), turn=(0, 8))
    >>> buckets.place(9, (1, 3), turn=(0, 9))
    >>> buckets.place(8, (3, 3), turn=(0, 8))  # moved
    >>> buckets.pop(), buckets.pop(), buckets.pop(), buckets.pop()
    ((0, 9), (0, 7), (0, 8), None)
    """

    def __init__(self) -> None:
        self._entries: list[tuple[Bucket, Turn]] = []  # a heap; those of units that have moved are dropped later
        self.placed: dict[UnitId, tuple[Bucket, Turn]] = {}

    def place(self, number: UnitId, bucket: Bucket, turn: Turn) -> None:
        entry = (bucket, turn)
        if self.placed.get(number) == entry:
            return
        self.placed[number] = entry
        heappush(self._entries, entry)
        if len(self._entries) > 2 * len(self.placed) + _FEW:
            self._entries = list(self.placed.values())
            heapify(self._entries)

    def pop(self) -> Turn | None:
        """Take out the next unit."""
        while self._entries:
            entry = heappop(self._entries)
            _, turn = entry
            if self.placed.get(turn[1]) == entry:
                del self.placed[turn[1]]
                return turn
        return None
