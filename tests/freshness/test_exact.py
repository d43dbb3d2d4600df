from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.freshness.problems import BANDWIDTHS, nasty, perceived, plain

from headgate.freshness import Elements, general_plan, plan
from headgate.freshness.curve import Floats
from headgate.freshness.exact import even_frequency, floor_frequency
from headgate.model import HeadgateError

TABLE = {  # Carney 2005, table 2.1
    (1, 1, 1, 1, 1): (1.15, 1.36, 1.35, 1.14, 0.00),
    (1, 2, 3, 4, 5): (0.33, 0.67, 1.00, 1.33, 1.67),
    (5, 4, 3, 2, 1): (1.68, 1.83, 1.49, 0.00, 0.00),
}


@pytest.mark.parametrize(("access", "published"), TABLE.items())
def test_table_2_1(access: tuple[int, ...], published: tuple[float, ...]) -> None:
    found = plan(Elements.of([1, 2, 3, 4, 5], access), 5)
    np.testing.assert_allclose(found.frequency, published, atol=0.01)


def useful(elements: Elements) -> bool:
    return bool(((elements.change_rate > 0) & (elements.access > 0)).any())


@settings(max_examples=300, deadline=None)
@given(nasty(), BANDWIDTHS)
def test_the_bandwidth_is_used_and_nothing_is_better(elements: Elements, bandwidth: float) -> None:
    found = plan(elements, bandwidth)
    assert np.all(found.frequency >= 0)
    assert float(elements.size @ found.frequency) == pytest.approx(bandwidth if useful(elements) else 0.0, rel=1e-9)
    assert found.certificate.violation < 1e-9
    assert found.perceived_freshness <= found.certificate.bound * (1 + 1e-9)
    assert found.perceived_freshness >= found.certificate.bound * (1 - 1e-9)
    assert np.all(found.frequency[(elements.change_rate == 0) | (elements.access == 0)] == 0)


@settings(max_examples=100, deadline=None)
@given(nasty(), BANDWIDTHS, st.integers(0, 2**32 - 1))
def test_no_random_plan_is_better(elements: Elements, bandwidth: float, seed: int) -> None:
    best = plan(elements, bandwidth).perceived_freshness
    shares = np.random.default_rng(seed).dirichlet(np.full(len(elements), 0.3), size=200)
    for share in shares:
        assert perceived(elements, bandwidth * share / elements.size) <= best * (1 + 1e-12)
    assert perceived(elements, even_frequency(elements, bandwidth)) <= best * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(nasty(most=4), BANDWIDTHS)
def test_equal_elements_are_treated_equally(elements: Elements, bandwidth: float) -> None:
    twice = Elements.of(np.tile(elements.change_rate, 2), np.tile(elements.access, 2), np.tile(elements.size, 2))
    one, other = plan(twice, bandwidth).frequency.reshape(2, -1)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(12))
def test_never_below_slsqp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    elements = plain(rng, int(rng.integers(2, 12)))
    bandwidth = float(rng.uniform(0.3, 3.0) * len(elements))
    found = plan(elements, bandwidth)
    solved = slsqp(elements, bandwidth)
    assert found.perceived_freshness >= perceived(elements, solved) - 1e-12
    assert found.perceived_freshness == pytest.approx(perceived(elements, solved), abs=1e-4)


def slsqp(elements: Elements, bandwidth: float, least: Floats | None = None) -> Floats:
    """The general solver's plan, scaled so that it keeps to the bandwidth."""
    lowest = np.full(len(elements), 1e-9) if least is None else np.maximum(least, 1e-9)
    solved = minimize(
        lambda frequency: -perceived(elements, frequency),
        np.maximum(even_frequency(elements, bandwidth), lowest),
        method="SLSQP",
        bounds=[(each, None) for each in lowest],
        constraints={"type": "eq", "fun": lambda frequency: elements.size @ frequency - bandwidth},
        options={"maxiter": 500, "ftol": 1e-14},
    ).x
    return np.asarray(solved * min(1.0, bandwidth / float(elements.size @ solved)))


@pytest.mark.parametrize("seed", range(6))
def test_never_below_a_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    elements, bandwidth, parts = plain(rng, 3), 3.0, 60
    best = plan(elements, bandwidth).perceived_freshness
    grid = [
        perceived(elements, bandwidth / elements.size * np.array([a, b, parts - a - b]) / parts)
        for a, b in product(range(parts + 1), repeat=2)
        if a + b <= parts
    ]
    assert max(grid) <= best + 1e-12
    assert max(grid) == pytest.approx(best, abs=2e-3)


def test_a_million_elements() -> None:
    rng = np.random.default_rng(7)
    count = 1_000_000
    elements = Elements.of(rng.gamma(1.0, 2.0, count), rng.zipf(1.3, count), rng.pareto(1.5, count) + 0.1)
    found = plan(elements, count / 2)
    assert found.certificate.used == pytest.approx(count / 2, rel=1e-9)
    assert found.certificate.violation < 1e-9
    assert found.perceived_freshness == pytest.approx(found.certificate.bound, rel=1e-12)


def test_general_freshening_knows_no_profile() -> None:
    elements = Elements.of([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    general = general_plan(elements, 5)
    np.testing.assert_allclose(general.frequency, plan(elements.ignoring_access(), 5).frequency)
    assert general.perceived_freshness < plan(elements, 5).perceived_freshness


def test_nothing_to_refresh_is_an_answer() -> None:
    found = plan(Elements.of([0, 0, 2], [1, 1, 0]), 10)
    assert (found.perceived_freshness, found.certificate.used, found.unrefreshed) == (1.0, 0.0, 0)


@settings(max_examples=200, deadline=None)
@given(nasty(), st.just(0.0) | st.floats(1e-6, 0.99), st.floats(1.0 + 1e-9, 100.0))
def test_floors_are_met_first(elements: Elements, floor: float, more: float) -> None:
    needed = float(elements.size @ floor_frequency(elements.with_floor(floor)))
    bandwidth = needed * more if needed else 1.0
    found = plan(elements, bandwidth, min_freshness=floor)
    assert np.all(found.freshness >= floor * (1 - 1e-12))
    assert found.certificate.used <= bandwidth * (1 + 1e-9)
    assert found.certificate.violation < 1e-9
    if useful(elements):
        assert found.certificate.used == pytest.approx(bandwidth, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_floors_against_slsqp(seed: int) -> None:
    elements = plain(np.random.default_rng(seed), 6)
    least = floor_frequency(elements.with_floor(0.3))
    bandwidth = 1.5 * float(elements.size @ least)
    found = plan(elements, bandwidth, min_freshness=0.3)
    other = slsqp(elements, bandwidth, least)
    assert found.perceived_freshness >= perceived(elements, other) - 1e-9
    assert found.perceived_freshness == pytest.approx(perceived(elements, other), abs=1e-4)


def test_a_floor_for_one_element() -> None:
    elements = Elements.of([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    found = plan(elements, 5, min_freshness=[0, 0, 0, 0, 0.25])
    assert found.freshness[4] == pytest.approx(0.25)
    assert found.frequency[3] == 0.0


def test_floors_that_take_everything() -> None:
    elements = Elements.of([1, 2], [1, 3])
    needed = float(floor_frequency(elements.with_floor(0.6)).sum())
    assert plan(elements, needed, min_freshness=0.6).freshness == pytest.approx([0.6, 0.6])


def test_floors_out_of_reach_say_what_they_need() -> None:
    elements = Elements.of([1, 2, 3], [1, 1, 1])
    with pytest.raises(HeadgateError, match=r"the floors need a bandwidth of 9\.9") as caught:
        plan(elements, 5, min_freshness=0.75)
    needed = float(str(caught.value).split("bandwidth of ")[1].split(",")[0])
    assert plan(elements, needed * 1.0001, min_freshness=0.75).freshness.min() == pytest.approx(0.75, abs=1e-3)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bandwidth_that_is_none(bandwidth: float) -> None:
    with pytest.raises(HeadgateError, match=r"bandwidth must be (more than 0|at most)"):
        plan(Elements.of([1.0], [1.0]), bandwidth)
