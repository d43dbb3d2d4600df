"""The runs under way by when they end: `heapq`, step by step.

How runs lie in the heap at the end of a simulation is part of what must be the same.
"""

from __future__ import annotations

from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array


@inlined
def sooner(one: Array, at: float, number: int) -> bool:
    """Whether a run ends before another."""
    return bool(one.at < at or (one.at == at and one.number < number))


@jit
def push_ending(state: Array, endings: Array, at: float, number: int, worker: int) -> None:
    """`heapq.heappush`."""
    place = state.endings
    state.endings += 1
    while place:
        above = (place - 1) >> 1
        parent = endings[above]
        if not (at < parent.at or (at == parent.at and number < parent.number)):
            break
        moved = endings[place]
        moved.at, moved.number, moved.worker = parent.at, parent.number, parent.worker
        place = above
    moved = endings[place]
    moved.at, moved.number, moved.worker = at, number, worker


@jit
def pop_ending(state: Array, endings: Array) -> int:
    """`heapq.heappop`; the worker whose run ends."""
    worker = endings[0].worker
    state.endings -= 1
    size = state.endings
    at, number, moving = endings[size].at, endings[size].number, endings[size].worker
    place = 0
    child = 1
    while child < size:
        if child + 1 < size and not sooner(endings[child], endings[child + 1].at, endings[child + 1].number):
            child += 1
        moved, below = endings[place], endings[child]
        moved.at, moved.number, moved.worker = below.at, below.number, below.worker
        place = child
        child = 2 * place + 1
    while place:
        above = (place - 1) >> 1
        parent = endings[above]
        if not (at < parent.at or (at == parent.at and number < parent.number)):
            break
        moved = endings[place]
        moved.at, moved.number, moved.worker = parent.at, parent.number, parent.worker
        place = above
    moved = endings[place]
    moved.at, moved.number, moved.worker = at, number, moving
    return worker
