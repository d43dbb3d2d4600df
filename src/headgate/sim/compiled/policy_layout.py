"""Lays out what a policy decides by: orders, cycles, parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.model import WHOLE_QUEUE, Train, Unit
from headgate.policies.aurora.fixed_priority import FixedPriority
from headgate.policies.classes.abd import AdaptiveBroadcastDisks
from headgate.policies.classes.cqc import ContinuousQueryClasses
from headgate.policies.classes.mbd import MultiCoreBroadcastDisks
from headgate.policies.classes.mprr import MultiCoreProportionalRoundRobin
from headgate.policies.contract import Policy, View
from headgate.policies.cyclic import Cyclic
from headgate.policies.linear import Linear
from headgate.policies.order import Line, settled
from headgate.policies.two_level import TwoLevel
from headgate.sim.compiled.ages import UNITS_PER_STREAM
from headgate.sim.compiled.choosing import AGES, CYCLE, DISKS, PARTS, QUOTAS, RANKS, SCAN, SLICES, TOURNAMENT
from headgate.sim.compiled.layout import Layout, set_train
from headgate.sim.compiled.scan import EMPTY
from headgate.sim.compiled.tables import LINE, PART, PLAYER, ROTATION, Array


@dataclass(slots=True)
class PolicyLayout:
    """The arrays that a policy's decisions need; small where it has no use for them."""

    family: int
    parts: Array = field(default_factory=lambda: np.zeros(1, PART))
    rotations: Array = field(default_factory=lambda: np.zeros(1, ROTATION))
    slots: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    ranked: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    players: Array = field(default_factory=lambda: np.zeros(1, PLAYER))
    winners: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    scanned: Array = field(default_factory=lambda: np.zeros(1, LINE))
    words: Array = field(default_factory=lambda: np.zeros(0, np.uint64))
    twister: Array = field(default_factory=lambda: np.zeros(1, np.int64))
    state: dict[str, Any] = field(default_factory=dict)  # numbers that the policy begins with
    _kept: tuple[int, int, int] = (0, 0, 0)  # links, slots and words of cycles that never change

    def keep(self, layout: Layout) -> None:
        """What there is now stays when a schedule is replaced."""
        self._kept = len(layout.links), len(self.slots), len(self.words)

    def cut(self, layout: Layout, words: Array) -> None:
        """Drop the schedule that will be replaced; `words` are the sets as they are now."""
        links, slots, kept = self._kept
        layout.links.cut(links)
        self.slots, self.words = self.slots[:slots], words[:kept]


def lay_out_policy(policy: Policy, view: View, layout: Layout) -> PolicyLayout:
    """The arrays of a policy that has been told of its units (`Policy.changed`)."""
    if isinstance(policy, Linear):
        return _linear(policy, view, layout)
    if isinstance(policy, Cyclic):
        return _cyclic(policy, view, layout)
    if isinstance(policy, ContinuousQueryClasses):
        return _quotas(policy, view, layout)
    if isinstance(policy, AdaptiveBroadcastDisks):
        return _slices(policy, layout)
    if isinstance(policy, MultiCoreBroadcastDisks):
        return _disks(policy, layout)
    assert isinstance(policy, TwoLevel)
    return _two_level(policy, view, layout)


def _linear(policy: Linear, view: View, layout: Layout) -> PolicyLayout:
    lines = _lines(policy, view, layout)
    slopes, intercepts = {slope for _, slope in lines}, {intercept for intercept, _ in lines}
    if len(slopes) > 1:
        return _scan(lines, layout)
    if isinstance(policy, FixedPriority) or (slopes == {0.0} and len(intercepts) == len(lines)):
        order = sorted(range(len(lines)), key=lambda place: -lines[place][0])
        layout.units["rank"][order] = np.arange(len(order))
        return PolicyLayout(RANKS, ranked=np.array(order, dtype=np.int64), words=_words(len(order)))
    laid_out = PolicyLayout(TOURNAMENT)
    tournaments(laid_out, layout, [range(len(lines))])
    if len(intercepts) == 1 and min(slopes) > 0 and UNITS_PER_STREAM * len(layout.streams) <= len(lines):
        laid_out.family = AGES
        laid_out.words = _words(len(lines))
        laid_out.players = laid_out.players[: len(lines)]
        laid_out.parts["top"] = -math.inf
    return laid_out


def _scan(lines: Sequence[Line], layout: Layout) -> PolicyLayout:
    """Units of like slope in groups, about as many groups as a group has units."""
    laid_out = PolicyLayout(SCAN, scanned=np.zeros(len(lines), LINE))
    order = sorted(range(len(lines)), key=lambda place: lines[place][1])
    size = math.isqrt(len(lines)) + 1
    laid_out.parts = np.zeros(-(-len(lines) // size), PART)
    for number, begin in enumerate(range(0, len(lines), size)):
        members = order[begin : begin + size]
        part = laid_out.parts[number]
        part["lines_at"], part["top"], part["steep"] = begin, EMPTY, max(0.0, lines[members[-1]][1])
        layout.units["part"][members] = number
    layout.units["placed"] = -1
    return laid_out


def _cyclic(policy: Cyclic, view: View, layout: Layout) -> PolicyLayout:
    laid_out = PolicyLayout(CYCLE)
    place = places(layout)
    put_cycle(laid_out, layout, 0, [place[unit.id] for unit in policy.build(view)], layout.units)
    return laid_out


def _two_level(policy: TwoLevel, view: View, layout: Layout) -> PolicyLayout:
    """Parts take turns; the inner policies are linear."""
    laid_out = PolicyLayout(PARTS)
    names = policy.parts(view)
    inner_lines(layout, view, policy.inner)
    tournaments(laid_out, layout, members(layout, names, policy.part))
    put_cycle(laid_out, layout, 0, range(len(names)), laid_out.parts)
    return laid_out


def _quotas(policy: ContinuousQueryClasses, view: View, layout: Layout) -> PolicyLayout:
    """Every class has a quota; the inner policies are linear."""
    names = list(policy.accounts)
    laid_out = PolicyLayout(QUOTAS, state={"classes": len(names), "current": -1, "concludes": 1})
    inner_lines(layout, view, policy.inner)
    tournaments(laid_out, layout, members(layout, names, lambda unit: unit.payer))
    accounts = policy.accounts.values()
    laid_out.parts["share"] = [account.share for account in accounts]
    laid_out.parts["quota"] = [account.quota for account in accounts]
    return laid_out


def _slices(policy: AdaptiveBroadcastDisks, layout: Layout) -> PolicyLayout:
    """Every class has slots in a cycle of slices, and a cycle of its own."""
    state = {"classes": len(policy.classes), "current": -1, "last": -1, "concludes": 1, "slice": policy.seconds}
    laid_out = PolicyLayout(SLICES, state=state)
    laid_out.parts = np.zeros(len(policy.classes), PART)
    laid_out.rotations = np.zeros(1 + len(policy.classes), ROTATION)
    for number, units in enumerate(members(layout, policy.classes, lambda unit: unit.payer)):
        layout.units["part"][units] = number
        put_cycle(laid_out, layout, 1 + number, units, layout.units)
    laid_out.keep(layout)
    lay_out_slices(laid_out, policy, layout)
    return laid_out


def lay_out_slices(laid_out: PolicyLayout, policy: AdaptiveBroadcastDisks, layout: Layout) -> None:
    """The cycle of slices as the policy has it now."""
    number_of = {name: number for number, name in enumerate(policy.classes)}
    put_cycle(laid_out, layout, 0, [number_of[name] for name in policy.round], laid_out.parts)


def _disks(policy: MultiCoreBroadcastDisks, layout: Layout) -> PolicyLayout:
    laid_out = PolicyLayout(DISKS, state={"concludes": 1})
    words = policy.random_state
    laid_out.twister = np.array(words, dtype=np.int64)
    laid_out.keep(layout)
    lay_out_disks(laid_out, policy, layout)
    return laid_out


def lay_out_disks(laid_out: PolicyLayout, policy: MultiCoreBroadcastDisks, layout: Layout) -> None:
    """The cycle as the policy has it now."""
    place = places(layout)
    for number, fraction in policy.fractions.items():
        layout.units[place[number]]["chance"] = fraction
    put_cycle(laid_out, layout, 0, [place[number] for number in policy.round], layout.units)


def inner_lines(layout: Layout, view: View, inner: Callable[[], Policy]) -> None:
    """The lines of all units by the inner policy of a part."""
    policy = inner()
    assert isinstance(policy, Linear)
    _lines(policy, view, layout)


def members(layout: Layout, names: Sequence[Hashable], part: Callable[[Unit], Hashable]) -> list[list[int]]:
    """The units of every part, by their places."""
    found: dict[Hashable, list[int]] = {name: [] for name in names}
    for place, state in enumerate(layout.states):
        found[part(state.unit)].append(place)
    return list(found.values())


def tournaments(laid_out: PolicyLayout, layout: Layout, parts: Sequence[Sequence[int]]) -> None:
    """A tournament for every part. Among equals the unit nearest to the output is first, then the lower number."""
    ranked: list[int] = []
    winners: list[int] = []
    laid_out.parts = np.zeros(max(1, len(parts)), PART)
    laid_out.parts["slot"] = -1
    for number, units in enumerate(parts):
        order = sorted(units, key=lambda place: (-layout.states[place].unit.depth, layout.states[place].id))
        part, seats = laid_out.parts[number], 1 << max(1, (len(order) - 1).bit_length())
        part["players_at"], part["seats"], part["ranked_at"] = len(winners) // 2, seats, len(ranked)
        layout.units["part"][order] = number
        layout.units["rank"][order] = np.arange(len(order))
        ranked += order
        winners += _first_of_each_match(seats)
    laid_out.ranked = np.array(ranked, dtype=np.int64)
    laid_out.winners = np.array(winners, dtype=np.int64)
    laid_out.players = np.zeros(len(winners) // 2, PLAYER)
    laid_out.players["key"] = laid_out.players["head"] = math.inf


def _first_of_each_match(seats: int) -> list[int]:
    """Winners while nobody plays: of every match the first who could be in it. The final is at 1, seats come last.

    >>> _first_of_each_match(4)
    [0, 0, 0, 2, 0, 1, 2, 3]
    """
    winners = [0] * seats + list(range(seats))
    for match in range(seats - 1, 0, -1):
        winners[match] = winners[2 * match]
    return winners


def put_cycle(laid_out: PolicyLayout, layout: Layout, number: int, cycle: Sequence[int], keys: Array) -> None:
    """A rotation: who stands at its slots, as places in an array of records. It begins from the start."""
    rotation = laid_out.rotations[number]
    rotation["slots_at"], rotation["count"] = len(laid_out.slots), len(cycle)
    rotation["bits_at"], rotation["cursor"] = len(laid_out.words), 0
    rotation["begins"] = rotation["last"] = 0
    stands: dict[int, list[int]] = {}
    for slot, key in enumerate(cycle):
        stands.setdefault(key, []).append(slot)
    for key, own in stands.items():
        keys[key]["slots_at"], keys[key]["slots_count"] = layout.links.add(own)
        keys[key]["slot"] = -1
    laid_out.slots = np.append(laid_out.slots, np.array(cycle, dtype=np.int64))
    laid_out.words = np.append(laid_out.words, np.zeros(len(cycle) // 64 + 1, dtype=np.uint64))


def set_trains(layout: Layout, policy: Policy, usual: Train) -> None:
    """How many tuples runs take."""
    for record, state in zip(layout.units, layout.states, strict=True):
        train = policy.train or (WHOLE_QUEUE if isinstance(policy, AdaptiveBroadcastDisks) else usual)
        if isinstance(policy, MultiCoreProportionalRoundRobin):
            train = policy.trains[state.unit.payer]
        set_train(record, train)


def places(layout: Layout) -> Mapping[int, int]:
    """Where units are in the array, by their numbers."""
    return {state.id: place for place, state in enumerate(layout.states)}


def _lines(policy: Linear, view: View, layout: Layout) -> list[Line]:
    lines = [settled(policy.line(state.unit, view.stats)) for state in layout.states]
    layout.units["intercept"] = [intercept for intercept, _ in lines]
    layout.units["slope"] = [slope for _, slope in lines]
    return lines


def _words(numbers: int) -> Array:
    return np.zeros(numbers // 64 + 1, dtype=np.uint64)
