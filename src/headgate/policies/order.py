"""Keeping ready units in the order of priorities that are straight lines in the head tuple's wait."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from headgate.model import Unit, UnitId
from headgate.policies.contract import Tally, View

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
    """No slope and no ties: the order of all units is known beforehand, and a rank is all that is kept."""

    def __init__(self, lines: Mapping[UnitId, Line], view: View, tally: Tally) -> None:
        self._tally = tally
        ranked = sorted(lines, key=lambda number: -lines[number][0])
        self._units = [view.units[number] for number in ranked]
        self._rank = {number: rank for rank, number in enumerate(ranked)}
        self._steps = 2 * len(ranked).bit_length()  # comparisons to get into the heap and out of it
        self._entries: list[int] = []
        self._placed = bytearray(len(ranked))

    def add(self, view: View, unit: Unit) -> None:
        rank = self._rank[unit.id]
        # A starved unit may become ready many times: one entry is enough.
        if not self._placed[rank]:
            self._placed[rank] = 1
            heappush(self._entries, rank)

    def pop(self, view: View) -> Unit | None:
        entries = self._entries
        while entries:
            rank = heappop(entries)
            self._placed[rank] = 0
            unit = self._units[rank]
            if unit.id in view.ready:
                self._tally.compared += self._steps
                return unit
        return None


class Oldest:
    """One line for all: the oldest head tuple is ahead.

    A tuple that many queries await is the head of many units, so these are kept by head, in heaps of mere ranks.
    """

    def __init__(self, lines: Mapping[UnitId, Line], view: View, tally: Tally) -> None:
        self._tally = tally
        ranked = sorted(lines, key=lambda number: (-view.units[number].depth, number))
        self._units = [view.units[number] for number in ranked]
        self._rank = {number: rank for rank, number in enumerate(ranked)}
        self._steps = 2 * len(ranked).bit_length()  # comparisons to get into the heaps and out of them
        self._heads: list[float] = []
        self._ranks: dict[float, list[int]] = {}  # by head
        self._placed: list[float | None] = [None] * len(ranked)  # the head with which each stands there

    def add(self, view: View, unit: Unit) -> None:
        rank, head = self._rank[unit.id], view.oldest(unit)
        if self._placed[rank] != head:
            self._placed[rank] = head
            if head in self._ranks:
                heappush(self._ranks[head], rank)
            else:
                self._ranks[head] = [rank]
                heappush(self._heads, head)

    def pop(self, view: View) -> Unit | None:
        while self._heads:
            head = self._heads[0]
            ranks = self._ranks[head]
            rank = heappop(ranks)
            if not ranks:
                del self._ranks[heappop(self._heads)]
            if self._placed[rank] == head:
                self._placed[rank] = None
                unit = self._units[rank]
                if unit.id in view.ready:
                    self._tally.compared += self._steps
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
        self._steps = 2 * len(ranked).bit_length()  # comparisons to get into the heap and out of it
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

    def pop(self, view: View) -> Unit | None:
        entries, placed = self._entries, self._placed
        while entries:
            entry = heappop(entries)
            rank = entry[2]
            if placed.get(rank) is entry:
                del placed[rank]
                unit = self._units[rank]
                if unit.id in view.ready:
                    self._tally.compared += self._steps
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
