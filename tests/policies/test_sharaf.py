"""Sharaf et al. 2006: clusters and their pruning, joins as paths."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Choice, HeadgateError, Unit
from headgate.policies.checks import Situation
from headgate.policies.checks.simple_view import SimpleView
from headgate.policies.contract import Tally
from headgate.policies.linear import Linear
from headgate.policies.registry import create
from headgate.policies.slowdown.clusters import Clusters, cluster_of, edges

Positive = st.floats(1e-6, 1e6)


def many(number: int, **heads: float) -> SimpleView:
    return Situation({f"q{place}": "select" for place in range(number)}, heads=heads).view(create("bsd"))


# -- cutting -----------------------------------------------------------------------------------------------------


def test_the_documents_example_has_two_clusters() -> None:
    """Priorities from 1 to 100 and ε = 10: [1, 10) and [10, 100]."""
    lower = edges([1.0, 100.0], 2, "log")
    assert lower == [1.0, 10.0]
    assert [cluster_of(value, lower) for value in (1.0, 9.999, 10.0, 99.0, 100.0)] == [1.0, 1.0, 10.0, 10.0, 10.0]


def test_uniform_clusters_hold_very_different_numbers() -> None:
    """The document's complaint: a ratio of 2 in the upper half of [0, 100], of 50 and more in the lower."""
    lower = edges([1.0, 100.0], 2, "uniform")
    assert cluster_of(1.0, lower) == cluster_of(50.0, lower) == 1.0
    assert cluster_of(51.0, lower) == cluster_of(100.0, lower) == 50.5


@given(st.lists(Positive, min_size=1, max_size=30), st.integers(1, 20), st.sampled_from(["log", "uniform"]))
def test_every_number_has_a_cluster_and_the_edges_hold(values: list[float], count: int, clustering: str) -> None:
    lower = edges(values, count, clustering)
    assert len(lower) == count
    assert lower == sorted(lower)
    above = [*lower[1:], math.inf]
    for value in values:
        pseudo = cluster_of(value, lower)
        assert pseudo <= value
        # the last of equal edges: where all numbers are equal there is one cluster
        assert value < above[max(place for place, edge in enumerate(lower) if edge == pseudo)]


@given(st.lists(Positive, min_size=2, max_size=30), st.integers(1, 20))
def test_within_a_logarithmic_cluster_numbers_differ_by_at_most_epsilon(values: list[float], count: int) -> None:
    lower = edges(values, count, "log")
    epsilon = (max(values) / min(values)) ** (1 / count)
    for value in values:
        assert value / cluster_of(value, lower) <= epsilon * (1 + 1e-9)


# -- pruning -----------------------------------------------------------------------------------------------------

Pseudo = st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, math.inf])
Act = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 7), st.integers(0, 5)),
    st.tuples(st.just("block"), st.integers(0, 7), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.integers(0, 3)),
    st.tuples(st.just("pop"), st.just(0), st.just(0)),
)


def play(
    clusters: Clusters, view: SimpleView, acts: Iterable[tuple[str, int, int]]
) -> list[tuple[int | None, str | None]]:
    """The cluster chosen and the unit taken at every pop, in some course of events."""
    now, found = 0.0, []
    view.taken = set(view.units)
    for act, number, amount in acts:
        if act == "add" and number in view.units:
            view.taken.discard(number)
            view.queues[view.units[number].queues[0]] = [max(0.0, now - amount)]
            clusters.add(view, view.units[number])
        elif act == "block":
            view.taken.add(number)
        elif act == "wait":
            now += amount
        else:
            view.now = now
            best = clusters.best(view)
            unit = clusters.pop(view)
            if unit is not None:
                view.taken.add(unit.id)
            found.append((best, str(unit) if unit else None))
    return found


@given(st.lists(Pseudo, min_size=1, max_size=8), st.lists(Act, min_size=5, max_size=60))
def test_fagin_chooses_the_same_cluster_as_the_full_scan(pseudo: list[float], acts: list[tuple[str, int, int]]) -> None:
    tallies, courses = [], []
    for pruned in (False, True):
        view, tally = many(len(pseudo)), Tally()
        clusters = Clusters(dict(enumerate(pseudo)), view, tally, pruned=pruned)
        courses.append(play(clusters, view, acts))
        tallies.append(tally.computed)
    assert courses[0] == courses[1]
    assert tallies[1] <= tallies[0]


@given(st.lists(Pseudo, min_size=1, max_size=8), st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_the_full_scan_is_the_rule(pseudo: list[float], heads: list[int]) -> None:
    """Pseudo-priority times the wait of the cluster's oldest tuple, by brute force."""
    view = many(len(pseudo), **{f"q{place}": float(heads[place]) for place in range(len(pseudo))})
    view.now = 9.0
    clusters = Clusters(dict(enumerate(pseudo)), view, Tally(), pruned=False)
    for each in view.units.values():
        clusters.add(view, each)
    oldest = {value: min(heads[place] for place, other in enumerate(pseudo) if other == value) for value in pseudo}
    worth = {value: math.inf if value == math.inf else value * (9 - head) for value, head in oldest.items()}
    unit = clusters.pop(view)
    assert unit is not None
    assert worth[pseudo[unit.id]] == max(worth.values())
    assert heads[unit.id] == oldest[pseudo[unit.id]]


def test_pruning_looks_at_fewer_clusters() -> None:
    """The best pseudo-priority has waited longest: one look is enough."""
    view = many(6, q5=-5.0)
    looked = []
    for pruned in (False, True):
        tally = Tally()
        clusters = Clusters({number: 2.0**number for number in range(6)}, view, tally, pruned=pruned)
        for unit in view.units.values():
            clusters.add(view, unit)
        assert clusters.best(view) == 0
        looked.append(tally.computed)
    assert looked == [6, 1]


# -- the policy --------------------------------------------------------------------------------------------------

SPREAD = {f"q{cost}": f"select, cost={cost}ms" for cost in (1, 2, 4, 8, 16)}


@given(st.lists(st.integers(0, 90), min_size=5, max_size=5), st.integers(1, 9), st.sampled_from(["log", "uniform"]))
def test_pruned_and_full_bsd_give_the_same_order(heads: list[int], clusters: int, clustering: str) -> None:
    given_heads = {name: head / 100 for name, head in zip(SPREAD, heads, strict=True)}
    situation = Situation(SPREAD, heads=given_heads, now=1.0)
    text = f"bsd, clusters={clusters}, clustering={clustering}"
    assert situation.order(text) == situation.order(f"{text}, pruning=fagin")


def test_enough_clusters_are_bsd_itself() -> None:
    """Rates 1, 1/8, 1/64, … of one ratio: as many clusters, and the last edge falls on the largest."""
    situation = Situation(SPREAD, heads={"q1": 0.9, "q16": 0.0, "q4": 0.5}, now=1.0)
    assert situation.order("bsd, clusters=4096") == situation.order("bsd")


def batch(text: str, situation: Situation) -> list[tuple[list[str], bool]]:
    """Units and `together` of every decision."""
    policy = create(text)
    view = situation.view(policy)
    policy.changed(view)
    for unit in view.ready.values():
        policy.ready(view, unit)
    found = []
    while isinstance(choice := policy.choose(view, 0), Choice):
        found.append((sorted(map(str, choice.units)), choice.together))
        view.taken |= {unit.id for unit in choice.units}
    return found


def test_a_batch_is_all_of_the_cluster_that_the_head_tuple_awaits() -> None:
    queries = {
        **dict.fromkeys(("a", "b", "late"), "select, cost=1ms"),
        "other": "select, cost=1ms, from=t",
        "slow": "select, cost=9ms",
    }
    situation = Situation(queries, heads={"late": 0.5}, now=1.0)
    assert batch("bsd, clusters=2, batch=cluster", situation) == [
        (["a", "b"], True),
        (["other"], False),  # as old, but another stream's tuple
        (["late"], False),
        (["slow"], False),
    ]
    assert all(len(units) == 1 for units, _ in batch("bsd, clusters=2", situation))


@pytest.mark.parametrize("text", ["bsd, pruning=fagin", "bsd, batch=cluster", "bsd, clustering=uniform"])
def test_what_belongs_to_clusters_says_so(text: str) -> None:
    with pytest.raises(HeadgateError, match=r"goes with clusters; write clusters=12, \w+=\w+"):
        create(text)


def test_a_range_is_named() -> None:
    with pytest.raises(HeadgateError, match="clusters must be a whole number of at least 0, found -1"):
        create("bsd, clusters=-1")


# -- queries over several streams --------------------------------------------------------------------------------

JOIN = [
    ["select, from=l, cost=1s, selectivity=0.5"],
    ["select, from=r, cost=3s, selectivity=0.25"],
    "join, cost=2s, selectivity=0.1, window=10s",
    "select, cost=5s, selectivity=0.5",
]


@pytest.mark.parametrize("name", ["hr", "hnr", "lsf", "bsd", "srpt", "weighted-hr"])
def test_window_join_as_paths(name: str) -> None:
    """S, C and T of section 5, per path, in every policy that is built on them."""
    s_l, s_r, s_j, s_c, c_l, c_r, c_j, c_c = 0.5, 0.25, 0.1, 0.5, 1.0, 3.0, 2.0, 5.0
    from_right, from_left = s_r * 10 * 2.0, s_l * 10 * 4.0
    s = [s_l * s_j * from_right * s_c, s_r * s_j * from_left * s_c]
    c = [c_l + s_l * c_j + s_l * s_j * from_right * c_c, c_r + s_r * c_j + s_r * s_j * from_left * c_c]
    t = c_l + c_r + 2 * c_j + c_c
    expected = {
        "hr": [a / b for a, b in zip(s, c, strict=True)],
        "hnr": [a / (b * t) for a, b in zip(s, c, strict=True)],
        "lsf": [1 / t] * 2,
        "bsd": [a / (b * t * t) for a, b in zip(s, c, strict=True)],
        "srpt": [-(c_l + c_j + c_c), -(c_r + c_j + c_c)],
        "weighted-hr": [7 * a / b for a, b in zip(s, c, strict=True)],
    }[name]
    policy = create(f"{name}, level=path")
    assert isinstance(policy, Linear)
    view = Situation({"q": JOIN}, rates={"l": 4.0, "r": 2.0}, priorities={"all": 7.0}).view(policy)
    found = [policy.line(unit, view.stats) for unit in by_stream(view)]
    assert [intercept + slope for intercept, slope in found] == pytest.approx(expected)


def by_stream(view: SimpleView) -> list[Unit]:
    return sorted(view.units.values(), key=str)
