"""Chains of filters on the only core: the runs from one event to the next, in one loop.

The loop of `headgate.sim.compiled.loop` does the same with every kind of unit. Here all are chains that take a tuple at
a time and block only themselves, so little happens between two runs: what is counted stays in registers, and what
becomes of a tuple is no branch that the processor could guess wrongly.
"""

from __future__ import annotations

from headgate.sim.compiled import memory
from headgate.sim.compiled.choosing import TOURNAMENT, choose, notice
from headgate.sim.compiled.endings import push_ending
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.orders import first_rank, key_of, leave, seat
from headgate.sim.compiled.tables import Array

_SHORT = 4  # filters: of such a chain all costs are added, those of filters that were not reached as nothing


@inlined
def _time_after(costs: Array, unit: Array, passed: int, time: float) -> float:
    """When a tuple is through that began at this time and passes so many filters."""
    count = unit.calls_count
    for step in range(count if count <= _SHORT else min(passed + 1, count)):
        cost = costs[unit.costs_at + step]
        time += cost if step <= passed else 0.0
    return time


@jit
def run_chains(world: Array, room: int) -> bool:
    """Run chains until the core has nothing to do, or works beyond the next event; False where results fill the room.

    What a core of `headgate.sim.compiled.loop` does is left as that would leave it.
    """
    state, units, queues = memory.state(world), memory.units(world), memory.queues(world)
    streams, times = memory.streams(world), memory.times(world)
    outcomes, results = memory.outcomes(world), memory.results(world)
    costs, overheads, ranked = memory.costs(world), memory.overheads(world), memory.ranked(world)
    part, plays = memory.parts(world)[0], state.family == TOURNAMENT
    core, overhead, horizon = memory.asking(world)[state.asked], state.run_overhead, state.horizon
    now, busy, called, given = state.now, state.busy, state.call_overhead, state.results
    taken_moment, taken_bytes, bytes_moment = state.taken_tuples_moment, state.taken_bytes, state.taken_bytes_moment
    runs, first, seconds, number = 0, given, 0.0, -1
    goes_on = under_way = False
    while given < room:
        if plays:  # who runs stays in the tournament: it will be seated again
            rank = first_rank(world, part)
            number = ranked[part.ranked_at + rank] if rank >= 0 else -1
        else:
            number = choose(world, core)
        if number < 0:
            goes_on = True
            break
        unit = units[number]
        queue = queues[unit.queue]
        stream = streams[queue.stream]
        position = queue.position
        queue.position = position + 1
        runs += 1
        taken_moment += now
        taken_bytes += queue.tuple_bytes
        bytes_moment += queue.tuple_bytes * now
        passed = outcomes[unit.outcomes_at + position]
        arrival = times[stream.times_at + position]
        time = _time_after(costs, unit, passed, now + overhead)
        called += overheads[unit.costs_at + min(passed, unit.calls_count - 1)]
        result = results[given]
        result.query, result.arrival, result.emission, result.reference = unit.query, arrival, time, arrival
        first = given
        given += 1 if passed == unit.calls_count else 0
        seconds = time - now
        busy += seconds
        if now + seconds >= horizon:
            goes_on = under_way = True
            break
        now += seconds
        state.now = now
        if position + 1 < stream.arrived:
            head = times[stream.times_at + position + 1]
            if plays:
                seat(world, part, unit.rank, key_of(unit, head), head)
            else:
                notice(world, number, head)
        else:
            unit.ready = 0
            if plays:
                leave(world, part, unit.rank)
    state.decisions += runs
    state.runs += runs
    state.taken_tuples += runs
    state.busy, state.call_overhead, state.results = busy, called, given
    state.taken_tuples_moment, state.taken_bytes, state.taken_bytes_moment = taken_moment, taken_bytes, bytes_moment
    if under_way:
        _keep_running(world, core, number, first, seconds)
    elif goes_on:
        memory.idle(world)[state.idle] = core
        state.idle += 1
    return goes_on


@inlined
def _keep_running(world: Array, core: int, number: int, first: int, seconds: float) -> None:
    """The core's run ends after the next event."""
    state, unit, worker = memory.state(world), memory.units(world)[number], memory.workers(world)[core]
    unit.ready = 0
    unit.blocked += 1
    if state.family == TOURNAMENT:
        leave(world, memory.parts(world)[0], unit.rank)
    worker.unit, worker.number, worker.seconds = number, state.runs, seconds
    worker.first, worker.behind = first, state.results
    push_ending(state, memory.endings(world), state.now + seconds, state.runs, core)
