"""What operators do to tuples (`headgate.sim.operators`), compiled."""

from __future__ import annotations

import math

import numpy as np

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.pool import NONE, add_leaving, add_waiting, forget, fresh
from headgate.sim.compiled.randomness import START, fraction, mixed
from headgate.sim.compiled.tables import Array, Word

FILTER, DIFFERENCE, MERGE, AGGREGATE, JOIN = range(5)  # kinds
ALWAYS, DRAWN, SINGLE, PATTERN = range(4)  # how the outcomes of filters are known


@inlined
def seconds(operator: Array, identity: Word) -> float:
    """What one tuple costs."""
    if operator.noise == 0.0:
        return operator.cost
    share = operator.noise
    drawn = fraction(mixed(mixed(START, operator.noise_key), identity))
    return operator.cost * (1.0 - share + 2 * share * drawn)


@inlined
def spend_call(state: Array, operator: Array) -> None:
    """What calling an operator costs, whatever waits before it."""
    state.time += operator.overhead
    state.call_overhead += operator.overhead


@inlined
def copies(operator: Array, links: Array, outcomes: Array, identity: Word) -> int:
    """How many results a filter gives for a tuple."""
    if operator.known == DRAWN:
        return outcomes[operator.outcomes_at + np.int64(identity)]
    if operator.known == SINGLE:
        whole = int(operator.selectivity)
        drawn = fraction(mixed(mixed(START, operator.key), identity))
        return whole + (1 if drawn < operator.selectivity - whole else 0)
    if operator.known == PATTERN:
        operator.seen += 1
        return links[operator.pattern_at + (operator.seen - 1) % operator.pattern_count]
    return 1


@inlined
def emit(state: Array, results: Array, query: int, arrival: float, emission: float, reference: float) -> None:
    """Note a result of a query; there must be room for it."""
    result = results[state.results]
    result.query, result.arrival, result.emission, result.reference = query, arrival, emission, reference
    state.results += 1


@jit
def pass_on(world: Array, number: int, operator: Array, worker: Array, slot: int) -> None:
    """Hand a result to those that read it and to the queries whose result it is; the tuple goes along."""
    state, pool = memory.state(world), memory.pool(world)
    item = pool[slot]
    for place in range(operator.emits_at, operator.emits_at + operator.emits_count):
        emit(state, memory.results(world), memory.links(world)[place], item.arrival, state.time, item.reference)
    for step in range(operator.consumers_count):
        consumer = memory.links(world)[operator.consumers_at + step]
        handed = slot
        if step + 1 < operator.consumers_count:
            handed = fresh(state, pool, item.identity, item.arrival, item.reference)
        if memory.queues(world)[consumer].home == number:
            add_waiting(pool, memory.queues(world)[consumer], handed)
        else:
            add_leaving(pool, memory.queues(world), worker, consumer, handed)
    if not operator.consumers_count:
        forget(state, pool, slot)


@jit
def filter_one(world: Array, number: int, operator: Array, worker: Array, slot: int, count: int) -> None:
    """A filter gives so many results for a tuple."""
    state, pool = memory.state(world), memory.pool(world)
    if count == 0:
        forget(state, pool, slot)
    elif count == 1:
        pass_on(world, number, operator, worker, slot)
    else:
        item = pool[slot]
        for copy in range(count):
            identity = mixed(mixed(START, item.identity), np.uint64(copy))
            pass_on(world, number, operator, worker, fresh(state, pool, identity, item.arrival, item.reference))
        forget(state, pool, slot)


@jit
def call_filter(world: Array, number: int, operator: Array, worker: Array) -> None:
    """A filter with one input works through what waits before it."""
    state, pool = memory.state(world), memory.pool(world)
    queue = memory.queues(world)[memory.links(world)[operator.queues_at]]
    slot = queue.waiting
    queue.waiting = NONE
    spend_call(state, operator)
    while slot != NONE:
        following, identity = pool[slot].next, pool[slot].identity
        state.time += seconds(operator, identity)
        filter_one(
            world,
            number,
            operator,
            worker,
            slot,
            copies(operator, memory.links(world), memory.outcomes(world), identity),
        )
        slot = following


@jit
def gather(world: Array, operator: Array) -> int:
    """All inputs by arrival, into `scratch` as pairs of tuple and input; how many there are."""
    scratch, pool = memory.scratch(world), memory.pool(world)
    count = 0
    for port in range(operator.queues_count):
        queue = memory.queues(world)[memory.links(world)[operator.queues_at + port]]
        slot = queue.waiting
        queue.waiting = NONE
        while slot != NONE:
            scratch[2 * count], scratch[2 * count + 1] = slot, port
            count += 1
            slot = pool[slot].next
    if operator.queues_count > 1:
        arrivals = np.empty(count)
        for place in range(count):
            arrivals[place] = pool[scratch[2 * place]].arrival
        order = np.argsort(arrivals, kind="mergesort")
        before = scratch[: 2 * count].copy()
        for place in range(count):
            scratch[2 * place], scratch[2 * place + 1] = before[2 * order[place]], before[2 * order[place] + 1]
    return count


@jit
def call_any(world: Array, number: int, operator: Array, worker: Array) -> None:
    """An operator that has several inputs, or windows, works through what waits before it."""
    state, pool = memory.state(world), memory.pool(world)
    spend_call(state, operator)
    for place in range(gather(world, operator)):
        slot, port = memory.scratch(world)[2 * place], memory.scratch(world)[2 * place + 1]
        item = pool[slot]
        state.time += seconds(operator, item.identity)
        if operator.kind == AGGREGATE:
            _aggregate(world, number, operator, worker, item.arrival)
            forget(state, pool, slot)
        elif operator.kind == JOIN:
            _join(world, number, operator, worker, slot, port)
            forget(state, pool, slot)
        elif operator.kind == MERGE:
            item.identity = mixed(mixed(START, item.identity), np.uint64(port))
            pass_on(world, number, operator, worker, slot)
        elif operator.kind == DIFFERENCE and port:
            forget(state, pool, slot)
        else:
            count = copies(operator, memory.links(world), memory.outcomes(world), item.identity)
            if operator.kind == DIFFERENCE:
                count = min(count, 1)
            filter_one(world, number, operator, worker, slot, count)


@jit
def _aggregate(world: Array, number: int, operator: Array, worker: Array, moment: float) -> None:
    """Windows that a tuple closes give their results; it counts in those that are open to it."""
    windows, at, room = memory.windows(world), operator.windows_at, operator.windows_count
    last = np.int64(np.rint(moment / operator.slide))
    while last * operator.slide > moment:
        last -= 1
    if operator.panes > 0:
        first = last - operator.panes + 1
    else:
        first = last
        while (first - 1) * operator.slide + operator.window_size > moment:
            first -= 1
    if first > operator.upcoming:
        for window in range(operator.upcoming, min(first, operator.upcoming + room)):
            counted = windows[at + window % room]
            if counted:
                windows[at + window % room] = 0
                _close(world, number, operator, worker, window, counted, moment)
        operator.upcoming = first
    for window in range(operator.upcoming, last + 1):
        windows[at + window % room] += 1


@jit
def _close(world: Array, number: int, operator: Array, worker: Array, window: int, counted: int, moment: float) -> None:
    results = 1
    if operator.grouped:
        results = max(1, int(np.rint(operator.selectivity * counted)))
    if operator.from_end:
        moment = min(window * operator.slide + operator.window_size, moment)
    base = mixed(mixed(START, operator.key), np.uint64(np.int64(window)))
    for copy in range(results):
        slot = fresh(memory.state(world), memory.pool(world), mixed(base, np.uint64(copy)), moment, moment)
        pass_on(world, number, operator, worker, slot)


@inlined
def _before(one: Array, number: float, identity: Word, arrival: float, reference: float) -> bool:
    """Whether an entry of a side comes before another, or is the same."""
    if one.number != number:
        return bool(one.number < number)
    if one.identity != identity:
        return bool(one.identity < identity)
    if one.arrival != arrival:
        return bool(one.arrival < arrival)
    return bool(one.reference <= reference)


@jit
def _insert(sides: Array, at: int, count: int, number: float, item: Array) -> None:
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if _before(sides[at + middle], number, item.identity, item.arrival, item.reference):
            low = middle + 1
        else:
            high = middle
    for place in range(count, low, -1):
        sides[at + place] = sides[at + place - 1]
    entry = sides[at + low]
    entry.number, entry.identity, entry.arrival, entry.reference = number, item.identity, item.arrival, item.reference


@jit
def _cut(sides: Array, at: int, count: int, number: float) -> int:
    """How many entries of a side are below a number."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if sides[at + middle].number < number:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _join(world: Array, unit: int, operator: Array, worker: Array, slot: int, port: int) -> None:
    """A tuple meets its partners on the other side: an arc of the circle, in one or two pieces."""
    sides, item = memory.sides(world), memory.pool(world)[slot]
    number = fraction(mixed(mixed(mixed(START, operator.key), np.uint64(port)), item.identity))
    if port == 0:
        _insert(sides, operator.left_at, operator.left_count, number, item)
        operator.left_count += 1
        at, count = operator.right_at, operator.right_count
    else:
        _insert(sides, operator.right_at, operator.right_count, number, item)
        operator.right_count += 1
        at, count = operator.left_at, operator.left_count
    if operator.selectivity >= 1.0:
        _meet(world, unit, operator, worker, slot, port, at, 0, count)
        return
    low = number if port == 0 else number - operator.selectivity
    high = low + operator.selectivity
    if low < 0.0:
        _meet(world, unit, operator, worker, slot, port, at, _cut(sides, at, count, 0.0), _cut(sides, at, count, high))
        low, high = low + 1.0, 1.0
    elif high > 1.0:
        start, end = _cut(sides, at, count, 0.0), _cut(sides, at, count, high - 1.0)
        _meet(world, unit, operator, worker, slot, port, at, start, end)
        high = 1.0
    _meet(world, unit, operator, worker, slot, port, at, _cut(sides, at, count, low), _cut(sides, at, count, high))


@jit
def _meet(
    world: Array,
    unit: int,
    operator: Array,
    worker: Array,
    slot: int,
    port: int,
    at: int,
    start: int,
    end: int,
) -> None:
    state, pool = memory.state(world), memory.pool(world)
    item = pool[slot]
    for place in range(at + start, at + end):
        partner = memory.sides(world)[place]
        apart = partner.arrival - item.arrival if port == 0 else item.arrival - partner.arrival
        if not operator.lower <= apart <= operator.upper:
            continue
        item_first = item.arrival <= partner.arrival if port == 0 else item.arrival < partner.arrival
        if port == 0:
            identity = mixed(mixed(START, item.identity), partner.identity)
        else:
            identity = mixed(mixed(START, partner.identity), item.identity)
        left_first = item_first if port == 0 else not item_first
        work = operator.left_work if left_first else operator.right_work
        if item_first:
            arrival, reference = partner.arrival, max(item.reference, partner.reference - work)
        else:
            arrival, reference = item.arrival, max(partner.reference, item.reference - work)
        pass_on(world, unit, operator, worker, fresh(state, pool, identity, arrival, reference))


@jit
def _oldest_in(world: Array, number: int) -> float:
    """The earliest arrival in a queue: at the head of a stream's, but operators may give results in any order."""
    queue = memory.queues(world)[number]
    if queue.stream >= 0:
        stream = memory.streams(world)[queue.stream]
        if queue.position < stream.arrived:
            return memory.times(world)[stream.times_at + queue.position]
        return math.inf
    first, slot = math.inf, queue.first
    for _ in range(queue.length):
        first = min(first, memory.pool(world)[slot].arrival)
        slot = memory.pool(world)[slot].next
    return first


@jit
def _earliest(world: Array, at: int, count: int) -> float:
    """The earliest arrival of tuples that may still come to an input whose queues upstream are these."""
    first = memory.state(world).floor
    for place in range(len(memory.workers(world))):
        first = min(first, memory.workers(world)[place].oldest)
    for place in range(at, at + count):
        first = min(first, _oldest_in(world, memory.links(world)[place]))
    return first


@jit
def _still_waiting(world: Array, unit: Array) -> float:
    """The earliest arrival among tuples that wait inside the run under way."""
    first = math.inf
    for step in range(unit.entry_count + unit.inner_count):
        place = unit.entry_at + step if step < unit.entry_count else unit.inner_at + step - unit.entry_count
        slot = memory.queues(world)[memory.links(world)[place]].waiting
        while slot != NONE:
            first = min(first, memory.pool(world)[slot].arrival)
            slot = memory.pool(world)[slot].next
    return first


@jit
def _expired(sides: Array, at: int, count: int, reach: float, earliest: float) -> int:
    kept = 0
    for place in range(at, at + count):
        if sides[place].arrival + reach >= earliest:
            sides[at + kept] = sides[place]
            kept += 1
    return kept


@jit
def expire(world: Array, unit: Array, operator: Array) -> None:
    """Forget tuples of a join whose partners have all come, when there are many."""
    if operator.right_count > 2 * operator.right_kept:
        earliest = _earliest(world, operator.left_upstream, operator.left_upstream_count)
        earliest = min(earliest, _still_waiting(world, unit))
        operator.right_count = _expired(
            memory.sides(world), operator.right_at, operator.right_count, -operator.lower, earliest
        )
        operator.right_kept = max(64, operator.right_count)
    if operator.left_count > 2 * operator.left_kept:
        earliest = _earliest(world, operator.right_upstream, operator.right_upstream_count)
        earliest = min(earliest, _still_waiting(world, unit))
        operator.left_count = _expired(
            memory.sides(world), operator.left_at, operator.left_count, operator.upper, earliest
        )
        operator.left_kept = max(64, operator.left_count)
