"""Lines of different slopes: the unit that `headgate.policies.order.Scan` would choose, without looking at all of them.

Units of like slope are a group. A group has a bound that none of its priorities exceeds: the highest when it was looked
at last, plus its steepest slope times the time since. Only groups whose bound reaches the best are looked at.
"""

from __future__ import annotations

import math

from headgate.sim.compiled import memory
from headgate.sim.compiled.jit import inlined, jit
from headgate.sim.compiled.tables import Array

_MARGIN = 1e-9  # of a bound: far more than what rounding makes of it


@inlined
def _priority(entry: Array, now: float) -> float:
    return (now - entry.head) * entry.slope + entry.intercept


@inlined
def _bound(group: Array, now: float) -> float:
    bound = group.top + group.steep * (now - group.since)
    return bound + abs(bound) * _MARGIN


@jit
def scan(world: Array, number: int, head: float) -> None:
    """A unit is ready with this head."""
    unit, now = memory.units(world)[number], memory.state(world).now
    group = memory.parts(world)[unit.part]
    if unit.placed < 0:
        unit.placed = group.heap_at + group.held
        group.held += 1
    entry = memory.scanned(world)[unit.placed]
    entry.unit, entry.intercept, entry.head, entry.slope = number, unit.intercept, head, unit.slope
    group.top = max(group.top, _priority(entry, now) - group.steep * (now - group.since))


@inlined
def _better(units: Array, one: Array, other: Array) -> bool:
    """Of two entries of equal priority, whether the first wins: the older, nearer to the output, lower number."""
    if one.head != other.head:
        return bool(one.head < other.head)
    if units[one.unit].depth != units[other.unit].depth:
        return bool(units[one.unit].depth > units[other.unit].depth)
    return bool(one.unit < other.unit)


@jit
def _look_at(world: Array, number: int, best: int, highest: float) -> int:
    """The best of a group and of a former best; the group's bound is exact afterwards."""
    group, now = memory.parts(world)[number], memory.state(world).now
    scanned, units = memory.scanned(world), memory.units(world)
    top = -math.inf
    for place in range(group.heap_at, group.heap_at + group.held):
        priority = _priority(scanned[place], now)
        top = max(top, priority)
        if priority > highest or (best >= 0 and priority == highest and _better(units, scanned[place], scanned[best])):
            best, highest = place, priority
    group.top, group.since = top, now
    return best


@jit
def _best(world: Array) -> int:
    """The entry of the highest priority, -1 if there is none."""
    groups, now = memory.parts(world), memory.state(world).now
    scanned = memory.scanned(world)
    first, bound = -1, -math.inf
    for number in range(len(groups)):
        if groups[number].held and (first < 0 or _bound(groups[number], now) > bound):
            first, bound = number, _bound(groups[number], now)
    if first < 0:
        return -1
    best = _look_at(world, first, -1, -math.inf)
    for number in range(len(groups)):
        if number != first and groups[number].held:
            highest = _priority(scanned[best], now)
            if _bound(groups[number], now) >= highest:
                best = _look_at(world, number, best, highest)
    return best


@jit
def best_scanned(world: Array) -> int:
    """The ready unit of the highest priority, -1 if there is none; those that are not ready are dropped."""
    units, scanned = memory.units(world), memory.scanned(world)
    while True:
        best = _best(world)
        if best < 0:
            return -1
        number = scanned[best].unit
        group = memory.parts(world)[units[number].part]
        group.held -= 1
        scanned[best] = scanned[group.heap_at + group.held]
        units[scanned[best].unit].placed = best
        units[number].placed = -1
        if units[number].ready:
            return number
