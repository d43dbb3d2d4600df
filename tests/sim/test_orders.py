"""All orders of a few runs, compared with the order that a policy chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import intervals, traced, workload

from headgate.sim import simulate

Queries = st.lists(st.tuples(st.integers(1, 30), st.sampled_from([0.25, 0.5, 0.75, 1.0])), min_size=2, max_size=6)
Weight = Callable[[float, float], float]


def least(costs: Sequence[float], weights: Sequence[float]) -> float:
    """The least sum of weight × end over all orders."""
    totals = []
    for order in permutations(range(len(costs))):
        now = total = 0.0
        for number in order:
            now += costs[number]
            total += weights[number] * now
        totals.append(total)
    return min(totals)


def chosen(policy: str, queries: Sequence[tuple[int, float]], weights: Sequence[float]) -> float:
    """The same sum for the order that a policy chooses, one tuple each at time 0."""
    given = workload(
        {f"q{n}": f"select, cost={cost}ms, selectivity={share}" for n, (cost, share) in enumerate(queries)},
        "at, times=[0]",
    )
    _, lines = traced(given, policy)
    return sum(weights[unit] * end for _, end, _, (unit,) in intervals(lines))


def agree(policy: str, queries: Sequence[tuple[int, float]], weight: Weight) -> None:
    costs = [cost / 1000 for cost, _ in queries]
    weights = [weight(cost, share) for cost, (_, share) in zip(costs, queries, strict=True)]
    assert chosen(policy, queries, weights) == pytest.approx(least(costs, weights))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(Queries)
def test_hr_has_the_least_expected_response_time(queries: list[tuple[int, float]]) -> None:
    """A tuple that passes with probability S counts with S: those that yield nothing have no response time."""
    agree("hr", queries, lambda cost, share: share)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(Queries)
def test_hnr_has_the_least_expected_slowdown(queries: list[tuple[int, float]]) -> None:
    agree("hnr", queries, lambda cost, share: share / cost)


@pytest.mark.parametrize("policy", ["srpt", "hr", "hnr"])
@settings(max_examples=10, deadline=None, derandomize=True)
@given(costs=st.lists(st.integers(1, 30), min_size=3, max_size=6))
def test_without_filters_the_results_themselves_are_the_best(policy: str, costs: list[int]) -> None:
    given = workload({f"q{n}": f"select, cost={cost}ms" for n, cost in enumerate(costs)}, "at, times=[0]")
    ends = {query.query: query.emission[0] for query in simulate(given, policy).queries}
    seconds = [cost / 1000 for cost in costs]
    if policy == "hnr":
        weights = [1 / cost for cost in seconds]
        assert sum(w * ends[f"q{n}"] for n, w in enumerate(weights)) == pytest.approx(least(seconds, weights))
    else:
        assert sum(ends.values()) == pytest.approx(least(seconds, [1.0] * len(seconds)))
