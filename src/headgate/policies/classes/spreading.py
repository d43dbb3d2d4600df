"""Cyclic schedules in which every key has as many slots as its priority says, spread over the whole round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")


def spread(priorities: Mapping[Key, int]) -> list[Key]:
    """One round, in which a key of priority p has p slots, well apart.

    The schedule of broadcast disks in binary (Al Moakar 2013, section 5.2, algorithm 2). With n bits for the largest
    priority, moments 1 … 2ⁿ−1 belong to one bit each: odd ones to the highest bit, every fourth to the next, and so
    on, the middle one to the lowest. At a moment stand all keys whose priority has its bit set, the largest priority
    first. So a key whose highest bit is h is never away for more than 2ⁿ⁻ʰ moments.

    >>> "".join(spread({"A": 5, "B": 4, "C": 3, "D": 2, "E": 1}))
    'ABCDABACEABCDAB'
    """
    bits = max(priorities.values(), default=0).bit_length()
    falling = sorted(priorities, key=lambda key: -priorities[key])  # equal ones as they stand
    with_bit = [[key for key in falling if priorities[key] >> bit & 1] for bit in range(bits)]
    return [key for moment in range(1, 2**bits) for key in with_bit[bits - _trailing_zeros(moment) - 1]]


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1
