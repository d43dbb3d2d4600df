"""The class schedulers' decisions (`headgate.policies.classes`: cqc, abd, mbd), compiled.

What they make of inversions is left to Python: it is asked once a round or so (`ASK_AGAIN`), and the policy's own code
answers.
"""

from __future__ import annotations

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.orders import pop
from headgate.sim.compiled.randomness import twisted
from headgate.sim.compiled.rotation import go_back, turn, wake
from headgate.sim.compiled.tables import Array
from headgate.sim.compiled.taking import waiting

NOBODY, ASK_AGAIN = -1, -2  # instead of a unit; the latter when Python has something to decide first


@inlined
def _judged(state: Array) -> bool:
    """Whether this goes on after Python has judged the classes."""
    judged = bool(state.judging)
    state.judging = 0
    return judged


# -- cqc: classes take turns for a time by their quota -----------------------------------------------------------


@jit
def _inside(world: Array, number: int) -> int:
    """The first unit of a class; a class without any is not awake."""
    part = memory.parts(world)[number]
    chosen = pop(world, part)
    if chosen < 0:
        part.awake = 0
    return chosen


@inlined
def _settle(part: Array) -> None:
    """The quota after the last turn."""
    if part.used != 0.0:
        part.quota = part.share - max(0.0, part.used - part.quota)
        part.used = 0.0


@inlined
def _debt(part: Array) -> int:
    """How many turns a class will be passed over."""
    return 0 if part.quota > 0 else int(-part.quota / part.share) + 1


@jit
def _next_class(world: Array) -> int:
    """The next class with something to do and time to do it; turns of the others pass."""
    state, parts = memory.state(world), memory.parts(world)
    rounds = -1
    for number in range(state.classes):
        _settle(parts[number])
        if parts[number].awake and (rounds < 0 or _debt(parts[number]) < rounds):
            rounds = _debt(parts[number])
    for number in range(state.classes):
        part = parts[number]
        part.quota += min(rounds, _debt(part)) * part.share
    number = state.current + 1
    while True:
        while number < state.classes:
            part = parts[number]
            _settle(part)
            if part.quota > 0:
                if part.awake:
                    return number
                part.quota = part.share  # nothing used: the quota is whole again
            else:
                part.quota += part.share
            number += 1
        number = 0


@jit
def choose_by_quota(world: Array) -> int:
    """The first unit of the class whose turn it is, while its quota lasts; else of the next class."""
    state, parts = memory.state(world), memory.parts(world)
    resumed = _judged(state)
    if not resumed and state.current >= 0:
        part = parts[state.current]
        if part.awake and part.quota - part.used > 0:
            chosen = _inside(world, state.current)
            if chosen >= 0:
                return chosen
    while True:
        awake = 0
        for number in range(state.classes):
            awake += parts[number].awake
        if not awake:
            break
        if not resumed:
            state.turns += 1
            if state.judges and state.turns > state.classes:
                state.turns = 0
                state.judging = 1
                return ASK_AGAIN
        resumed = False
        state.current = _next_class(world)
        chosen = _inside(world, state.current)
        if chosen >= 0:
            return chosen
    if not state.endings:  # nothing runs: turns pass quickly while nothing waits, and with them the debts
        for number in range(state.classes):
            parts[number].quota, parts[number].used = parts[number].share, 0.0
    return NOBODY


# -- abd: classes take turns in short slices ---------------------------------------------------------------------


@inlined
def _seconds(unit: Array, tuples: int) -> float:
    return unit.fixed + unit.per_tuple * tuples


@jit
def _go_on(world: Array) -> int:
    """The next unit of the class, if there is time for one of its tuples; else its turn is over."""
    state, words, links = memory.state(world), memory.words(world), memory.links(world)
    rotation = memory.rotations(world)[1 + state.current]
    while True:
        found = turn(rotation, words)
        if found < 0:
            return NOBODY
        number = memory.slots(world)[rotation.slots_at + found]
        unit = memory.units(world)[number]
        unit.slot = -1
        if unit.ready:
            break
    left = state.slice - state.used
    if state.last >= 0 and (left <= 0 or _seconds(unit, 1) > left):
        go_back(rotation)  # the class goes on here in its next turn
        wake(rotation, words, links, unit)
        wake(memory.rotations(world)[0], words, links, memory.parts(world)[state.current])
        short = memory.units(world)[state.last]
        if not waiting(world, short):
            short = unit
        state.increase = max(0.0, -left) + _seconds(short, waiting(world, short))
        state.slice += state.increase
        state.grown = 1
        return NOBODY
    state.last = number
    state.fits = max(left, 0.0)
    return number


@inlined
def _begin_turn(state: Array) -> None:
    state.turns += 1
    state.last = NOBODY
    state.used = 0.0


@jit
def choose_by_slice(world: Array) -> int:
    """The next unit of the class whose slice it is, while that lasts; else of the next class in the cycle."""
    state, slices = memory.state(world), memory.rotations(world)[0]
    if _judged(state) and not state.rebuilt:
        _begin_turn(state)
    while True:
        if state.current >= 0:
            chosen = _go_on(world)
            if chosen >= 0:
                return chosen
        found = turn(slices, memory.words(world))
        if found < 0:
            state.current = NOBODY
            return NOBODY
        state.current = memory.slots(world)[slices.slots_at + found]
        memory.parts(world)[state.current].slot = -1
        if slices.last // slices.count != state.cycle:
            state.cycle = slices.last // slices.count
            if not state.grown and state.slice > state.increase:
                state.slice -= state.increase
            state.grown = 0
            if state.turns >= slices.count:
                state.turns = 0
                if state.judges:
                    state.judging = 1
                    return ASK_AGAIN
        _begin_turn(state)


# -- mbd: queries take turns on all cores, as often as their class says ------------------------------------------


@jit
def _drawn(world: Array, unit: Array, found: int) -> bool:
    """Whether the slot counts: of a priority of 2.3, the first of three slots counts in 3 rounds of 10."""
    if unit.chance == 0.0 or memory.links(world)[unit.slots_at] != found:
        return True
    return bool(twisted(memory.twister(world)) < unit.chance)


@jit
def _next_slot(world: Array) -> int:
    state, turns = memory.state(world), memory.rotations(world)[0]
    resumed = _judged(state) and not state.rebuilt
    while True:
        if resumed:
            found = turns.last % turns.count
        else:
            found = turn(turns, memory.words(world))
            if found < 0:
                return NOBODY
        number = memory.slots(world)[turns.slots_at + found]
        unit = memory.units(world)[number]
        if not resumed:
            unit.slot = -1
            if not unit.ready and not unit.blocked:  # it has nothing to do, and does not run either
                continue
            state.turns += 1
            if turns.last // turns.count != state.cycle:
                state.cycle = turns.last // turns.count
                if state.turns >= turns.count:
                    state.turns = 0
                    if state.judges:
                        state.judging = 1
                        return ASK_AGAIN
        resumed = False
        if not unit.ready:
            unit.again = 1
        elif _drawn(world, unit, found):
            return number
        else:
            wake(turns, memory.words(world), memory.links(world), unit)


@jit
def choose_by_disk(world: Array, worker: int) -> int:
    """What a worker has just run, if a slot of it came meanwhile; else the next in the cycle."""
    state, units = memory.state(world), memory.units(world)
    before = memory.workers(world)[worker].ran
    number = NOBODY
    if not state.judging and before >= 0 and units[before].again:
        units[before].again = 0
        if units[before].ready:
            number = before
    if number < 0:
        number = _next_slot(world)
        if number < 0:
            return number
    memory.workers(world)[worker].ran = number
    wake(memory.rotations(world)[0], memory.words(world), memory.links(world), units[number])
    return number
