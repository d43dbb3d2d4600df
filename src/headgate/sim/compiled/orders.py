"""The orders of `headgate.policies.order`, compiled: who is next among units whose priority is a line in the wait.

The units of a part play a tournament. Its winner runs next; when a unit's line is at another place, only the matches on
its way to the final are played again, and none of them is a branch that the processor could guess wrongly.
"""

from __future__ import annotations

import math

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import inlined
from headgate.sim.compiled.tables import Array


@inlined
def seat(world: Array, part: Array, rank: int, key: float, head: float) -> None:
    """A unit of a part has this key and head from now on; the lowest key wins, then the oldest head, then the rank."""
    players, winners = memory.players(world), memory.winners(world)
    at, matches = part.players_at, 2 * part.players_at
    player = players[at + rank]
    player.key, player.head = key, head
    winner = rank
    match = part.seats + rank
    while match > 1:
        other = winners[matches + (match ^ 1)]
        rival_key, rival_head = players[at + other].key, players[at + other].head
        beaten = (rival_key < key) | (
            (rival_key == key) & ((rival_head < head) | ((rival_head == head) & (other < winner)))
        )
        winner = other if beaten else winner
        key = rival_key if beaten else key
        head = rival_head if beaten else head
        match >>= 1
        winners[matches + match] = winner


@inlined
def leave(world: Array, part: Array, rank: int) -> None:
    """A unit does not play any more."""
    seat(world, part, rank, math.inf, math.inf)


@inlined
def key_of(unit: Array, head: float) -> float:
    """What a unit's line makes of its head; the lower, the higher its priority."""
    return unit.slope * head - unit.intercept if unit.slope != 0.0 else -unit.intercept


@inlined
def place(world: Array, part: Array, unit: Array, head: float) -> None:
    """A unit is ready with this head: it plays, unless it plays just so."""
    player, key = memory.players(world)[part.players_at + unit.rank], key_of(unit, head)
    if player.key != key or player.head != head:
        seat(world, part, unit.rank, key, head)


@inlined
def first_rank(world: Array, part: Array) -> int:
    """The rank of the winner of a part; -1 if nobody plays."""
    winner = memory.winners(world)[2 * part.players_at + 1]
    return winner if memory.players(world)[part.players_at + winner].head != math.inf else -1


@inlined
def pop(world: Array, part: Array) -> int:
    """The first ready unit of a part, which leaves, or -1 if there is none; those that are not ready leave as well."""
    while True:
        rank = first_rank(world, part)
        if rank < 0:
            return -1
        leave(world, part, rank)
        number = memory.ranked(world)[part.ranked_at + rank]
        if memory.units(world)[number].ready:
            return number
