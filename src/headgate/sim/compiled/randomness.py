"""`headgate.sim.randomness` and the generator of `random.Random`, compiled: the same numbers."""

from __future__ import annotations

import numpy as np

from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array, Word

START = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_27, _31, _11 = np.uint64(27), np.uint64(31), np.uint64(11)
_WORDS, _AHEAD = 624, 397


@inlined
def mixed(state: Word, part: Word) -> Word:
    """One more part mixed into a number; the first is mixed into `START`."""
    state = (state ^ part) * _FIRST
    state = (state ^ (state >> _27)) * _SECOND
    return state ^ (state >> _31)


@inlined
def fraction(state: Word) -> float:
    """A mixed number as one in [0, 1)."""
    return np.float64(state >> _11) * 2.0**-53


@jit
def _renew(words: Array) -> None:
    for place in range(_WORDS):
        upper, lower = words[place] & 0x80000000, words[(place + 1) % _WORDS] & 0x7FFFFFFF
        joined = upper | lower
        value = words[(place + _AHEAD) % _WORDS] ^ (joined >> 1)
        if joined & 1:
            value ^= 0x9908B0DF
        words[place] = value


@inlined
def _word(words: Array) -> int:
    """The next 32 random bits; `words` has the generator's 624 and, behind them, the place of the next."""
    if words[_WORDS] >= _WORDS:
        _renew(words)
        words[_WORDS] = 0
    word = words[words[_WORDS]]
    words[_WORDS] += 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return int(word ^ (word >> 18))


@jit
def twisted(words: Array) -> float:
    """The next number of `random.Random.random`; `words` are int64."""
    upper = _word(words) >> 5
    lower = _word(words) >> 6
    return (upper * 67108864.0 + lower) * (1.0 / 9007199254740992.0)
