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
    """A heap where all slopes are equal, else a scan."""
    lines = {number: settled(line) for number, line in lines.items()}
    slopes = {slope for _, slope in lines.values()}
    return Heap(lines, tally) if len(slopes) <= 1 else Scan(lines, view, tally)


def settled(line: Line) -> Line:
    """An infinite slope wins at once: infinity times no wait at all would be no number."""
    return (float("inf"), 0.0) if line[1] == float("inf") else line


class Heap:
    """Equal slopes: which of two waiting units is ahead never changes, so each is placed once.

    With slope b, `a + b * (now - head)` falls in the same order as `b * head - a` rises, whatever the time is.
    """

    def __init__(self, lines: Mapping[UnitId, Line], tally: Tally) -> None:
        self._lines = lines
        self._tally = tally
        self._entries: list[tuple[float, float, int, UnitId]] = []
        self._placed: dict[UnitId, tuple[float, float, int, UnitId]] = {}

    def add(self, view: View, unit: Unit) -> None:
        number = unit.id
        intercept, slope = self._lines[number]
        head = view.oldest(unit)
        key = -intercept
        if slope:
            key += slope * head
            self._tally.computed += 1
        entry = (key, head, -unit.depth, number)
        # A starved unit may become ready many times with the same head: one entry is enough.
        if self._placed.get(number) != entry:
            self._placed[number] = entry
            heappush(self._entries, entry)
            self._tally.compared += len(self._entries).bit_length()

    def pop(self, view: View) -> Unit | None:
        entries, placed = self._entries, self._placed
        while entries:
            entry = heappop(entries)
            number = entry[3]
            if placed.get(number) is entry:
                del placed[number]
                unit = view.units[number]
                if view.is_ready(unit):
                    self._tally.compared += len(entries).bit_length()
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
            if view.is_ready(unit):
                return unit
        return None

    def _best(self, priorities: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
        best = int(priorities.argmax())
        equal = np.flatnonzero(priorities == priorities[best])
        if len(equal) == 1:
            return best
        return int(min(equal, key=lambda number: (self._heads[number], -self._depths[number], number)))
