"""What a run takes from the queues of its unit, as `headgate.core.units` has it."""

from __future__ import annotations

import math

import numpy as np

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.pool import NONE, add_waiting, fresh, take_one
from headgate.sim.compiled.tables import Array

_MANY = 1 << 62


@inlined
def length(world: Array, queue: Array) -> int:
    """How many tuples wait in a queue."""
    return queue.length if queue.stream < 0 else memory.streams(world)[queue.stream].arrived - queue.position


@inlined
def head(world: Array, queue: Array) -> float:
    """Arrival of the first tuple of a queue; inf if none waits."""
    if queue.stream >= 0:
        stream = memory.streams(world)[queue.stream]
        if queue.position < stream.arrived:
            return memory.times(world)[stream.times_at + queue.position]
        return math.inf
    return memory.pool(world)[queue.first].arrival if queue.length else math.inf


@jit
def _oldest(world: Array, unit: Array) -> float:
    first = math.inf
    for place in range(unit.entry_at, unit.entry_at + unit.entry_count):
        first = min(first, head(world, memory.queues(world)[memory.links(world)[place]]))
    return first


@inlined
def oldest(world: Array, unit: Array) -> float:
    """Arrival of the oldest tuple before a unit; inf if none waits."""
    if unit.queue >= 0:
        return head(world, memory.queues(world)[unit.queue])
    return _oldest(world, unit)


@jit
def waiting(world: Array, unit: Array) -> int:
    """How many tuples wait before a unit; inside it nothing ever does, as every run works off what it takes."""
    count = 0
    for place in range(unit.entry_at, unit.entry_at + unit.entry_count):
        count += length(world, memory.queues(world)[memory.links(world)[place]])
    return count


@jit
def fitting(unit: Array, seconds: float) -> int:
    """How many tuples a run of so many seconds can take (`headgate.stats.CostModel.fits`)."""
    if seconds == math.inf or unit.per_tuple <= 0:
        return _MANY
    return max(1, int(min(4e18, (seconds - unit.fixed) / unit.per_tuple * (1 + 1e-12))))


@jit
def train(unit: Array, count: int, seconds: float) -> int:
    """How many of the waiting tuples a run takes; `at_most` 0: no limit."""
    size = count
    if unit.fraction < 1.0:
        share = unit.fraction * count
        if share > unit.threshold or not unit.threshold:
            size = int(share)
    if unit.at_most and size > unit.at_most:
        size = unit.at_most
    size = max(1, size)
    return size if seconds == math.inf else min(size, fitting(unit, seconds))


@inlined
def note_taken(state: Array, queue: Array, count: int) -> None:
    """Let the gauge know, later, that tuples were taken now."""
    state.taken_tuples += count
    state.taken_tuples_moment += count * state.now
    nbytes = count * queue.tuple_bytes
    state.taken_bytes += nbytes
    state.taken_bytes_moment += nbytes * state.now


@jit
def _load(world: Array, queue: Array, worker: Array, count: int) -> None:
    """Move tuples from a queue to those that its operator works on next."""
    state, pool = memory.state(world), memory.pool(world)
    for _ in range(count):
        if queue.stream >= 0:
            arrival = head(world, queue)
            slot = fresh(state, pool, queue.position, arrival, arrival)
            queue.position += 1
        else:
            slot = take_one(pool, queue)
        worker.oldest = min(worker.oldest, pool[slot].arrival)
        add_waiting(pool, queue, slot)


@jit
def _take_oldest(world: Array, unit: Array, worker: Array, left: int) -> None:
    """Take the oldest tuples over several entry queues."""
    queues, links = memory.queues(world), memory.links(world)
    taken = np.zeros(unit.entry_count, np.int64)
    order = np.zeros(unit.entry_count, np.int64)
    used = 0
    for _ in range(left):
        best, first = NONE, math.inf
        for place in range(unit.entry_count):
            arrival = head(world, queues[links[unit.entry_at + place]])
            if best == NONE or arrival < first:
                best, first = place, arrival
        if not taken[best]:
            order[used] = best
            used += 1
        taken[best] += 1
        _load(world, queues[links[unit.entry_at + best]], worker, 1)
    for place in range(used):
        note_taken(memory.state(world), queues[links[unit.entry_at + order[place]]], taken[order[place]])


@jit
def load(world: Array, unit: Array, worker: Array) -> None:
    """Take what a run of the unit takes, in the order in which the core takes it."""
    state, queues, links = memory.state(world), memory.queues(world), memory.links(world)
    total = waiting(world, unit)
    size = train(unit, total, state.fits)
    if unit.entry_count > 1 and size < total:
        _take_oldest(world, unit, worker, size)
        return
    for place in range(unit.entry_at, unit.entry_at + unit.entry_count):
        queue = queues[links[place]]
        count = size if unit.entry_count == 1 else length(world, queue)
        if count:
            note_taken(state, queue, count)
            _load(world, queue, worker, count)
