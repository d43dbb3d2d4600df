"""Costs fitted to runs that nobody can look into: known coefficients come out again, whatever disturbs them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import Query, QueryClass, Select, Source, Stream, Work
from headgate.plan.network import Network
from headgate.stats import Measured
from headgate.stats.run_costs import CROWDED, FIRST, Observed, RunCosts, fit

FIXTURES = Path(__file__).with_name("fixtures")
JOB, TAKEN, RESULT = 0.06, 2e-5, 1e-4  # seconds of a job, and per tuple taken and result


def true_seconds(jobs: float, taken: float, results: float) -> float:
    return JOB * jobs + TAKEN * taken + RESULT * results


def observe(
    costs: RunCosts,
    random: Random,
    count: int,
    *,
    key: str = "q",
    noise: float = 0.0,
    outliers: float = 0.0,
    slow_first: int = 0,
    others: float = 0.0,
    slower: float = 1.0,
) -> None:
    """Let a unit run so often, on trains of very different sizes; each run is predicted before."""
    for number in range(count):
        taken = random.choice([50, 300, 1000, 4000])
        results = taken * 0.2
        seconds = true_seconds(1.0, taken, results) * random.uniform(1 - noise, 1 + noise) * slower
        if number < slow_first:
            seconds *= 10  # classes are loaded and code is compiled
        if random.random() < outliers:
            seconds *= 8
        model = costs.model(key, others)
        predicted = None if model is None else model.seconds(taken)
        costs.observe(key, taken, Work(1.0, float(taken), results), seconds, others, predicted)


def expected(taken: float) -> float:
    return true_seconds(1.0, taken, taken * 0.2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("noise", "outliers", "slow_first", "within"),
    [(0.0, 0.0, 0, 0.01), (0.1, 0.0, 0, 0.1), (0.1, 0.1, 0, 0.2), (0.1, 0.0, 5, 0.2), (0.1, 0.1, 5, 0.25)],
)
def test_known_costs_are_recovered(seed: int, noise: float, outliers: float, slow_first: int, within: float) -> None:
    costs = RunCosts()
    observe(costs, Random(seed), 60, noise=noise, outliers=outliers, slow_first=slow_first)
    model = costs.model("q", others=0.0)
    assert model is not None
    for taken in (50, 1000, 4000):
        assert model.seconds(taken) == pytest.approx(expected(taken), rel=within)
    assert costs.job_overhead == pytest.approx(JOB, rel=max(within, 0.3))


@pytest.mark.parametrize("seed", range(4))
def test_errors_shrink_as_runs_are_seen(seed: int) -> None:
    costs, random = RunCosts(), Random(seed)
    assert costs.error() is None
    observe(costs, random, 8, noise=0.05, slow_first=3)
    first = list(costs.units["q"].errors)
    observe(costs, random, 100, noise=0.05)
    error = costs.error("q")
    assert error is not None
    assert error < 0.1 < max(first)
    assert costs.error() == error


Features = st.tuples(
    st.floats(0.0, 4.0), st.floats(0.0, 1e5, allow_subnormal=False), st.floats(0.0, 1e5), st.floats(0.0, 1e4)
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(Features, st.floats(1e-4, 100.0)), min_size=1, max_size=40))
def test_coefficients_are_never_negative(runs: list[tuple[tuple[float, float, float, float], float]]) -> None:
    found = fit([Observed(features, seconds) for features, seconds in runs])
    assert all(0.0 <= value < float("inf") for value in found)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 10**5), st.floats(1e-4, 100.0), st.integers(0, 3)), min_size=1, max_size=40))
def test_predictions_are_never_negative_and_grow_with_the_train(runs: list[tuple[int, float, int]]) -> None:
    costs = RunCosts()
    for taken, seconds, others in runs:
        costs.observe("q", taken, Work(1.0, float(taken), taken / 2), seconds, others)
    for beside in (None, 0.0, 2.0):
        model = costs.model("q", beside)
        assert model is not None
        assert min(model.fixed, model.per_tuple) >= 0.0
        assert model.seconds(10) <= model.seconds(1000)


def test_a_unit_with_runs_of_one_size_borrows_from_the_others() -> None:
    costs, random = RunCosts(), Random(1)
    observe(costs, random, 60)
    for _ in range(3):
        costs.observe("new", 1000, Work(1.0, 1000.0, 200.0), expected(1000))
    model = costs.model("new", others=0.0)
    assert model is not None
    assert model.seconds(4000) == pytest.approx(expected(4000), rel=0.3)


def test_what_never_ran_has_no_model_and_what_ran_little_is_believed_only_so_far() -> None:
    costs = RunCosts()
    assert costs.model("q") is None
    assert costs.error("q") is None
    costs.observe("q", 100, Work(1.0, 100.0, 0.0), 0.1)
    model = costs.model("q")
    assert model is not None
    assert model.fits(1e9) == FIRST


def test_crowding_is_learned_from_runs_beside_others() -> None:
    costs, random = RunCosts(), Random(2)
    for _ in range(12):
        observe(costs, random, 4, noise=0.02)
        observe(costs, random, 4, noise=0.02, others=1.0, slower=1.8)
    assert costs.crowding == pytest.approx(0.8, abs=0.2)
    alone, beside = costs.model("q", 0.0), costs.model("q", 1.0)
    assert alone is not None
    assert beside is not None
    assert beside.seconds(1000) / alone.seconds(1000) == pytest.approx(1.8, abs=0.2)
    assert alone.seconds(1000) == pytest.approx(expected(1000), rel=0.15)


def test_without_runs_of_both_kinds_crowding_stays_as_assumed() -> None:
    costs = RunCosts()
    observe(costs, Random(3), 50)
    assert costs.crowding == CROWDED


def test_units_that_are_gone_are_forgotten() -> None:
    costs, random = RunCosts(), Random(4)
    for key in "abc":
        observe(costs, random, 3, key=key)
    costs.forget(["b", "x"])
    assert list(costs.units) == ["b"]
    assert costs.model("a") is None


def test_a_run_that_took_no_time_teaches_nothing() -> None:
    costs = RunCosts()
    costs.observe("q", 10, Work(1.0, 10.0, 0.0), 0.0)
    assert not costs.units


def test_costs_of_units_that_left_the_network_are_dropped() -> None:
    def network(*names: str) -> Network:
        queries = [Query(name=name, query_class="c", plan=Select(inputs=(Source("s"),))) for name in names]
        return Network.of(queries, [Stream(name="s")], [QueryClass("c")])

    whole = network("a", "b")
    measured = Measured.of(whole, fits_overhead=True)
    for number in whole.nodes:
        measured.run_costs.observe((number,), 10, Work(1.0, 10.0, 0.0), 0.1)
    left = whole.remove("b")
    measured.follow(left)
    assert list(measured.run_costs.units) == [(number,) for number in left.nodes]


# -- runs on Spark -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1, 20])
def test_the_plant_s_runs_are_predicted_within_a_quarter(rate: int) -> None:
    """Runs of examples/plant.toml at 1 and 20 times its rates, recorded on two cores: the first minute of a cold Spark.

    A line has the time of its end, its unit, tuples taken, jobs, tuples read, results, seconds, and other runs beside.
    """
    costs, errors = RunCosts(), []
    for line in (FIXTURES / f"plant-{rate}.jsonl").read_text().splitlines():
        at, unit, taken, jobs, read, results, seconds, others = json.loads(line)
        model = costs.model(unit, others)
        predicted = None if model is None else model.seconds(taken)
        if predicted is not None and at > 30.0:
            errors.append(abs(predicted - seconds) / seconds)
        costs.observe(unit, taken, Work(jobs, read, results), seconds, others, predicted)
    assert len(errors) > 100
    assert median(errors) < 0.25


def test_costs_that_change_are_fitted_again_at_once_and_costs_that_do_not_are_kept() -> None:
    costs = RunCosts()
    for _ in range(41):  # no multiple of FIT_EVERY
        costs.observe("q", 100, Work(1.0, 100, 0.0), seconds=0.1, predicted=0.1)
    before = costs.units["q"].coefficients
    costs.observe("q", 100, Work(1.0, 100, 0.0), seconds=0.105, predicted=0.1)
    assert costs.units["q"].coefficients is before
    costs.observe("q", 100, Work(1.0, 100, 0.0), seconds=0.3, predicted=0.1)
    assert costs.units["q"].coefficients is not before
