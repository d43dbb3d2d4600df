"""Where the arrays of a simulation are, as one array of addresses.

Compiled functions get it instead of thirty arrays, and look up what they need. Whoever passes it keeps the arrays alive
(`Memory`). With NUMBA_DISABLE_JIT=1 nothing is compiled, and they get the arrays themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils, config
from numba.extending import intrinsic

from headgate.sim.compiled.jit import inlined
from headgate.sim.compiled.tables import (
    ANSWER,
    DELIVERY,
    ENDING,
    LINE,
    OPERATOR,
    PART,
    PLAYER,
    QUEUE,
    RESULT,
    ROTATION,
    SAMPLE,
    SIDE,
    STATE,
    STREAM,
    TUPLE,
    UNIT,
    WORKER,
    Array,
)

WHOLE, REAL, WORD, BYTE = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint64), np.dtype(np.uint8)
ARRAYS = {
    "state": STATE,  # one record
    "units": UNIT,
    "queues": QUEUE,
    "operators": OPERATOR,
    "streams": STREAM,
    "workers": WORKER,
    "parts": PART,
    "rotations": ROTATION,
    "links": WHOLE,
    "costs": REAL,  # seconds of the filters of chains
    "overheads": REAL,  # seconds of calling them up to each
    "slots": WHOLE,  # of cycles
    "ranked": WHOLE,  # units by rank
    "players": PLAYER,  # of tournaments
    "winners": WHOLE,  # of their matches: two lists as long as that of the players
    "scanned": LINE,
    "words": WORD,  # of sets
    "windows": WHOLE,  # tuples in open windows
    "sides": SIDE,  # of joins
    "pool": TUPLE,  # tuples behind operators
    "scratch": WHOLE,  # tuples on their way into an operator, and their inputs
    "endings": ENDING,  # runs under way, as a heap
    "idle": WHOLE,  # workers
    "asking": WHOLE,  # workers
    "twister": WHOLE,  # state of a Mersenne twister
    "results": RESULT,
    "answers": ANSWER,
    "samples": SAMPLE,
    "deliveries": DELIVERY,
    "times": REAL,
    "outcomes": BYTE,
}
INTERPRETED = bool(cast(Any, config).DISABLE_JIT)
_PLACES = {name: place for place, name in enumerate(ARRAYS)}


class Memory:
    """The arrays of a simulation by name, and the record of their addresses."""

    def __init__(self, **arrays: Array) -> None:
        self._arrays: dict[str, Array] = {}
        self._addresses = np.zeros(2 * len(ARRAYS), np.int64)
        self.put(**arrays)

    @property
    def world(self) -> Any:
        """What compiled functions get; the arrays themselves where nothing is compiled."""
        return self if INTERPRETED else self._addresses

    def put(self, **arrays: Array) -> None:
        """Put arrays in the place of others."""
        for name, array in arrays.items():
            assert array.dtype == ARRAYS[name], name
            assert array.flags.c_contiguous, name
            self._arrays[name] = array
            self._addresses[2 * _PLACES[name]] = array.ctypes.data
            self._addresses[2 * _PLACES[name] + 1] = len(array)

    def __getattr__(self, name: str) -> Array:
        try:
            return self._arrays[name]
        except KeyError:
            raise AttributeError(name) from None


@intrinsic
def _pointer(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


_as_pointer: Any = _pointer


def _accessor(name: str) -> Callable[[Array], Array]:
    """A function that gives an array by its address."""
    if INTERPRETED:  # everything runs as Python, slowly, for whoever looks for a mistake
        return lambda world: _with_names(getattr(world, name))
    at, dtype = 2 * _PLACES[name], ARRAYS[name]

    def access(world: Array) -> Array:
        return carray(_as_pointer(world[at]), world[at + 1], dtype)

    return inlined(access)


def _with_names(array: Array) -> Array:
    return array.view(np.recarray) if array.dtype.names else array


states = _accessor("state")
units = _accessor("units")
queues = _accessor("queues")
operators = _accessor("operators")
streams = _accessor("streams")
workers = _accessor("workers")
parts = _accessor("parts")
rotations = _accessor("rotations")
links = _accessor("links")
costs = _accessor("costs")
overheads = _accessor("overheads")
slots = _accessor("slots")
ranked = _accessor("ranked")
players = _accessor("players")
winners = _accessor("winners")
scanned = _accessor("scanned")
words = _accessor("words")
windows = _accessor("windows")
sides = _accessor("sides")
pool = _accessor("pool")
scratch = _accessor("scratch")
endings = _accessor("endings")
idle = _accessor("idle")
asking = _accessor("asking")
twister = _accessor("twister")
results = _accessor("results")
answers = _accessor("answers")
samples = _accessor("samples")
deliveries = _accessor("deliveries")
times = _accessor("times")
outcomes = _accessor("outcomes")


@inlined
def state(world: Array) -> Array:
    """The one record of the simulation's own numbers."""
    return states(world)[0]
