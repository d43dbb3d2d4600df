"""Sets of small numbers as bits: the next member is found without a search."""

from __future__ import annotations

import numpy as np

from headgate.sim.compiled.jit import inlined
from headgate.sim.compiled.tables import Array

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SIX = np.uint64(6)
_LOW = np.uint64(63)
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)  # of de Bruijn: every 6 bits of it are different
_TOP = np.uint64(58)


def _bit_of_product() -> Array:
    table = np.zeros(64, dtype=np.int64)
    for bit in range(64):
        table[((1 << bit) * int(_SEQUENCE) & int(_ALL)) >> 58] = bit
    return table


_BIT = _bit_of_product()


@inlined
def add(words: Array, at: int, number: int) -> None:
    """Put a number into a set."""
    words[at + (number >> 6)] |= _ONE << np.uint64(number & 63)


@inlined
def remove(words: Array, at: int, number: int) -> None:
    """Take a number out of a set."""
    words[at + (number >> 6)] &= ~(_ONE << np.uint64(number & 63))


@inlined
def lowest(word: int) -> int:
    """The number of the lowest bit that is set."""
    low = word & (~word + _ONE)
    return _BIT[(low * _SEQUENCE) >> _TOP]


@inlined
def following(words: Array, at: int, count: int, number: int) -> int:
    """The least member that is not below a number; -1 if there is none. The set holds numbers below `count`."""
    if number >= count:
        return -1
    place = number >> 6
    word = words[at + place] & (_ALL << np.uint64(number & 63))
    last = (count - 1) >> 6
    while word == np.uint64(0):
        place += 1
        if place > last:
            return -1
        word = words[at + place]
    return (place << 6) + lowest(word)
