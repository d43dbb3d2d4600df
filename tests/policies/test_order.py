"""Both ways of keeping an order against the plain one: look at all lines and take the best."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Level, Unit, UnitId
from headgate.policies.baseline.fifo import FirstInFirstOut
from headgate.policies.checks import Situation
from headgate.policies.checks.simple_view import SimpleView
from headgate.policies.contract import Tally
from headgate.policies.order import Heap, Line, Order, Ranks, Scan, order, settled

CHAINS = Situation({name: ["select", "select"] for name in ("p", "q")})
UNITS = 4

# Whole numbers and halves, so that both ways compute the same floats and ties are ties.
Intercepts = st.integers(-4, 4).map(float)
Slopes = st.sampled_from([0.0, 0.5, 1.0, 2.0])
Act = st.one_of(
    st.tuples(st.just("add"), st.integers(0, UNITS - 1), st.integers(0, 5)),
    st.tuples(st.just("block"), st.integers(0, UNITS - 1), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(0, 3)),
    st.tuples(st.just("pop"), st.just(0), st.just(0)),
)
Acts = st.lists(Act, min_size=10, max_size=40)


@dataclass
class Naive:
    """All units that were added, and the arrival of their head tuples at that time."""

    lines: dict[UnitId, Line]
    heads: dict[UnitId, float] = field(default_factory=dict)

    def add(self, view: SimpleView, unit: Unit) -> None:
        self.heads[unit.id] = view.oldest(unit)

    def pop(self, view: SimpleView) -> Unit | None:
        for _, head, _, number in sorted(self._rank(view, number) for number in self.heads):
            assert self.heads.pop(number) == head
            if number in view.ready:
                return view.units[number]
        return None

    def _rank(self, view: SimpleView, number: UnitId) -> tuple[float, float, int, UnitId]:
        intercept, slope = self.lines[number]
        head = self.heads[number]
        return -(intercept + slope * (view.now - head)), head, -view.units[number].depth, number


def agree(kept: Order, lines: dict[UnitId, Line], view: SimpleView, acts: list[tuple[str, int, int]]) -> None:
    naive = Naive(lines)
    for act, number, amount in acts:
        unit = view.units[number]
        if act == "add":
            view.taken.discard(number)
            view.queues[unit.queues[0]] = [float(amount)]
            kept.add(view, unit)
            naive.add(view, unit)
        elif act == "block":
            view.taken.add(number)
        elif act == "wait":
            view.now += amount
        else:
            assert kept.pop(view) is naive.pop(view)
    while (best := naive.pop(view)) is not None:
        assert kept.pop(view) is best
    assert kept.pop(view) is None


def nothing_waits() -> SimpleView:
    view = CHAINS.view(FirstInFirstOut())
    assert [unit.level for unit in view.units.values()] == [Level.OPERATOR] * UNITS
    for queue in view.queues.values():
        queue.clear()
    view.now = 5.0
    return view


@given(Slopes, st.lists(Intercepts, min_size=UNITS, max_size=UNITS), Acts)
def test_equal_slopes(slope: float, intercepts: list[float], acts: list[tuple[str, int, int]]) -> None:
    lines = {number: (intercept, slope) for number, intercept in enumerate(intercepts)}
    for kind in (Heap, Scan):
        view = nothing_waits()
        agree(kind(lines, view, Tally()), lines, view, acts)


@given(st.permutations([-1.0, 0.0, 2.0, float("inf")]), Acts)
def test_no_slopes_and_no_ties(intercepts: list[float], acts: list[tuple[str, int, int]]) -> None:
    lines = {number: (intercept, 0.0) for number, intercept in enumerate(intercepts)}
    for kind in (Ranks, Heap, Scan):
        view = nothing_waits()
        agree(kind(lines, view, Tally()), lines, view, acts)


@given(st.lists(st.tuples(Intercepts, Slopes), min_size=UNITS, max_size=UNITS), Acts)
def test_any_slopes(slanted: list[Line], acts: list[tuple[str, int, int]]) -> None:
    lines = dict(enumerate(slanted))
    view = nothing_waits()
    agree(order(lines, view, Tally()), lines, view, acts)


@given(
    st.lists(st.sampled_from([(0.0, float("inf")), (float("inf"), 0.0), (0.0, 1.0)]), min_size=UNITS, max_size=UNITS),
    Acts,
)
def test_infinite_lines(endless: list[Line], acts: list[tuple[str, int, int]]) -> None:
    lines = dict(enumerate(endless))
    view = nothing_waits()
    plain = {number: settled(line) for number, line in lines.items()}
    agree(order(lines, view, Tally()), plain, view, acts)


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([(1.0, 0.0), (2.0, 0.0)], Ranks),
        ([(1.0, 0.0), (1.0, 0.0)], Heap),
        ([(1.0, 1.0), (2.0, 1.0)], Heap),
        ([(1.0, 1.0), (1.0, 2.0)], Scan),
    ],
)
def test_the_cheapest_that_will_do_is_kept(lines: list[Line], kind: type) -> None:
    assert isinstance(order(dict(enumerate(lines)), nothing_waits(), Tally()), kind)
