"""Relaxations against the best of all orders."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.sim.bounds.clairvoyant import best_sum
from headgate.sim.bounds.jobs import Jobs
from headgate.sim.bounds.relaxations import least_sum, mean_busy_times, shortest_remaining_first

QUARTERS = st.integers(0, 20).map(lambda number: number / 4)
JOBS = st.lists(st.tuples(QUARTERS, QUARTERS, st.integers(0, 5)), min_size=1, max_size=6)


def of(jobs: list[tuple[float, float, int]]) -> Jobs:
    return Jobs.of([release for release, _, _ in jobs], [work for _, work, _ in jobs])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(JOBS, st.integers(1, 3))
def test_no_order_is_below_the_bound(jobs: list[tuple[float, float, int]], cores: int) -> None:
    ones = np.ones(len(jobs))
    assert least_sum(of(jobs), cores, ones) <= best_sum(of(jobs), cores, ones) + 1e-9
    weights = np.array([float(weight) for _, _, weight in jobs])
    assert least_sum(of(jobs), cores, weights) <= best_sum(of(jobs), cores, weights) + 1e-9


@settings(max_examples=100, deadline=None, derandomize=True)
@given(JOBS)
def test_the_bound_is_the_best_order_if_all_are_there_at_first_on_one_core(
    jobs: list[tuple[float, float, int]],
) -> None:
    """Then the shortest first, or the most weight for the work, is best and no job needs to be interrupted."""
    there = Jobs.of([0.0] * len(jobs), [work for _, work, _ in jobs])
    for weights in (np.ones(len(jobs)), np.array([float(weight) for _, _, weight in jobs])):
        assert least_sum(there, 1, weights) == pytest.approx(best_sum(there, 1, weights))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(JOBS, st.integers(1, 3))
def test_the_bound_is_the_best_order_if_nobody_waits(jobs: list[tuple[float, float, int]], cores: int) -> None:
    apart = Jobs.of([100.0 * number for number in range(len(jobs))], [work for _, work, _ in jobs])
    ones = np.ones(len(jobs))
    assert least_sum(apart, cores, ones) == pytest.approx(best_sum(apart, cores, ones))


def test_one_that_is_interrupted() -> None:
    """Three seconds of work, and one second that comes after one: whole, 4 + 5 or 3 + 4; interrupted, 2 + 4."""
    jobs = Jobs.of([0.0, 1.0], [3.0, 1.0])
    assert shortest_remaining_first(jobs, 1) == 2.0 + 4.0
    assert mean_busy_times(jobs, 1, np.ones(2)).tolist() == pytest.approx([(0.5 + 2 * 3.0) / 3, 1.5])
    assert mean_busy_times(jobs, 1, np.array([6.0, 1.0])).tolist() == [1.5, 3.5]


def test_work_that_is_shared_is_charged_in_parts() -> None:
    """Two results of one piece of work of 2 s both end after 2 s; charged 1 s each, they would after 1 and 2 s."""
    jobs = Jobs.of([0.0, 0.0], [1.0, 1.0], alone=[2.0, 2.0])
    assert shortest_remaining_first(jobs, 1) == 3.0
    assert least_sum(jobs, 1, np.ones(2)) == 4.0


def test_jobs_without_work_and_no_jobs_at_all() -> None:
    assert least_sum(Jobs.of([1.0, 2.0], [0.0, 0.0]), 2, np.ones(2)) == 3.0
    assert least_sum(Jobs.of([], []), 2, np.ones(0)) == 0.0


def test_too_many_orders_are_not_tried() -> None:
    with pytest.raises(ValueError, match="9 jobs have too many orders"):
        best_sum(Jobs.of([0.0] * 9, [1.0] * 9), 1, np.ones(9))
