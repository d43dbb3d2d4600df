"""Who is next: the policies' decisions, compiled. Each family of policies decides in its own way."""

from __future__ import annotations

from headgate.sim.compiled import bits, memory
from headgate.sim.compiled.ages import enter_by_age, pop_oldest
from headgate.sim.compiled.classes import NOBODY, choose_by_disk, choose_by_quota, choose_by_slice
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.orders import place, pop
from headgate.sim.compiled.rotation import turn, wake
from headgate.sim.compiled.scan import best_scanned, scan
from headgate.sim.compiled.tables import Array

RANKS, AGES, TOURNAMENT, SCAN, CYCLE, PARTS, QUOTAS, SLICES, DISKS = range(9)


@inlined
def notice(world: Array, number: int, head: float) -> None:
    """A unit has become ready, or an older tuple has come before it (`Policy.ready`)."""
    state, unit = memory.state(world), memory.units(world)[number]
    family = state.family
    if family == RANKS:
        bits.add(memory.words(world), 0, unit.rank)
    elif family == AGES:
        enter_by_age(world, unit, head)
    elif family == TOURNAMENT:
        place(world, memory.parts(world)[0], unit, head)
    elif family == SCAN:
        scan(world, number, head)
    elif family == CYCLE:
        wake(memory.rotations(world)[0], memory.words(world), memory.links(world), unit)
    elif family == PARTS:
        part = memory.parts(world)[unit.part]
        place(world, part, unit, head)
        wake(memory.rotations(world)[0], memory.words(world), memory.links(world), part)
    elif family == QUOTAS:
        part = memory.parts(world)[unit.part]
        place(world, part, unit, head)
        part.awake = 1
    elif family == SLICES:
        wake(memory.rotations(world)[1 + unit.part], memory.words(world), memory.links(world), unit)
        wake(memory.rotations(world)[0], memory.words(world), memory.links(world), memory.parts(world)[unit.part])
    elif family == DISKS:
        wake(memory.rotations(world)[0], memory.words(world), memory.links(world), unit)


@inlined
def choose(world: Array, worker: int) -> int:
    """The unit that a worker runs next (`Policy.choose`)."""
    family = memory.state(world).family
    if family == RANKS:
        return _first_rank(world)
    if family == AGES:
        return pop_oldest(world)
    if family == TOURNAMENT:
        return pop(world, memory.parts(world)[0])
    if family == SCAN:
        return best_scanned(world)
    if family == CYCLE:
        return _next_in_cycle(world)
    if family == PARTS:
        return _next_part(world)
    if family == QUOTAS:
        return choose_by_quota(world)
    if family == SLICES:
        return choose_by_slice(world)
    return choose_by_disk(world, worker)


@jit
def conclude(world: Array, worker: Array) -> None:
    """A run has ended (`Policy.finished`)."""
    state = memory.state(world)
    if state.family == QUOTAS:
        memory.parts(world)[memory.units(world)[worker.unit].part].used += worker.seconds
    elif state.family == SLICES and memory.units(world)[worker.unit].part == state.current:
        state.used += worker.seconds
    if state.judges:
        _hear(world, worker)


@jit
def _hear(world: Array, worker: Array) -> None:
    """The results of a run count for the class that pays for it."""
    state, results, answers = memory.state(world), memory.results(world), memory.answers(world)
    payer = memory.units(world)[worker.unit].payer
    for number in range(worker.first, worker.behind):
        answer = answers[state.answers]
        answer.payer, answer.response = payer, results[number].emission - results[number].arrival
        state.answers += 1


@inlined
def _first_rank(world: Array) -> int:
    number = 0
    while True:
        number = bits.following(memory.words(world), 0, len(memory.units(world)), number)
        if number < 0:
            return NOBODY
        bits.remove(memory.words(world), 0, number)
        chosen = memory.ranked(world)[number]
        if memory.units(world)[chosen].ready:
            return chosen


@jit
def _next_in_cycle(world: Array) -> int:
    """The next in the cycle that can run (`headgate.policies.cyclic`)."""
    rotation = memory.rotations(world)[0]
    while True:
        found = turn(rotation, memory.words(world))
        if found < 0:
            return NOBODY
        chosen = memory.slots(world)[rotation.slots_at + found]
        unit = memory.units(world)[chosen]
        unit.slot = -1
        if unit.ready:
            return chosen


@jit
def _next_part(world: Array) -> int:
    """The first of the next part in the cycle that has anything to do (`headgate.policies.two_level`)."""
    rotation = memory.rotations(world)[0]
    while True:
        found = turn(rotation, memory.words(world))
        if found < 0:
            return NOBODY
        part = memory.parts(world)[memory.slots(world)[rotation.slots_at + found]]
        part.slot = -1
        chosen = pop(world, part)
        if chosen >= 0:
            wake(rotation, memory.words(world), memory.links(world), part)
            return chosen
