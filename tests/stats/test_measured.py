"""Averages that forget, fitted lines, and what is learned from runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.builders import Scene, scene

from headgate.model import Level, OperatorOutcome, Outcome, Run
from headgate.stats import Measured
from headgate.stats.average import ExponentialAverage, ExponentialLine


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20), st.floats(0.0, 0.99))
def test_the_old_value_weighs_what_it_should(values: list[float], weight: float) -> None:
    average = ExponentialAverage(weight=weight)
    for value in values:
        average.add(value)
    expected = weight ** (len(values) - 1) * values[0]
    expected += sum((1 - weight) * weight**age * value for age, value in enumerate(reversed(values[1:])))
    assert average.value == pytest.approx(expected, abs=1e-9)


def test_an_average_starts_with_its_first_value_and_forgets_it() -> None:
    average = ExponentialAverage()
    assert average.value is None
    assert (average.add(8.0), average.add(16.0)) == (8.0, 0.875 * 8 + 0.125 * 16)
    for _ in range(200):
        average.add(3.0)
    assert average.value == pytest.approx(3.0)


@given(
    st.floats(0.0, 10.0),
    st.floats(0.001, 10.0),
    st.lists(st.integers(1, 500), min_size=5, max_size=30).filter(lambda sizes: max(sizes[-3:]) > 2 * min(sizes[-3:])),
)
def test_a_line_recovers_overhead_and_cost(fixed: float, slope: float, sizes: list[int]) -> None:
    line = ExponentialLine()
    for size in sizes:
        line.add(size, fixed + slope * size)
    assert line.fixed == pytest.approx(fixed, abs=1e-5)
    assert line.slope == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_while_all_trains_are_equal_the_overhead_is_as_known() -> None:
    line = ExponentialLine(fixed=3.0)
    for _ in range(10):
        line.add(10, 23.0)
    assert (line.fixed, line.slope) == (3.0, 2.0)


def test_a_line_follows_a_change() -> None:
    line = ExponentialLine()
    for size in [10, 20, 30] * 40:
        line.add(size, 1.0 + 1.0 * size)
    for size in [10, 20, 30] * 40:
        line.add(size, 5.0 + 2.0 * size)
    assert [line.fixed, line.slope] == pytest.approx([5.0, 2.0], rel=1e-3)


def test_a_line_never_falls_below_zero() -> None:
    line = ExponentialLine()
    for size, seconds in ((10, 5.0), (20, 4.0), (40, 1.0)):
        line.add(size, seconds)
    assert line.fixed >= 0.0
    assert line.slope >= 0.0


def observed(found: Scene, *work: OperatorOutcome, tuples: int = 10) -> Measured:
    unit = found.units(Level.QUERY)[0]
    run = Run(1, 0, (unit,), ((unit.queues[0], 0, tuples),), unit.calls, 0.0)
    found.measured.observe(Outcome(run, 1.0, operators=work))
    return found.measured


def test_selectivity_is_the_share_that_came_out() -> None:
    found = scene({"q": "select, cost=2ms, selectivity=1"})
    observed(found, OperatorOutcome(0, 10, 4, 0.03))
    known = observed(found, OperatorOutcome(0, 10, 8, 0.03)).operators[0]
    assert known.selectivity == pytest.approx(0.875 * 0.4 + 0.125 * 0.8)
    assert known.cost == pytest.approx(0.003)


def test_costs_stay_as_given_where_the_driver_cannot_tell() -> None:
    known = observed(scene({"q": "select, cost=2ms"}), OperatorOutcome(0, 10, 4)).operators[0]
    assert (known.cost, known.selectivity) == (0.002, 0.4)


def test_the_average_train_is_measured() -> None:
    found = scene({"q": "select"})
    assert observed(found, tuples=8).train == 8
    assert observed(found, tuples=16).train == 9


def test_a_join_is_given_per_pair_but_measured_per_tuple() -> None:
    found = scene({"q": "join, from=[l, r], window=10s, selectivity=0.1"}, {"l": 2.0, "r": 3.0})
    left, right = found.units(Level.PATH)
    assert found.stats.global_selectivity(left) == pytest.approx(0.1 * 10 * 3)
    observed(found, OperatorOutcome(0, 10, 25, 1.0))
    found.stats.renew(found.network)
    assert found.stats.global_selectivity(left) == found.stats.global_selectivity(right) == 2.5


def test_what_was_removed_meanwhile_is_not_learned() -> None:
    found = scene({"q": "select", "p": "select"})
    found.measured.follow(found.network.remove("p"))
    assert set(observed(found, OperatorOutcome(1, 10, 5, 1.0)).operators) == {0}


@pytest.mark.parametrize("fits_overhead", [False, True])
def test_what_was_learned_of_operators_that_are_gone_is_forgotten(fits_overhead: bool) -> None:
    found = scene({"q": "select", "p": "select"})
    found.measured.fits_overhead = fits_overhead
    learned = observed(found, OperatorOutcome(0, 10, 5, 1.0), OperatorOutcome(1, 10, 5, 1.0))
    learned.follow(found.network.remove("p"))
    assert set(learned._selectivities) == {0}
    assert set(learned._shares if fits_overhead else learned._costs) == {0}


def test_an_operator_that_saw_nothing_teaches_nothing() -> None:
    known = observed(scene({"q": "select, cost=2ms, selectivity=0.5"}), OperatorOutcome(0, 0, 0, 0.0)).operators[0]
    assert (known.cost, known.selectivity) == (0.002, 0.5)
