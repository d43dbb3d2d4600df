"""One line for all units: the oldest head wins (`headgate.policies.order.Oldest`, compiled).

A tuple that many queries await is the head of many units. Those with the oldest head are kept as bits, so the next of
them is found without a comparison; when they are through, one pass over all heads finds the next oldest.
"""

from __future__ import annotations

import math

import numpy as np

from headgate.sim.compiled import bits, memory
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array

UNITS_PER_STREAM = 16  # so many await each stream, on average, where this order is worth it


@inlined
def enter_by_age(world: Array, unit: Array, head: float) -> None:
    """A unit is ready with this head: it takes its place in the order."""
    part, words = memory.parts(world)[0], memory.words(world)
    memory.players(world)[unit.rank].head = head
    if head < part.top:
        words[:] = np.uint64(0)
        part.top = head
    if head == part.top:
        bits.add(words, 0, unit.rank)


@jit
def _find_oldest(world: Array) -> bool:
    """Set the bits of the units with the oldest head; whether there are any."""
    part, words, players = memory.parts(world)[0], memory.words(world), memory.players(world)
    oldest = math.inf
    for rank in range(len(players)):
        head = players[rank].head
        oldest = head if head < oldest else oldest
    part.top = oldest
    if oldest == math.inf:
        return False
    for rank in range(len(players)):
        if players[rank].head == oldest:
            bits.add(words, 0, rank)
    return True


@inlined
def pop_oldest(world: Array) -> int:
    """The first ready unit with the oldest head, -1 if there is none; it stands in the order no longer."""
    players, words = memory.players(world), memory.words(world)
    while True:
        rank = bits.following(words, 0, len(players), 0)
        if rank < 0:
            if not _find_oldest(world):
                return -1
            continue
        bits.remove(words, 0, rank)
        players[rank].head = math.inf
        number = memory.ranked(world)[rank]
        if memory.units(world)[number].ready:
            return number
