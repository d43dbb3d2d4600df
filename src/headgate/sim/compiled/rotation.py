"""`headgate.policies.rotation`, compiled: a cycle of slots. A turn is a number: where its round begins, plus its place.

Who is awake stands at one slot, the next of its own from the cursor on; so a set of slots is all that is kept.
"""

from __future__ import annotations

from headgate.sim.compiled import bits
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array


@jit
def _next_of_several(rotation: Array, links: Array, key: Array) -> int:
    """The next slot of a key that has several, from the cursor on."""
    low, high = 0, key.slots_count
    while low < high:
        middle = (low + high) >> 1
        if links[key.slots_at + middle] < rotation.cursor:
            low = middle + 1
        else:
            high = middle
    return links[key.slots_at + (low if low < key.slots_count else 0)]


@inlined
def wake(rotation: Array, words: Array, links: Array, key: Array) -> None:
    """The key can run: it stands at its next slot, unless it stands at one already."""
    if key.slot >= 0:
        return
    found = links[key.slots_at] if key.slots_count == 1 else _next_of_several(rotation, links, key)
    key.slot = found
    bits.add(words, rotation.bits_at, found)


@inlined
def turn(rotation: Array, words: Array) -> int:
    """The place of the next turn, -1 if nobody is awake; who stands there is not awake any more."""
    found = bits.following(words, rotation.bits_at, rotation.count, rotation.cursor)
    begins = rotation.begins
    if found < 0:
        found = bits.following(words, rotation.bits_at, rotation.cursor, 0)
        if found < 0:
            return -1
        begins += rotation.count
    bits.remove(words, rotation.bits_at, found)
    rotation.last = begins + found
    _go_to(rotation, begins, found + 1)
    return found


@inlined
def _go_to(rotation: Array, begins: int, place: int) -> None:
    """The next turn is at this place or after it."""
    over = place == rotation.count
    rotation.begins = begins + (rotation.count if over else 0)
    rotation.cursor = 0 if over else place


@inlined
def go_back(rotation: Array) -> None:
    """The last turn does not count: the next one is at its place or after it."""
    place = rotation.last % rotation.count
    _go_to(rotation, rotation.last - place, place)
