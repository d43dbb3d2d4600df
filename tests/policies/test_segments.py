"""Pajjuri 2004: memory release capacity, segments, thresholds, and going over from one strategy to another."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.builders import arrive, chains, network, order_of_runs
from tests.core.course import Course
from tests.policies.turns import started, turn

from headgate.core import PolicyChanged, Scheduler, StatisticsChanged
from headgate.model import HeadgateError, Level
from headgate.plan.units import unit_of, units
from headgate.policies.checks import Situation
from headgate.policies.memory.segments import in_two, pruned, rising
from headgate.policies.registry import create

Capacities = st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=8)
Segments = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True).map(tuple), max_size=10)

# -- memory release capacity -------------------------------------------------------------------------------------

OPERATORS = st.lists(st.tuples(st.floats(0.001, 10.0), st.floats(0.0, 1.0), st.integers(1, 50)), min_size=1, max_size=5)


@given(OPERATORS, st.integers(1, 50))
def test_release_capacity_of_a_segment(operators: list[tuple[float, float, int]], size: int) -> None:
    """C_S · (size in − size out · σ₁ … σ_k), C_S the processing capacity of the whole."""
    plan = [f"select, cost={cost!r}s, selectivity={share!r}, bytes={after}" for cost, share, after in operators]
    situation = Situation({"q": plan}, sizes={"s": size})
    service, reaching = 0.0, 1.0
    for cost, share, _ in operators:
        service += reaching * cost
        reaching *= share
    unit = unit_of(situation.network(), 0, Level.SEGMENT, range(len(operators)))
    expected = (size - reaching * operators[-1][2]) / service
    assert situation.stats().release_capacity(unit) == pytest.approx(expected)


def test_release_capacity_of_an_operator() -> None:
    """C · (size in − σ · size out)."""
    situation = Situation({"q": "select, cost=20ms, selectivity=0.25, bytes=8"}, sizes={"s": 10})
    (unit,) = units(situation.network(), Level.OPERATOR)
    assert situation.stats().release_capacity(unit) == pytest.approx(50 * (10 - 0.25 * 8))


# -- construction ------------------------------------------------------------------------------------------------


@given(Capacities)
def test_segments_rise_and_cannot_be_longer(values: list[float]) -> None:
    path, capacity = list(range(len(values))), dict(enumerate(values))
    found = rising(path, capacity)
    assert [operator for segment in found for operator in segment] == path
    assert all(capacity[a] < capacity[b] for segment in found for a, b in pairwise(segment))
    assert all(capacity[before[-1]] >= capacity[after[0]] for before, after in pairwise(found))


@given(Capacities, st.floats(0.0, 1.0))
def test_two_segments_at_most(values: list[float], gamma: float) -> None:
    path, capacity = list(range(len(values))), dict(enumerate(values))
    found = in_two(path, capacity, gamma)
    assert len(found) <= 2
    assert [operator for segment in found for operator in segment] == path
    assert all(capacity[b] > gamma * capacity[a] for a, b in pairwise(found[0]))
    if len(found) == 2:
        assert capacity[found[1][0]] <= gamma * capacity[found[0][-1]]


@given(Capacities)
def test_with_gamma_one_the_first_segment_is_the_same(values: list[float]) -> None:
    path, capacity = list(range(len(values))), dict(enumerate(values))
    assert in_two(path, capacity, 1.0)[0] == rising(path, capacity)[0]


@given(Segments)
def test_pruning_keeps_every_operator_and_no_subset(segments: list[tuple[int, ...]]) -> None:
    kept = pruned(segments)
    assert {operator for segment in kept for operator in segment} == {each for segment in segments for each in segment}
    assert not any(set(a) <= set(b) for place, a in enumerate(kept) for b in kept[:place] + kept[place + 1 :])
    assert all(any(set(segment) <= set(other) for other in kept) for segment in segments)


def named(policy: str, situation: Situation) -> list[str]:
    return [str(unit) for unit in situation.view(create(policy)).units.values()]


def test_the_segments_of_a_join_are_pruned() -> None:
    """The left path goes through the join in one segment; the right path's own one for the join is part of it."""
    plan = [
        ["select, from=l, cost=9ms, selectivity=0.9, name=left"],
        ["select, from=r, cost=100us, selectivity=0.1, name=right"],
        "join, cost=1ms, window=1s, selectivity=0.1, name=both, bytes=1",
    ]
    situation = Situation({"q": plan}, rates={"l": 1.0, "r": 1.0})
    assert named("segment", situation) == ["left…both", "right"]
    longer, _ = situation.view(create("segment")).units.values()
    join = situation.network().nodes[longer.calls[1]]
    assert set(join.queues) <= set(longer.queues)  # the right input would have no unit otherwise


def test_a_shared_operator_is_in_a_segment_of_each_query() -> None:
    hot = "select, cost=9ms, selectivity=0.9, name=hot"
    good = "select, cost=1ms, selectivity=0.1"
    situation = Situation({"p": [hot, f"{good}, name=a"], "q": [hot, f"{good}, name=b"]})
    assert named("segment", situation) == ["hot…a", "hot…b"]


# -- threshold ---------------------------------------------------------------------------------------------------

PLANS = {"good": "select, cost=1ms, selectivity=0.1, name=good", "poor": "select, cost=9ms, name=poor"}


@pytest.mark.parametrize("name", ["segment", "simplified-segment", "path-capacity"])
@pytest.mark.parametrize(("waiting", "first"), [(3, "good"), (4, "poor")])
def test_more_than_the_threshold_go_first(name: str, waiting: int, first: str) -> None:
    situation = Situation(PLANS, waiting={"good": 1, "poor": waiting})
    assert situation.order(f"{name}, threshold=3")[0].startswith(first)
    assert situation.order(name)[0].startswith("good")


def test_both_inputs_of_a_join_count_together() -> None:
    plans = {**PLANS, "join": "join, from=[l, r], cost=50ms, window=1s, selectivity=0.1, name=join"}
    for left, right, first in ((2, 1, "good"), (2, 2, "join")):
        situation = Situation(plans, waiting={"join": [left, right]}, rates={"l": 1.0, "r": 1.0})
        assert situation.order("segment, threshold=3")[0] == first


def test_what_is_left_inside_a_path_does_not_count() -> None:
    chain = ["select, cost=9ms, name=c1", "select, cost=9ms, name=c2"]
    for inside, before, first in ((9, 1, "good"), (0, 9, "chain")):
        situation = Situation({"good": PLANS["good"], "chain": chain}, waiting={"chain": [before, inside]})
        assert situation.order("path-capacity, threshold=5")[0].startswith(first)


def test_a_short_queue_has_its_turn_when_nothing_else_is_left() -> None:
    assert sorted(Situation(PLANS).order("segment, threshold=1000")) == ["good", "poor"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("segment, threshold=-1", "threshold must be a whole number of at least 0, found -1"),
        ("simplified-segment, gamma=1.5", "gamma must be a number from 0 to 1, found 1.5"),
        ("segment, level=query", "level must be segment, found query"),
    ],
)
def test_a_range_is_named(text: str, message: str) -> None:
    with pytest.raises(HeadgateError, match=message):
        create(text)


# -- quantum -----------------------------------------------------------------------------------------------------

TWO_PATHS = {
    "quick": ["select, cost=1ms, selectivity=0.5, name=q1", "select, cost=4ms, name=q2"],
    "slow": ["select, cost=9ms, selectivity=0.5, name=s1", "project, cost=9ms, name=s2"],
}


def test_a_path_runs_operator_by_operator_each_for_its_quantum() -> None:
    """Runs of 4 ms in turns of 10 ms, from the leaf on; then the best path with tuples before it begins again."""
    situation = Situation(TWO_PATHS, waiting={"quick": [4, 9], "slow": [1, 1]})
    policy, view = started("path-capacity, quantum=10ms", situation)
    seen = [turn(policy, view, seconds=0.004) for _ in range(12)]
    assert seen == ["q1"] * 3 + ["q2"] * 3 + ["q1"] + ["q2"] * 3 + ["s1", "s2"]


def test_what_a_path_left_inside_is_run_when_nothing_is_before_any() -> None:
    situation = Situation(TWO_PATHS, waiting={"quick": [0, 5], "slow": [1, 0]})
    policy, view = started("path-capacity, quantum=10ms", situation)
    assert [turn(policy, view, seconds=0.01) for _ in range(6)] == ["s1"] + ["q2"] * 5


@pytest.mark.parametrize("name", ["segment", "simplified-segment", "path-capacity"])
def test_with_a_quantum_the_units_are_operators(name: str) -> None:
    situation = Situation(TWO_PATHS)
    assert named(f"{name}, quantum=10ms", situation) == ["q1", "q2", "s1", "s2"]


def test_segments_decide_whose_operators_come_first() -> None:
    """The segment of c and d frees more than a, so its operators come first, though c alone frees less than a."""
    plan = {
        "p": "select, cost=2ms, selectivity=0.5, name=a",
        "q": ["select, cost=1ms, selectivity=0.9, name=c", "select, cost=1ms, selectivity=0.1, name=d"],
    }
    policy, view = started("segment, quantum=10ms", Situation(plan, waiting={"p": 1, "q": [1, 1]}))
    assert [turn(policy, view, seconds=0.001) for _ in range(3)] == ["c", "d", "a"]


# -- while running -----------------------------------------------------------------------------------------------


def test_the_order_follows_the_statistics() -> None:
    found = chains(p="select, cost=1ms, selectivity=0.1, name=p", q="select, cost=1ms, selectivity=0.5, name=q")
    scheduler = Scheduler(found, "segment")
    arrive(scheduler, 1)
    scheduler.event(StatisticsChanged(operator=0, selectivity=0.9), 0.0)
    assert order_of_runs(scheduler) == ["q", "p"]


def test_segments_are_cut_anew_when_statistics_change() -> None:
    found = chains(q=["select, cost=1ms, selectivity=0.1, name=a", "select, cost=1ms, selectivity=0.5, name=b"])
    scheduler = Scheduler(found, "segment")
    arrive(scheduler, 1)
    assert [str(unit) for unit in scheduler._view.units.values()] == ["a", "b"]
    scheduler.event(StatisticsChanged(operator=0, selectivity=0.9), 0.0)
    assert [str(unit) for unit in scheduler._view.units.values()] == ["a…b"]
    assert order_of_runs(scheduler) == ["a…b"]


def test_equal_segments_stay_in_place() -> None:
    """A list that a decision has made is not thrown away where only a number is new."""
    scheduler = Scheduler(chains(p="select, cost=1ms, name=p", q="select, cost=2ms, name=q"), "segment")
    before = list(scheduler._view.units.values())
    scheduler.event(StatisticsChanged(operator=0, cost=0.003), 0.0)
    assert all(a is b for a, b in zip(before, scheduler._view.units.values(), strict=True))


MAVSTREAM = (
    "rr",
    "wrr",
    "path-capacity",
    "segment",
    "simplified-segment, gamma=0.4",
    "segment, threshold=3",
    "path-capacity, quantum=2ms",
    "segment, quantum=2ms",
)


@given(st.integers(0), st.lists(st.sampled_from(MAVSTREAM), min_size=1, max_size=6))
def test_a_switch_loses_no_queue(seed: int, strategies: list[str]) -> None:
    """Whatever waits, also half way, is in the units of the strategy that takes over, and is run in the end."""
    events = Course(Scheduler(network(), strategies[0]), seed)
    for strategy in strategies:
        for act in (events.arrive, events.ask, events.arrive, events.ask, events.finish, events.ask):
            events.now += 1 / 64
            act()
        waiting = events.scheduler.waiting
        events.scheduler.event(PolicyChanged(strategy), events.now)
        assert events.scheduler.waiting == waiting
        owned = {queue for unit in events.view.units.values() for queue in unit.queues}
        assert owned == set(events.network.edges)
        events.agree()
    events.drain()
