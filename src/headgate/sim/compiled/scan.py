"""Lines of different slopes: the unit that `headgate.policies.order.Scan` would choose, without looking at all of them.

Units of like slope are a part. A part has a bound that none of its priorities exceeds: the highest when it was looked
at last, plus its steepest slope times the time since. Only parts whose bound reaches the best are looked at. When its
highest runs, the second highest is the bound from then on.
"""

from __future__ import annotations

import math

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array

EMPTY = -1e300  # the bound of a part without lines; minus infinity would give no number with the margin
_MARGIN = 1e-9  # of a bound: far more than what rounding makes of it


@inlined
def _priority(line: Array, now: float) -> float:
    return (now - line.head) * line.slope + line.intercept


@inlined
def _bound(part: Array, now: float) -> float:
    return part.top + part.steep * (now - part.since)


@inlined
def _higher(one: float, other: float) -> float:
    return one if one > other else other


@inlined
def _lower(one: float, other: float) -> float:
    return one if one < other else other


@jit
def scan(world: Array, number: int, head: float) -> None:
    """A unit is ready with this head."""
    unit, now = memory.units(world)[number], memory.state(world).now
    part = memory.parts(world)[unit.part]
    if unit.placed < 0:
        unit.placed = part.lines_at + part.lines
        part.lines += 1
    line = memory.scanned(world)[unit.placed]
    line.unit, line.intercept, line.head, line.slope = number, unit.intercept, head, unit.slope
    part.top = max(part.top, _priority(line, now) - part.steep * (now - part.since))


@jit
def _better(units: Array, one: Array, other: Array) -> bool:
    """Of two lines of equal priority, whether the first wins: the older, nearer to the output, lower number."""
    if one.head != other.head:
        return bool(one.head < other.head)
    if units[one.unit].depth != units[other.unit].depth:
        return bool(units[one.unit].depth > units[other.unit].depth)
    return bool(one.unit < other.unit)


@jit
def _first_of_equals(world: Array, part: Array, highest: float) -> int:
    """Of the lines of a part that have the highest priority, the one that wins."""
    scanned, now, best = memory.scanned(world), memory.state(world).now, -1
    for place in range(part.lines_at, part.lines_at + part.lines):
        if _priority(scanned[place], now) == highest and (
            best < 0 or _better(memory.units(world), scanned[place], scanned[best])
        ):
            best = place
    return best


@inlined
def _look_at(world: Array, part: Array) -> int:
    """The best line of a part; its bound is exact afterwards."""
    scanned, now = memory.scanned(world), memory.state(world).now
    best, top, second = -1, -math.inf, EMPTY
    for place in range(part.lines_at, part.lines_at + part.lines):
        priority = _priority(scanned[place], now)
        second = _higher(second, _lower(top, priority))
        best = place if priority > top else best
        top = _higher(top, priority)
    part.top, part.second, part.since = top, second, now
    return _first_of_equals(world, part, top) if second == top else best


@jit
def _best_of_others(world: Array, first: int, best: int) -> int:
    """The best line of a part and of all other parts."""
    parts, now, scanned = memory.parts(world), memory.state(world).now, memory.scanned(world)
    for number in range(len(parts)):
        highest, bound = _priority(scanned[best], now), _bound(parts[number], now)
        if number != first and bound + abs(bound) * _MARGIN >= highest:
            rival = _look_at(world, parts[number])
            top = parts[number].top
            if top > highest or (top == highest and _better(memory.units(world), scanned[rival], scanned[best])):
                best = rival
    return best


@inlined
def _best(world: Array) -> int:
    """The line of the highest priority, -1 if there is none."""
    parts, now = memory.parts(world), memory.state(world).now
    first, bound, second = -1, EMPTY / 2, EMPTY
    for number in range(len(parts)):
        upper = _bound(parts[number], now)
        second = _higher(second, _lower(bound, upper))
        first = number if upper > bound else first
        bound = _higher(bound, upper)
    if first < 0:
        return -1
    best = _look_at(world, parts[first])
    if second + abs(second) * _MARGIN < _priority(memory.scanned(world)[best], now):
        return best
    return _best_of_others(world, first, best)


@jit
def best_scanned(world: Array) -> int:
    """The ready unit of the highest priority, -1 if there is none; those that are not ready are dropped."""
    units, scanned = memory.units(world), memory.scanned(world)
    while True:
        best = _best(world)
        if best < 0:
            return -1
        number = scanned[best].unit
        part = memory.parts(world)[units[number].part]
        part.lines -= 1
        part.top = part.second  # `best` was its highest: it was looked at just now
        scanned[best] = scanned[part.lines_at + part.lines]
        units[scanned[best].unit].placed = best
        units[number].placed = -1
        if units[number].ready:
            return number
