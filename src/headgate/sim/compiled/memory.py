"""Where the arrays of a simulation are, as one record of addresses.

Compiled functions get this record instead of thirty arrays, and look up what they need. Whoever passes it keeps the
arrays alive (`Memory`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from headgate.sim.compiled.jit import inlined
from headgate.sim.compiled.orders import ENTRY, SCANNED
from headgate.sim.compiled.rotation import ROTATION
from headgate.sim.compiled.tables import (
    ANSWER,
    DELIVERY,
    ENDING,
    OPERATOR,
    PART,
    QUEUE,
    RESULT,
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
    "slots": WHOLE,  # of cycles
    "ranked": WHOLE,  # units by rank
    "entries": ENTRY,  # of heaps
    "scanned": SCANNED,
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
WORLD = np.dtype([(f"{name}_{part}", np.int64) for name in ARRAYS for part in ("at", "size")], align=True)


class Memory:
    """The arrays of a simulation by name, and the record of their addresses."""

    def __init__(self, **arrays: Array) -> None:
        self._arrays: dict[str, Array] = {}
        self._world = np.zeros(1, WORLD)
        self.put(**arrays)

    @property
    def world(self) -> Any:
        """What compiled functions get; the arrays themselves where nothing is compiled."""
        return self if numba.config.DISABLE_JIT else self._world[0]

    def put(self, **arrays: Array) -> None:
        """Put arrays in the place of others."""
        for name, array in arrays.items():
            assert array.dtype == ARRAYS[name] and array.flags.c_contiguous and array.ndim == 1, name
            self._arrays[name] = array
            self._world[0][f"{name}_at"], self._world[0][f"{name}_size"] = array.ctypes.data, len(array)

    def __getattr__(self, name: str) -> Array:
        try:
            return self._arrays[name]
        except KeyError:
            raise AttributeError(name) from None


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(context: Any, address: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@inlined
def state(world: Array) -> Array:
    return numba.carray(_pointer(world.state_at), 1, STATE)[0]  # type: ignore[no-any-return]


@inlined
def units(world: Array) -> Array:
    return numba.carray(_pointer(world.units_at), world.units_size, UNIT)  # type: ignore[no-any-return]


@inlined
def queues(world: Array) -> Array:
    return numba.carray(_pointer(world.queues_at), world.queues_size, QUEUE)  # type: ignore[no-any-return]


@inlined
def operators(world: Array) -> Array:
    return numba.carray(_pointer(world.operators_at), world.operators_size, OPERATOR)  # type: ignore[no-any-return]


@inlined
def streams(world: Array) -> Array:
    return numba.carray(_pointer(world.streams_at), world.streams_size, STREAM)  # type: ignore[no-any-return]


@inlined
def workers(world: Array) -> Array:
    return numba.carray(_pointer(world.workers_at), world.workers_size, WORKER)  # type: ignore[no-any-return]


@inlined
def parts(world: Array) -> Array:
    return numba.carray(_pointer(world.parts_at), world.parts_size, PART)  # type: ignore[no-any-return]


@inlined
def rotations(world: Array) -> Array:
    return numba.carray(_pointer(world.rotations_at), world.rotations_size, ROTATION)  # type: ignore[no-any-return]


@inlined
def links(world: Array) -> Array:
    return numba.carray(_pointer(world.links_at), world.links_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def costs(world: Array) -> Array:
    return numba.carray(_pointer(world.costs_at), world.costs_size, REAL)  # type: ignore[no-any-return]


@inlined
def slots(world: Array) -> Array:
    return numba.carray(_pointer(world.slots_at), world.slots_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def ranked(world: Array) -> Array:
    return numba.carray(_pointer(world.ranked_at), world.ranked_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def entries(world: Array) -> Array:
    return numba.carray(_pointer(world.entries_at), world.entries_size, ENTRY)  # type: ignore[no-any-return]


@inlined
def scanned(world: Array) -> Array:
    return numba.carray(_pointer(world.scanned_at), world.scanned_size, SCANNED)  # type: ignore[no-any-return]


@inlined
def words(world: Array) -> Array:
    return numba.carray(_pointer(world.words_at), world.words_size, WORD)  # type: ignore[no-any-return]


@inlined
def windows(world: Array) -> Array:
    return numba.carray(_pointer(world.windows_at), world.windows_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def sides(world: Array) -> Array:
    return numba.carray(_pointer(world.sides_at), world.sides_size, SIDE)  # type: ignore[no-any-return]


@inlined
def pool(world: Array) -> Array:
    return numba.carray(_pointer(world.pool_at), world.pool_size, TUPLE)  # type: ignore[no-any-return]


@inlined
def scratch(world: Array) -> Array:
    return numba.carray(_pointer(world.scratch_at), world.scratch_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def endings(world: Array) -> Array:
    return numba.carray(_pointer(world.endings_at), world.endings_size, ENDING)  # type: ignore[no-any-return]


@inlined
def idle(world: Array) -> Array:
    return numba.carray(_pointer(world.idle_at), world.idle_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def asking(world: Array) -> Array:
    return numba.carray(_pointer(world.asking_at), world.asking_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def twister(world: Array) -> Array:
    return numba.carray(_pointer(world.twister_at), world.twister_size, WHOLE)  # type: ignore[no-any-return]


@inlined
def results(world: Array) -> Array:
    return numba.carray(_pointer(world.results_at), world.results_size, RESULT)  # type: ignore[no-any-return]


@inlined
def answers(world: Array) -> Array:
    return numba.carray(_pointer(world.answers_at), world.answers_size, ANSWER)  # type: ignore[no-any-return]


@inlined
def samples(world: Array) -> Array:
    return numba.carray(_pointer(world.samples_at), world.samples_size, SAMPLE)  # type: ignore[no-any-return]


@inlined
def deliveries(world: Array) -> Array:
    return numba.carray(_pointer(world.deliveries_at), world.deliveries_size, DELIVERY)  # type: ignore[no-any-return]


@inlined
def times(world: Array) -> Array:
    return numba.carray(_pointer(world.times_at), world.times_size, REAL)  # type: ignore[no-any-return]


@inlined
def outcomes(world: Array) -> Array:
    return numba.carray(_pointer(world.outcomes_at), world.outcomes_size, BYTE)  # type: ignore[no-any-return]


if numba.config.DISABLE_JIT:  # NUMBA_DISABLE_JIT=1: everything runs as Python, slowly, for whoever looks for a mistake

    def _interpreted(name: str) -> Callable[[Memory], Array]:
        def array(world: Memory) -> Array:
            found: Array = getattr(world, name)
            return found.view(np.recarray) if found.dtype.names else found

        return array

    for _name in ARRAYS:
        globals()[_name] = _interpreted(_name)

    def state(world: Memory) -> Array:
        return world.state.view(np.recarray)[0]  # type: ignore[no-any-return]
