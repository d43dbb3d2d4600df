from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headgate.freshness import Elements, general_plan, plan
from headgate.freshness.exact import even_frequency
from headgate.freshness.mirror import observe
from headgate.freshness.setups import Alignment, Setup
from headgate.model import HeadgateError

from .problems import perceived


@pytest.mark.parametrize("alignment", Alignment)
@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_the_simulation_agrees_with_the_formula(alignment: Alignment, theta: float) -> None:
    setup = Setup(objects=200, updates=400, syncs=100, theta=theta, changes=alignment, pareto=1.3)
    elements = setup.elements()
    for found in (plan(elements, 100), general_plan(elements, 100)):
        seen = observe(elements, found.frequency, periods=200, accesses=1000, seed=2)
        assert abs(seen.perceived_freshness - found.perceived_freshness) <= 1.5 * seen.half_width


@pytest.mark.slow
def test_intervals_cover_the_formula_nineteen_times_of_twenty() -> None:
    elements = Setup(objects=50, updates=100, syncs=25).elements()
    frequency = even_frequency(elements, 25)
    expected = perceived(elements, frequency)
    hits = sum(observe(elements, frequency, accesses=200, seed=seed).agrees(expected) for seed in range(200))
    assert 180 <= hits <= 199


def test_what_never_changes_is_fresh_and_what_is_never_refreshed_is_not() -> None:
    elements = Elements.of([0, 3], [1, 1])
    seen = observe(elements, np.zeros(2), periods=100, accesses=100)
    assert seen.perceived_freshness == pytest.approx(0.5, abs=0.02)
    only = replace(elements, access=np.array([0.0, 1.0]))
    assert observe(only, np.zeros(2), periods=100, accesses=100).perceived_freshness == 0.0


def test_the_same_seed_sees_the_same() -> None:
    elements = Setup(objects=20, updates=40, syncs=10).elements()
    frequency = plan(elements, 10).frequency
    assert observe(elements, frequency, seed=5) == observe(elements, frequency, seed=5)
    assert observe(elements, frequency, seed=5) != observe(elements, frequency, seed=6)


def test_too_much_and_too_little_are_refused() -> None:
    elements = Elements.of([1e9], [1])
    with pytest.raises(HeadgateError, match="events"):
        observe(elements, np.ones(1))
    with pytest.raises(HeadgateError, match="too few accesses"):
        observe(Elements.of([1], [1]), np.ones(1), periods=1, accesses=1)
    with pytest.raises(HeadgateError, match="must be more than 0"):
        observe(Elements.of([1], [1]), np.ones(1), periods=0)
