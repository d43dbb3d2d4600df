"""Randomness: one seeded generator per stream of random numbers.

Every number is found from what it is for (the operator, the tuple), never from when it is asked for. So all policies
in a comparison see the same arrivals, costs and outcomes, and one more query changes nothing for the others.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

_MASK = (1 << 64) - 1


def generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """The generator for one purpose.

    >>> float(generator(1, "arrivals", "s").random()) == float(generator(1, "arrivals", "s").random())
    True
    """
    words = [part if isinstance(part, int) else crc32(part.encode()) for part in purpose]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *words])))


def mix(*parts: int) -> int:
    """One well-spread 64-bit number from several: the identity of a composite tuple.

    >>> mix(1, 2) != mix(2, 1)
    True
    """
    state = 0x9E3779B97F4A7C15
    for part in parts:
        state = (state ^ (part & _MASK)) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state


def uniform(*parts: int) -> float:
    """A number in [0, 1) that belongs to these parts."""
    return (mix(*parts) >> 11) * 2.0**-53
