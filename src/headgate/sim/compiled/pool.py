"""Tuples behind operators: lists in one pool."""

from __future__ import annotations

from headgate.sim.compiled.jit import inlined
from headgate.sim.compiled.tables import Array

NONE = -1


@inlined
def fresh(state: Array, pool: Array, identity: int, arrival: float, reference: float) -> int:
    """A new tuple; there must be room for it."""
    slot = state.free
    item = pool[slot]
    state.free = item.next
    state.room -= 1
    item.identity, item.arrival, item.reference, item.next = identity, arrival, reference, NONE
    return slot


@inlined
def forget(state: Array, pool: Array, slot: int) -> None:
    """A tuple is worked off."""
    pool[slot].next = state.free
    state.free = slot
    state.room += 1


@inlined
def add_waiting(pool: Array, queue: Array, slot: int) -> None:
    """Put a tuple before an operator of the run under way."""
    pool[slot].next = NONE
    if queue.waiting == NONE:
        queue.waiting = slot
    else:
        pool[queue.waiting_last].next = slot
    queue.waiting_last = slot


@inlined
def add_leaving(pool: Array, queues: Array, worker: Array, number: int, slot: int) -> None:
    """Put a tuple where it will be when the run has ended; the worker knows the queues, in the order of their first."""
    queue = queues[number]
    pool[slot].next = NONE
    if queue.leaving == NONE:
        queue.leaving = slot
        queue.leaving_next = NONE
        if worker.leaving == NONE:
            worker.leaving = number
        else:
            queues[worker.leaving_last].leaving_next = number
        worker.leaving_last = number
    else:
        pool[queue.leaving_last].next = slot
    queue.leaving_last = slot
    queue.leaving_count += 1


@inlined
def arrive(pool: Array, queue: Array) -> None:
    """What was leaving for a queue is there."""
    if queue.first == NONE:
        queue.first = queue.leaving
    else:
        pool[queue.last].next = queue.leaving
    queue.last = queue.leaving_last
    queue.length += queue.leaving_count
    queue.leaving = NONE
    queue.leaving_count = 0


@inlined
def take_one(pool: Array, queue: Array) -> int:
    """The first tuple of a queue behind an operator, out of it."""
    slot = queue.first
    queue.first = pool[slot].next
    queue.length -= 1
    return slot
