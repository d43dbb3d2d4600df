"""The orders of `headgate.policies.order`, compiled: who is next among units whose priority is a line in the wait."""

from __future__ import annotations

import numpy as np

from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array

ENTRY = np.dtype([("key", np.float64), ("head", np.float64), ("rank", np.int64)], align=True)
SCANNED = np.dtype(
    [("unit", np.int64), ("intercept", np.float64), ("head", np.float64), ("slope", np.float64)], align=True
)


@inlined
def ahead(one: Array, key: float, head: float, rank: int) -> bool:
    """Whether an entry comes before another."""
    if one.key != key:
        return bool(one.key < key)
    if one.head != head:
        return bool(one.head < head)
    return bool(one.rank < rank)


@inlined
def push(entries: Array, at: int, size: int, key: float, head: float, rank: int) -> None:
    """Put an entry into a heap of `size` entries."""
    place = size
    while place:
        above = (place - 1) >> 1
        parent = entries[at + above]
        if ahead(parent, key, head, rank):
            break
        entry = entries[at + place]
        entry.key, entry.head, entry.rank = parent.key, parent.head, parent.rank
        place = above
    entry = entries[at + place]
    entry.key, entry.head, entry.rank = key, head, rank


@inlined
def drop_first(entries: Array, at: int, size: int) -> None:
    """Take the first entry out of a heap of `size` entries."""
    moved = entries[at + size - 1]
    key, head, rank = moved.key, moved.head, moved.rank
    left = size - 1
    place = 0
    while True:
        child = 2 * place + 1
        if child >= left:
            break
        below = entries[at + child]
        if child + 1 < left:
            other = entries[at + child + 1]
            if ahead(other, below.key, below.head, below.rank):
                child += 1
                below = other
        if not ahead(below, key, head, rank):
            break
        entry = entries[at + place]
        entry.key, entry.head, entry.rank = below.key, below.head, below.rank
        place = child
    entry = entries[at + place]
    entry.key, entry.head, entry.rank = key, head, rank


@jit
def without_stale(entries: Array, units: Array, ranked: Array, part: Array) -> None:
    """Drop entries whose unit has another one meanwhile: a heap has room for two entries of every unit."""
    at, size = part.heap_at, part.held
    kept = 0
    for place in range(size):
        key, head, rank = entries[at + place].key, entries[at + place].head, entries[at + place].rank
        unit = units[ranked[part.ranked_at + rank]]
        if unit.placed and unit.key == key and unit.head == head:
            push(entries, at, kept, key, head, rank)
            kept += 1
    part.held = kept


@inlined
def place(entries: Array, units: Array, ranked: Array, part: Array, unit: Array, head: float) -> None:
    """A unit is ready with this head: put it into its part's heap, unless it stands there just so."""
    key = unit.slope * head - unit.intercept if unit.slope != 0.0 else -unit.intercept
    if unit.placed and unit.key == key and unit.head == head:
        return
    unit.placed, unit.key, unit.head = 1, key, head
    if part.held == part.heap_room:
        without_stale(entries, units, ranked, part)
    push(entries, part.heap_at, part.held, key, head, unit.rank)
    part.held += 1


@inlined
def pop(entries: Array, units: Array, ranked: Array, part: Array) -> int:
    """The first ready unit of a part, -1 if there is none; those that are not ready are dropped."""
    while part.held:
        first = entries[part.heap_at]
        key, head, number = first.key, first.head, ranked[part.ranked_at + first.rank]
        drop_first(entries, part.heap_at, part.held)
        part.held -= 1
        unit = units[number]
        if unit.placed and unit.key == key and unit.head == head:
            unit.placed = 0
            if unit.ready:
                return number
    return -1
