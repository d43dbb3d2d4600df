"""Wakes everybody for a schedule that has just begun."""

from __future__ import annotations

from headgate.sim.compiled import memory
from headgate.sim.compiled.choosing import SLICES
from headgate.sim.compiled.jit import entry
from headgate.sim.compiled.rotation import wake
from headgate.sim.compiled.tables import Array


@entry
def wake_ready(world: Array) -> None:
    """All classes of `abd`, those with nothing to do fall asleep again; the ready units of `mbd`."""
    rotation, words, links = memory.rotations(world)[0], memory.words(world), memory.links(world)
    if memory.state(world).family == SLICES:
        for place in range(memory.state(world).classes):
            wake(rotation, words, links, memory.parts(world)[place])
    else:
        for place in range(len(memory.units(world))):
            if memory.units(world)[place].ready:
                wake(rotation, words, links, memory.units(world)[place])
