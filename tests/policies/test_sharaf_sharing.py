"""Sharaf et al. 2006, section 7: operators that several queries share."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Level, Unit
from headgate.plan.units import units
from headgate.policies.checks import RandomRun, Situation
from headgate.policies.checks.short_plans import ShortPlan
from headgate.policies.registry import create
from headgate.policies.slowdown.rate_based import RateBased
from headgate.policies.slowdown.sharing import priority_tree

POLICIES = {"hr": 0, "hnr": 1, "bsd": 2}  # the power of T in each
Rest = tuple[float, float]  # cost and selectivity of what a query has after the shared operator
Rests = st.lists(st.tuples(st.floats(0.01, 100.0), st.floats(0.01, 1.0)), min_size=2, max_size=6)
SHARED_COST, SHARED_SHARE = 3.0, 0.5


def situation(rests: list[Rest]) -> Situation:
    shared = f"select, cost={SHARED_COST}s, selectivity={SHARED_SHARE}, name=hot"
    queries = {
        f"q{place}": [shared, f"select, cost={cost!r}s, selectivity={share!r}, name=rest{place}"]
        for place, (cost, share) in enumerate(rests)
    }
    return Situation(queries)


def segments(rests: list[Rest], power: int) -> list[tuple[float, float]]:
    """S/T^power and C of every query through the shared operator, as the document writes them."""
    return [
        (SHARED_SHARE * share / (SHARED_COST + cost) ** power, SHARED_COST + SHARED_SHARE * cost)
        for cost, share in rests
    ]


def aggregate(taken: list[tuple[float, float]]) -> float:
    """Σ S_i/T_i over Σ C_i − (m − 1)·c."""
    return sum(gain for gain, _ in taken) / (sum(cost for _, cost in taken) - (len(taken) - 1) * SHARED_COST)


def by_the_rule(found: list[tuple[float, float]]) -> float:
    """The document's loop over segments by falling priority."""
    falling = sorted(found, key=lambda segment: -segment[0] / segment[1])
    best = aggregate(falling[:1])
    for count in range(2, len(falling) + 1):
        if aggregate(falling[:count]) <= best:
            break
        best = aggregate(falling[:count])
    return best


def worth(name: str, sharing: str, rests: list[Rest]) -> float:
    """What the shared operator counts with."""
    policy = create(f"{name}, level=operator, sharing={sharing}")
    assert isinstance(policy, RateBased)
    view = situation(rests).view(policy)
    hot = next(unit for unit in view.units.values() if str(unit) == "hot")
    return policy.worth(hot, view.stats)


@given(st.sampled_from(list(POLICIES)), Rests)
def test_max_sum_and_pdt(name: str, rests: list[Rest]) -> None:
    found = segments(rests, POLICIES[name])
    assert worth(name, "max", rests) == pytest.approx(max(gain / cost for gain, cost in found))
    assert worth(name, "sum", rests) == pytest.approx(aggregate(found))
    tree = worth(name, "pdt", rests)
    assert tree == pytest.approx(by_the_rule(found), rel=1e-6)
    assert tree >= worth(name, "max", rests) * (1 - 1e-9)


@given(st.sampled_from(list(POLICIES)), Rests)
def test_the_tree_is_at_most_the_best_set(name: str, rests: list[Rest]) -> None:
    found = segments(rests, POLICIES[name])
    best = max(aggregate(list(some)) for count in range(1, len(found) + 1) for some in combinations(found, count))
    assert worth(name, "pdt", rests) <= best * (1 + 1e-9)


def test_a_weak_segment_does_not_pull_the_others_down() -> None:
    rests = [(1.0, 1.0), (1.0, 1.0), (97.0, 0.1)]
    assert worth("hnr", "sum", rests) < worth("hnr", "max", rests) < worth("hnr", "pdt", rests)


def drawn(policy: str, queries: Situation) -> list[Unit]:
    return list(queries.view(create(policy)).units.values())


def test_the_tree_runs_as_one_unit_and_the_others_remainders_alone() -> None:
    found = drawn("hnr, sharing=pdt", situation([(1.0, 1.0), (1.0, 1.0), (97.0, 0.1)]))
    assert [(str(unit), unit.level, unit.calls) for unit in found] == [
        ("q0+q1", Level.SHARED, (0, 1, 2)),
        ("q2", Level.QUERY, (3,)),
    ]
    assert found[1].depth == 1  # it waits behind the shared operator


def test_a_tree_of_all_is_the_shared_set() -> None:
    same = situation([(1.0, 1.0)] * 3)
    (unit,) = drawn("hr, sharing=pdt", same)
    (whole,) = units(same.network(), Level.QUERY)
    assert (unit.calls, unit.queues, unit.queries) == (whole.calls, whole.queues, whole.queries)


def test_remainders_that_share_again_are_cut_again() -> None:
    first, second = "select, cost=1ms, name=first", "select, cost=1ms, name=second"
    queries = {
        "best": [first, "select, cost=1ms, name=a"],
        "b": [first, second, "select, cost=500ms, name=b"],
        "c": [first, second, "select, cost=500ms, name=c"],
        "worst": [first, second, "select, cost=90s, selectivity=0.1, name=d"],
    }
    found = drawn("hr, sharing=pdt", Situation(queries))
    assert [(str(unit), len(unit.calls)) for unit in found] == [("best", 2), ("b+c", 3), ("worst", 1)]


def test_a_query_that_the_tree_covers_comes_for_nothing() -> None:
    hot = "select, cost=1ms, name=hot"
    # alone the bare one is the better; the other has it inside
    queries: dict[str, ShortPlan] = {"inner": hot, "outer": [hot, "select, cost=1ms, name=more"]}
    (unit, rest) = drawn("hnr, sharing=pdt", Situation(queries))
    assert (unit.queries, unit.calls, rest.queries, rest.calls) == (("inner",), (0,), ("outer",), (1,))
    both: dict[str, ShortPlan] = {"inner": hot, "outer": [hot, "table-join, cost=1ms, selectivity=9"]}
    (unit,) = drawn("hnr, sharing=pdt", Situation(both))
    assert set(unit.queries) == {"inner", "outer"}


def test_queries_in_a_row_grow_the_tree_around_the_best() -> None:
    a, b = "select, from=l, cost=1ms, name=a", "select, from=r, cost=1ms, name=b"
    queries: dict[str, ShortPlan] = {
        "p": [a, "select, cost=1ms"],
        "q": [[a], [b], "join, cost=1s, window=1s, selectivity=0.001"],
        "r": [b, "select, cost=2ms"],
    }
    found = drawn("hr, sharing=pdt", Situation(queries, rates={"l": 1.0, "r": 1.0}))
    assert [unit.queries for unit in found] == [("p",), ("r",), ("q",)]
    assert sorted(call for unit in found for call in unit.calls) == list(range(5))


def test_without_sharing_nothing_is_regrouped() -> None:
    policy = create("hnr, sharing=pdt")
    queries = Situation({"p": "select", "q": "select"})
    assert policy.regroup(queries.network(), queries.stats(), partial(units, queries.network())) is None


@given(st.sampled_from(list(POLICIES)), st.integers(0), st.integers(1, 80))
def test_trees_lose_nothing(name: str, seed: int, steps: int) -> None:
    rests = [(1.0, 1.0), (1.0, 0.9), (97.0, 0.1), (5.0, 0.5)]
    RandomRun(create(f"{name}, sharing=pdt"), situation(rests), seed=seed).step(steps).drain()


def count_better_prefixes(trials: int = 20_000) -> tuple[int, int, float]:
    """How often the document's stopping rule misses a longer prefix that is better, and by how much at most.

    Costs and selectivities as in the document's testbed: three operators of one cost 2^i and one selectivity each.
    """
    random, missed, most = Random(1), 0, 1.0
    for _ in range(trials):
        shared = 2.0 ** random.randrange(5)
        found = []
        for _ in range(random.randint(2, 10)):
            share, cost = random.uniform(0.1, 1.0), 2.0 ** random.randrange(5)
            found.append((share**3 / (shared + 2 * cost), shared + share * cost + share**2 * cost))  # HNR: S/T and C
        falling = sorted(found, key=lambda segment: -segment[0] / segment[1])
        prefixes = [
            sum(gain for gain, _ in falling[:m]) / (sum(cost for _, cost in falling[:m]) - (m - 1) * shared)
            for m in range(1, len(falling) + 1)
        ]
        stopped = next((m for m in range(1, len(prefixes)) if prefixes[m] <= prefixes[m - 1]), len(prefixes)) - 1
        if max(prefixes) > prefixes[stopped] * (1 + 1e-12):
            missed += 1
            most = max(most, max(prefixes) / prefixes[stopped])
    return missed, trials, most


def test_the_stopping_rule_seldom_misses_a_better_prefix() -> None:
    missed, trials, most = count_better_prefixes(2000)
    assert missed < trials / 10
    assert math.isfinite(most)


def test_the_tree_is_a_prefix_by_falling_rate() -> None:
    rests = [(9.0, 0.3), (1.0, 1.0), (2.0, 0.9)]
    policy = create("hr, level=operator")
    assert isinstance(policy, RateBased)
    view = situation(rests).view(policy)
    hot = next(unit for unit in view.units.values() if str(unit) == "hot")
    tree = priority_tree(hot, policy.rate(view.stats))
    assert tree == ["q1", "q2", "q0"][: len(tree)]


if __name__ == "__main__":
    missed, trials, most = count_better_prefixes()
    print(f"{missed} of {trials} shared operators: a longer prefix is better, by a factor of at most {most:.3f}")
