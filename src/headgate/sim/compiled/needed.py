"""Which tuples of a stream are still waiting."""

from __future__ import annotations

import numpy as np

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import entry, jit
from headgate.sim.compiled.tables import Array


@jit
def _least_in(world: Array, slot: int, least: int) -> int:
    while slot >= 0:
        offset: Array = np.int64(memory.pool(world)[slot].identity)
        least = min(least, offset)
        slot = memory.pool(world)[slot].next
    return least


@entry
def least_needed(world: Array, stream: int) -> int:
    """The first offset of a stream that some queue still has, in itself or behind operators that keep offsets."""
    least = memory.streams(world)[stream].arrived
    for place in range(len(memory.queues(world))):
        queue = memory.queues(world)[place]
        if queue.stream == stream:
            least = min(least, queue.position)
        elif queue.offsets_of == stream:
            if queue.length:
                least = _least_in(world, queue.first, least)
            least = _least_in(world, queue.leaving, least)
    return least
