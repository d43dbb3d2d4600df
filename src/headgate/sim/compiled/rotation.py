"""`headgate.policies.rotation`, compiled: a cycle of slots. A turn is a number: round × slots + place.

Who is awake stands at one slot, the next of its own from the cursor on; so a set of slots is all that is kept.
"""

from __future__ import annotations

from headgate.sim.compiled import bits
from headgate.sim.compiled.jit import jit
from headgate.sim.compiled.tables import Array, record

ROTATION = record("slots_at count bits_at cursor last", "")


@jit
def wake(rotation: Array, words: Array, links: Array, key: Array) -> None:
    """The key can run: it stands at its next slot, unless it stands at one already."""
    if key.slot >= 0:
        return
    place = rotation.cursor % rotation.count
    low, high = 0, key.slots_count
    while low < high:
        middle = (low + high) >> 1
        if links[key.slots_at + middle] < place:
            low = middle + 1
        else:
            high = middle
    found = links[key.slots_at + (low if low < key.slots_count else 0)]
    key.slot = found
    bits.add(words, rotation.bits_at, found)


@jit
def turn(rotation: Array, words: Array) -> int:
    """The place of the next turn, -1 if nobody is awake; who stands there is not awake any more."""
    place = rotation.cursor % rotation.count
    found = bits.following(words, rotation.bits_at, rotation.count, place)
    begins = rotation.cursor - place
    if found < 0:
        found = bits.following(words, rotation.bits_at, place, 0)
        if found < 0:
            return -1
        begins += rotation.count
    bits.remove(words, rotation.bits_at, found)
    rotation.last = begins + found
    rotation.cursor = rotation.last + 1
    return found
