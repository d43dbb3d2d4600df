"""The runs under way by when they end: `heapq`, step by step.

How runs lie in the heap at the end of a simulation is part of what must be the same.
"""

from __future__ import annotations

from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array


@inlined
def sooner(at: float, number: int, than: Array) -> bool:
    """Whether a run that ends at a time ends before another; of equal times the lower number comes first."""
    return bool(at < than.at or (at == than.at and number < than.number))


@inlined
def _put(endings: Array, place: int, at: float, number: int, worker: int) -> None:
    """Put a run into a free place of the heap, or above it, after those above that end later have moved down."""
    while place:
        above = (place - 1) >> 1
        parent = endings[above]
        if not sooner(at, number, parent):
            break
        free = endings[place]
        free.at, free.number, free.worker = parent.at, parent.number, parent.worker
        place = above
    free = endings[place]
    free.at, free.number, free.worker = at, number, worker


@jit
def push_ending(state: Array, endings: Array, at: float, number: int, worker: int) -> None:
    """`heapq.heappush`."""
    place = state.endings
    state.endings += 1
    _put(endings, place, at, number, worker)


@jit
def pop_ending(state: Array, endings: Array) -> int:
    """`heapq.heappop`; the worker whose run ends."""
    worker = endings[0].worker
    state.endings -= 1
    size = state.endings
    last = endings[size]
    at, number, moving = last.at, last.number, last.worker
    place = 0
    child = 1
    while child < size:
        if child + 1 < size and not sooner(endings[child].at, endings[child].number, endings[child + 1]):
            child += 1
        free, below = endings[place], endings[child]
        free.at, free.number, free.worker = below.at, below.number, below.worker
        place = child
        child = 2 * place + 1
    _put(endings, place, at, number, moving)
    return worker
