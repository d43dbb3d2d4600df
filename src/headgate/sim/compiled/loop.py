"""The simulator's loop (`headgate.sim.simulate`), compiled: events in the order of time, runs on idle cores.

`advance` goes on until the end, or until Python has to do something: give more arrivals, make room, take results. What
it was doing is in the state, so that it goes on there.
"""

from __future__ import annotations

import math

import numpy as np

from headgate.sim.compiled import memory
from headgate.sim.compiled.chains import run_chains
from headgate.sim.compiled.choosing import choose, conclude, notice
from headgate.sim.compiled.classes import ASK_AGAIN
from headgate.sim.compiled.endings import pop_ending, push_ending
from headgate.sim.compiled.jit import entry, inlined, jit
from headgate.sim.compiled.operators import (
    AGGREGATE,
    FILTER,
    JOIN,
    call_any,
    call_filter,
    copies,
    emit,
    expire,
    filter_one,
    seconds,
    spend_call,
)
from headgate.sim.compiled.pool import NONE, arrive, fresh, take_one
from headgate.sim.compiled.tables import Array
from headgate.sim.compiled.taking import head, load, note_taken, oldest, train, waiting

# What `advance` asks for.
DONE, MORE_ARRIVALS, MORE_ROOM, MORE_RESULTS, MORE_SAMPLES, MORE_ANSWERS, JUDGE, TOO_LONG = range(8)
EVENTS, ARRIVALS, WORK, START, CALLS = range(5)  # phases
SPARE = 64  # results and samples for which there is always room
MOST_BINS = 10_000_000


@inlined
def change(state: Array, tuples: int, nbytes: int) -> None:
    """More waits now (`Gauge.change`)."""
    state.tuples += tuples
    state.bytes += nbytes
    state.tuples_moment += tuples * state.now
    state.bytes_moment += nbytes * state.now
    state.max_tuples = max(state.max_tuples, state.tuples)
    state.max_bytes = max(state.max_bytes, state.bytes)


@inlined
def settle(state: Array) -> None:
    """What cores have taken does not wait any more (`Gauge.take`)."""
    state.tuples -= state.taken_tuples
    state.bytes -= state.taken_bytes
    state.tuples_moment -= state.taken_tuples_moment
    state.bytes_moment -= state.taken_bytes_moment
    state.taken_tuples = state.taken_bytes = 0
    state.taken_tuples_moment = state.taken_bytes_moment = 0.0


@inlined
def sample(state: Array, samples: Array) -> None:
    """Note what waits at the next sample's time (`Gauge.sample`)."""
    kept = samples[state.sampled]
    kept.time, kept.tuples, kept.bytes = state.next_sample, state.tuples, state.bytes
    state.sampled += 1
    state.samples += 1
    state.next_sample = state.samples / state.per_second if state.per_second else state.samples * state.bin


@jit
def make_ready(world: Array, number: int) -> None:
    """Units of a queue that has got tuples can run, unless something running blocks them."""
    unit = memory.units(world)[number]
    if not unit.blocked:
        unit.ready = 1
        notice(world, number, oldest(world, unit))


@jit
def deliver(world: Array, worker: Array) -> None:
    """What a run has made is there for others, before the policy hears of the run's end."""
    state, number = memory.state(world), worker.leaving
    while number != NONE:
        queue = memory.queues(world)[number]
        change(state, queue.leaving_count, queue.leaving_count * queue.tuple_bytes)
        number = queue.leaving_next


@jit
def append_produced(world: Array, worker: Array) -> None:
    """Put what a run has made into its queues, and wake who was waiting for it."""
    number = worker.leaving
    worker.leaving = NONE
    while number != NONE:
        queue = memory.queues(world)[number]
        following, empty = queue.leaving_next, queue.length == 0
        arrive(memory.pool(world), queue)
        if empty:
            for step in range(queue.states_at, queue.states_at + queue.states_count):
                make_ready(world, memory.links(world)[step])
        number = following


@inlined
def finish(world: Array, number: int) -> None:
    """Take notice of the end of a run (`Scheduler.finished`)."""
    state = memory.state(world)
    worker = memory.workers(world)[number]
    unit = memory.units(world)[worker.unit]
    if state.concludes:
        conclude(world, worker)
    if worker.leaving != NONE:
        append_produced(world, worker)
        worker.oldest = math.inf
    for place in range(unit.blocks_at, unit.blocks_at + unit.blocks_count):
        held = memory.links(world)[place]
        other = memory.units(world)[held]
        other.blocked -= 1
        if not other.blocked:
            first = oldest(world, other)
            if first != math.inf:
                other.ready = 1
                notice(world, held, first)


@inlined
def block(world: Array, unit: Array) -> None:
    """Nothing that shares an operator with a unit runs beside it."""
    for place in range(unit.blocks_at, unit.blocks_at + unit.blocks_count):
        held = memory.units(world)[memory.links(world)[place]]
        held.blocked += 1
        held.ready = 0


@inlined
def begin(world: Array, number: int, worker: int) -> bool:
    """Begin a run; whether it is computed at once, as those of chains are."""
    state, unit = memory.state(world), memory.units(world)[number]
    state.decisions += 1
    state.runs += 1
    memory.workers(world)[worker].unit, memory.workers(world)[worker].number = number, state.runs
    state.time = state.now + state.run_overhead
    if unit.chain:
        queue = memory.queues(world)[unit.queue]
        stream = memory.streams(world)[queue.stream]
        count = 1 if unit.at_most == 1 else train(unit, stream.arrived - queue.position, state.fits)
        note_taken(state, queue, count)
        if count == 1 and unit.chain == 2:
            passed = memory.outcomes(world)[unit.outcomes_at + queue.position]
            for place in range(unit.costs_at, unit.costs_at + min(passed + 1, unit.calls_count)):
                state.time += memory.costs(world)[place]
            state.call_overhead += memory.overheads(world)[unit.costs_at + min(passed, unit.calls_count - 1)]
            if passed == unit.calls_count:
                arrival = memory.times(world)[stream.times_at + queue.position]
                emit(state, memory.results(world), unit.query, arrival, state.time, arrival)
        else:
            _run_chain(world, unit, queue.position, count)
        queue.position += count
        block(world, unit)
        return True
    if unit.single and unit.at_most == 1:
        _run_filter(world, number, unit, memory.workers(world)[worker])
        block(world, unit)
        return True
    return False


@jit
def _run_filter(world: Array, number: int, unit: Array, worker: Array) -> None:
    """One tuple goes through one filter."""
    state, pool, queue = memory.state(world), memory.pool(world), memory.queues(world)[unit.queue]
    operator = memory.operators(world)[memory.links(world)[unit.calls_at]]
    note_taken(state, queue, 1)
    if queue.stream >= 0:
        arrival = head(world, queue)
        slot = fresh(state, pool, queue.position, arrival, arrival)
        queue.position += 1
    else:
        slot = take_one(pool, queue)
    item = pool[slot]
    worker.oldest = min(state.floor, item.arrival)
    spend_call(state, operator)
    state.time += seconds(operator, item.identity)
    count = copies(operator, memory.links(world), memory.outcomes(world), item.identity)
    filter_one(world, number, operator, worker, slot, count)
    if worker.leaving == NONE:
        worker.oldest = math.inf


@inlined
def _most_results(world: Array, unit: Array) -> int:
    """How many results the next run may give, if it is computed in one step; others ask for room call by call."""
    if not unit.chain or unit.at_most == 1:
        return max(1, unit.most)
    queue = memory.queues(world)[unit.queue]
    return memory.streams(world)[queue.stream].arrived - queue.position


@jit
def _run_chain(world: Array, unit: Array, first: int, count: int) -> None:
    """A train of tuples through filters whose outcomes are known, operator by operator."""
    state, outcomes = memory.state(world), memory.outcomes(world)
    stream = memory.streams(world)[memory.queues(world)[unit.queue].stream]
    for step in range(unit.calls_count):
        operator = memory.operators(world)[memory.links(world)[unit.calls_at + step]]
        called = False
        for offset in range(first, first + count):
            passed = outcomes[unit.outcomes_at + offset]
            if passed < step:
                continue
            if not called:
                spend_call(state, operator)
                called = True
            state.time += seconds(operator, np.uint64(offset))
            if passed == unit.calls_count and step + 1 == unit.calls_count:
                arrival = memory.times(world)[stream.times_at + offset]
                emit(state, memory.results(world), unit.query, arrival, state.time, arrival)


@jit
def _inputs(world: Array, operator: Array) -> int:
    """How many tuples of the run under way wait before an operator."""
    count = 0
    for port in range(operator.queues_count):
        slot = memory.queues(world)[memory.links(world)[operator.queues_at + port]].waiting
        while slot != NONE:
            count += 1
            slot = memory.pool(world)[slot].next
    return count


@jit
def _most_given(world: Array, operator: Array, count: int) -> int:
    """The most results that an operator may give for so many tuples."""
    if operator.kind == JOIN:
        return count * (max(operator.left_count, operator.right_count) + count)
    if operator.kind == AGGREGATE:
        room = operator.windows_count
        counted = count * room
        for place in range(operator.windows_at, operator.windows_at + room):
            counted += memory.windows(world)[place]
        return (count + 1) * room + int(max(1.0, operator.selectivity) * counted)
    return count * max(1, math.ceil(operator.selectivity))


@inlined
def _has_room(world: Array, tuples: int, results: int) -> bool:
    """Whether there is room for so many tuples and results; if not, what is wanted is noted."""
    state = memory.state(world)
    state.wanted_tuples, state.wanted_results = tuples, results + SPARE
    return bool(state.room >= tuples and len(memory.results(world)) - state.results >= results + SPARE)


@jit
def _fits(world: Array, operator: Array, count: int) -> bool:
    """Whether there is room for all that an operator may give for so many tuples."""
    state = memory.state(world)
    state.wanted_side = max(operator.left_count, operator.right_count) + count if operator.kind == JOIN else 0
    given = _most_given(world, operator, count)
    room = _has_room(world, given * max(1, operator.consumers_count), given * operator.emits_count)
    return bool(room and operator.side_room >= state.wanted_side)


@jit
def _continue_calls(world: Array) -> bool:
    """Let the operators of the run under way work, one after the other; False where there is no room for the next."""
    state = memory.state(world)
    unit, worker = memory.units(world)[state.unit], memory.workers(world)[state.worker]
    while state.call < unit.calls_count:
        operator = memory.operators(world)[memory.links(world)[unit.calls_at + state.call]]
        count = _inputs(world, operator)
        if count:
            if not _fits(world, operator, count):
                return False
            if operator.kind == FILTER and operator.queues_count == 1:
                call_filter(world, state.unit, operator, worker)
            else:
                call_any(world, state.unit, operator, worker)
            if operator.kind == JOIN:
                expire(world, unit, operator)
        state.call += 1
    return True


@inlined
def _after_run(world: Array) -> bool:
    """A run has been computed: note when it ends; whether the core goes on at once because nothing else happens."""
    state = memory.state(world)
    worker = memory.workers(world)[state.worker]
    worker.behind = state.results
    worker.seconds = state.time - state.now
    state.busy += worker.seconds
    end = state.now + worker.seconds
    if state.cores > 1 or end >= state.horizon:
        push_ending(state, memory.endings(world), end, worker.number, state.worker)
        return False
    state.now = end
    if worker.leaving != NONE:
        settle(state)
        deliver(world, worker)
    finish(world, state.worker)
    return True


@jit
def _work(world: Array) -> int:
    """Let the asking cores run what they can; what is asked of Python meanwhile, or DONE."""
    state = memory.state(world)
    if state.chains and state.asked < state.asking:
        if not run_chains(world, len(memory.results(world)) - SPARE):
            return MORE_RESULTS
        state.asked += 1
    while state.asked < state.asking:
        state.worker = memory.asking(world)[state.asked]
        while True:
            if state.phase == WORK:
                if state.results + SPARE > len(memory.results(world)):
                    return MORE_RESULTS
                if state.answers > len(memory.results(world)):
                    return MORE_ANSWERS
                number = choose(world, state.worker)
                if number == ASK_AGAIN:
                    return JUDGE
                if number < 0:
                    memory.idle(world)[state.idle] = state.worker
                    state.idle += 1
                    break
                state.unit = number
                state.phase = START
            if state.phase == START:
                unit = memory.units(world)[state.unit]
                if not _has_room(world, unit.most, _most_results(world, unit)):
                    return MORE_ROOM
                memory.workers(world)[state.worker].first = state.results
                if begin(world, state.unit, state.worker):
                    state.phase = WORK
                else:
                    state.phase = CALLS
                    state.call = -1
            if state.phase == CALLS:
                unit = memory.units(world)[state.unit]
                if state.call < 0:
                    if not _has_room(world, waiting(world, unit), 0):
                        return MORE_ROOM
                    worker = memory.workers(world)[state.worker]
                    worker.oldest = state.floor
                    load(world, unit, worker)
                    block(world, unit)
                    state.call = 0
                if not _continue_calls(world):
                    return MORE_ROOM
                if memory.workers(world)[state.worker].leaving == NONE:
                    memory.workers(world)[state.worker].oldest = math.inf
                state.phase = WORK
            if not _after_run(world):
                break
        state.asked += 1
    settle(state)
    return DONE


@jit
def _arrive(world: Array) -> int:
    """Deliver the tuples that have arrived by now."""
    state = memory.state(world)
    while True:
        if state.delivery == state.deliveries:
            if not state.complete:
                return MORE_ARRIVALS
            state.floor = math.inf
            return DONE
        delivery = memory.deliveries(world)[state.delivery]
        state.floor = delivery.floor
        if delivery.at > state.now:
            return DONE
        state.delivery += 1
        stream = memory.streams(world)[delivery.stream]
        before = stream.arrived
        stream.arrived += delivery.tuples
        for place in range(stream.queues_at, stream.queues_at + stream.queues_count):
            queue = memory.queues(world)[memory.links(world)[place]]
            if queue.position == before:
                for step in range(queue.states_at, queue.states_at + queue.states_count):
                    make_ready(world, memory.links(world)[step])
        tuples = stream.queues_count * delivery.tuples
        change(state, tuples, tuples * stream.tuple_bytes)


@inlined
def _next_delivery(world: Array) -> float:
    state = memory.state(world)
    if state.delivery == state.deliveries:
        return math.inf
    return memory.deliveries(world)[state.delivery].at


@entry
def advance(world: Array) -> int:
    """Let events happen in the order of time until nothing is left, or the stop, or something is asked of Python."""
    state = memory.state(world)
    while True:
        if state.phase == EVENTS:
            if state.delivery == state.deliveries and not state.complete:
                return MORE_ARRIVALS
            if state.answers > len(memory.results(world)):
                return MORE_ANSWERS
            moment = memory.endings(world)[0].at if state.endings else math.inf
            moment = min(moment, _next_delivery(world))
            if moment > state.stop or moment == math.inf:
                return DONE
            if moment - state.next_sample > state.bin and moment / state.bin > MOST_BINS:
                state.now = moment
                return TOO_LONG
            if (moment - state.next_sample) / state.bin + SPARE > len(memory.samples(world)) - state.sampled:
                return MORE_SAMPLES
            state.now = moment
            while state.next_sample < state.now:
                sample(state, memory.samples(world))
            while state.endings and memory.endings(world)[0].at <= state.now:
                number = pop_ending(state, memory.endings(world))
                if memory.workers(world)[number].leaving != NONE:
                    deliver(world, memory.workers(world)[number])
                finish(world, number)
                memory.idle(world)[state.idle] = number
                state.idle += 1
            state.phase = ARRIVALS
        if state.phase == ARRIVALS:
            if _arrive(world) == MORE_ARRIVALS:
                return MORE_ARRIVALS
            if state.next_sample <= state.now:
                sample(state, memory.samples(world))
            state.horizon = min(_next_delivery(world), state.next_sample, state.stop)
            state.asking, state.asked = state.idle, 0
            for place in range(state.idle):
                memory.asking(world)[place] = memory.idle(world)[place]
            state.idle = 0
            state.phase = WORK
        asked = _work(world)
        if asked != DONE:
            return asked
        state.phase = EVENTS
