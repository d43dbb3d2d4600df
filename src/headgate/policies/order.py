"""Keeping ready units in the order of priorities that are straight lines in the head tuple's wait."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from headgate.model import Unit, UnitId
from headgate.policies.contract import Tally, View, sorting

Line = tuple[float, float]  # intercept and slope
_NEVER = -float("inf")


class Order(Protocol):
    """Holds ready units; gives the best. A unit that is no longer ready is dropped when it comes up."""

    def add(self, view: View, unit: Unit) -> None: ...

    def pop(self, view: View) -> Unit | None: ...


def order(lines: Mapping[UnitId, Line], view: View, tally: Tally) -> Order:
    """The cheapest structure that keeps units in the order of their lines.

    Ties go to the oldest tuple, then to the unit nearest to the output, then to the lower number.
    """
    lines = {number: settled(line) for number, line in lines.items()}
    intercepts = {intercept for intercept, _ in lines.values()}
    slopes = {slope for _, slope in lines.values()}
    if len(slopes) > 1:
        return Scan(lines, view, tally)
    if slopes == {0.0} and len(intercepts) == len(lines):
        return Ranks(lines, view, tally)
    if 0.0 not in slopes and len(intercepts) == 1:
        return Oldest(lines, view, tally)
    return Heap(lines, view, tally)


def settled(line: Line) -> Line:
    """An infinite slope wins at once: infinity times no wait at all would be no number."""
    return (float("inf"), 0.0) if line[1] == float("inf") else line


class Ranks:
    """No slope, and ties that the number decides: every unit has its place in an order that is known beforehand.

    Which places are taken is kept as bits. The first one is found without comparing priorities: one look.
    """

    def __init__(self, lines: Mapping[UnitId, Line], view: View, tally: Tally) -> None:
        self._tally = tally
        ranked = sorted(lines, key=lambda number: (-lines[number][0], number))
        tally.compared += sorting(len(ranked))
        self._units = [view.units[number] for number in ranked]
        self._rank = {number: rank for rank, number in enumerate(ranked)}
        self._taken = 0  # a bit for each place

    def add(self, view: View, unit: Unit) -> None:
        self._taken |= 1 << self._rank[unit.id]

    def pop(self, view: View) -> Unit | None:
        while self._taken:
            self._tally.compared += 1
            first = self._taken & -self._taken
            self._taken ^= first
            unit = self._units[first.bit_length() - 1]
            if unit.id in view.ready:
                return unit
        return None


class Ages:
    """Places of a fixed order by the age of what waits at them: the oldest first, of equally old ones the first place.

    A tuple that many queries await is the head of many units, so these are kept by head: the heads in a heap, and the
    places of each as bits.

    >>> ages = Ages(Tally())
    >>> for place, head in ((2, 0.1), (1, 0.2), (0, 0.2)):
    ...     ages.put(place, head)
    >>> ages.put(2, 0.3)  # instead of 0.1
    >>> ages.take(), ages.first(), ages.take(), ages.take(), ages.take()
    ((0.2, 0), (0.2, 1), (0.2, 1), (0.3, 2), None)
    """

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._heads: list[float] = []
        self._taken: dict[float, int] = {}  # by head, a bit for each place
        self._head: dict[int, float] = {}  # by place

    def put(self, place: int, head: float) -> None:
        """What waits at a place begins with that head now."""
        if self._head.get(place) == head:
            return
        self._head[place] = head
        if head in self._taken:
            self._taken[head] |= 1 << place
        else:
            self._taken[head] = 1 << place
            heappush(self._heads, head)
            self._tally.compared += len(self._heads).bit_length()

    def first(self) -> tuple[float, int] | None:
        """The oldest head and its first place."""
        while self._heads:
            head = self._heads[0]
            taken = self._taken[head]
            while taken:
                place = (taken & -taken).bit_length() - 1
                if self._head.get(place) == head:
                    self._taken[head] = taken
                    return head, place
                taken &= taken - 1  # it has another head by now
            self._drop()
        return None

    def take(self) -> tuple[float, int] | None:
        """Take out the first."""
        found = self.first()
        if found is not None:
            head, place = found
            self._tally.compared += 1
            self._taken[head] ^= 1 << place
            del self._head[place]
            if not self._taken[head]:
                self._drop()
        return found

    def _drop(self) -> None:
        """Nothing waits with the oldest head any more."""
        self._tally.compared += len(self._heads).bit_length()
        del self._taken[heappop(self._heads)]


class Oldest:
    """One line for all: the oldest head tuple is ahead."""

    def __init__(self, lines: Mapping[UnitId, Line], view: View, tally: Tally) -> None:
        ranked = sorted(lines, key=lambda number: (-view.units[number].depth, number))
        self._units = [view.units[number] for number in ranked]
        self._rank = {number: rank for rank, number in enumerate(ranked)}
        self._ages = Ages(tally)

    def add(self, view: View, unit: Unit) -> None:
        self._ages.put(self._rank[unit.id], view.oldest(unit))

    def pop(self, view: View) -> Unit | None:
        while (found := self._ages.take()) is not None:
            unit = self._units[found[1]]
            if unit.id in view.ready:
                return unit
        return None


class Heap:
    """Equal slopes: which of two waiting units is ahead never changes, so each is placed once.

    With slope b, `a + b * (now - head)` falls in the same order as `b * head - a` rises, whatever the time is.
    """

    def __init__(self, lines: Mapping[UnitId, Line], view: View, tally: Tally) -> None:
        self._tally = tally
        ranked = sorted(lines, key=lambda number: (-view.units[number].depth, number))
        self._units = [view.units[number] for number in ranked]
        self._lines = {number: (rank, -lines[number][0], lines[number][1]) for rank, number in enumerate(ranked)}
        self._entries: list[tuple[float, float, int]] = []
        self._placed: dict[int, tuple[float, float, int]] = {}

    def add(self, view: View, unit: Unit) -> None:
        rank, key, slope = self._lines[unit.id]
        head = view.oldest(unit)
        if slope:
            key += slope * head
            self._tally.computed += 1
        entry = (key, head, rank)
        # A starved unit may become ready many times with the same head: one entry is enough.
        if self._placed.get(rank) != entry:
            self._placed[rank] = entry
            heappush(self._entries, entry)
            self._tally.compared += len(self._entries).bit_length()

    def pop(self, view: View) -> Unit | None:
        entries, placed = self._entries, self._placed
        while entries:
            self._tally.compared += len(entries).bit_length()
            entry = heappop(entries)
            rank = entry[2]
            if placed.get(rank) is entry:
                del placed[rank]
                unit = self._units[rank]
                if unit.id in view.ready:
                    return unit
        return None


class Scan:
    """Different slopes: lines cross, so every decision computes all priorities, in one vectorised step."""

    def __init__(self, lines: Mapping[UnitId, Line], view: View, tally: Tally) -> None:
        size = max(lines) + 1
        self._tally = tally
        self._intercepts = np.zeros(size)
        self._slopes = np.zeros(size)
        self._depths = np.zeros(size)
        for number, (intercept, slope) in lines.items():
            self._intercepts[number] = intercept
            self._slopes[number] = slope
            self._depths[number] = view.units[number].depth
        self._base = np.full(size, _NEVER)  # the intercept where ready
        self._heads = np.zeros(size)
        self._count = 0

    def add(self, view: View, unit: Unit) -> None:
        number = unit.id
        self._count += self._base[number] == _NEVER
        self._base[number] = self._intercepts[number]
        self._heads[number] = view.oldest(unit)

    def pop(self, view: View) -> Unit | None:
        priorities = view.now - self._heads
        priorities *= self._slopes
        priorities += self._base
        while self._count:
            number = self._best(priorities)
            self._tally.computed += self._count
            self._tally.compared += self._count
            self._count -= 1
            self._base[number] = priorities[number] = _NEVER
            unit = view.units[number]
            if unit.id in view.ready:
                return unit
        return None

    def _best(self, priorities: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
        best = int(priorities.argmax())
        equal = np.flatnonzero(priorities == priorities[best])
        if len(equal) == 1:
            return best
        heads = self._heads[equal]
        oldest = equal[heads == heads.min()]
        return int(oldest[self._depths[oldest].argmax()])
