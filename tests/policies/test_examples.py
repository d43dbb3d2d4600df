"""Worked examples of the documents, where a formula decides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Level, Unit
from headgate.plan.units import units
from headgate.policies.checks import Situation
from headgate.policies.linear import Linear
from headgate.policies.memory.chain import envelope
from headgate.policies.registry import create
from headgate.stats import Stats

EXAMPLE_1 = Situation({"q1": "select, cost=5ms, selectivity=1", "q2": "select, cost=2ms, selectivity=0.33"})
FILTERS = ["select, cost=1s, selectivity=0.9", "select, cost=250ms, selectivity=0.1", "select, cost=750ms"]

Number = st.floats(0.001, 10.0)
Share = st.floats(0.0, 1.0)


def lines(situation: Situation, name: str) -> list[tuple[float, float]]:
    policy = create(name)
    assert isinstance(policy, Linear)
    view = situation.view(policy)
    policy.changed(view)
    return [policy.line(unit, view.stats) for unit in view.units.values()]


def at(situation: Situation, level: Level) -> tuple[Stats, tuple[Unit, ...]]:
    return situation.stats(), units(situation.network(), level)


def chain(costs: Sequence[float], shares: Sequence[float]) -> list[str]:
    return [f"select, cost={cost!r}s, selectivity={share!r}" for cost, share in zip(costs, shares, strict=True)]


def test_parameters_of_a_chain() -> None:
    stats, (first, second, third) = at(Situation({"q": chain([2, 4, 8], [0.5, 0.25, 0.5])}), Level.OPERATOR)
    assert [stats.global_selectivity(unit) for unit in (first, second, third)] == [0.0625, 0.125, 0.5]
    assert [stats.global_cost(unit) for unit in (first, second, third)] == [2 + 0.5 * 4 + 0.125 * 8, 4 + 0.25 * 8, 8]
    assert {stats.ideal_time(unit) for unit in (first, second, third)} == {14}
    assert [stats.remaining_time(unit) for unit in (first, second, third)] == [14, 12, 8]


def test_parameters_of_a_window_join() -> None:
    left, right = chain([1, 2], [0.5, 0.25]), chain([3], [0.5])
    left[0] += ", from=l"
    right[0] += ", from=r"
    plan = [left, right, "join, cost=4s, selectivity=0.25, window=8s", "select, cost=5s, selectivity=0.5"]
    situation = Situation({"q": plan}, rates={"l": 4.0, "r": 2.0})
    stats, (from_left, from_right) = at(situation, Level.PATH)

    s_left, s_right, s_join, s_common, window = 0.125, 0.5, 0.25, 0.5, 8
    partners_right, partners_left = s_right * window * 2.0, s_left * window * 4.0
    assert stats.query_ideal_time("q") == (1 + 2) + 3 + 2 * 4 + 5
    assert stats.global_selectivity(from_left) == s_left * s_join * partners_right * s_common
    assert stats.global_cost(from_left) == (1 + 0.5 * 2) + s_left * 4 + s_left * s_join * partners_right * 5
    assert stats.global_selectivity(from_right) == s_right * s_join * partners_left * s_common
    assert stats.global_cost(from_right) == 3 + s_right * 4 + s_right * s_join * partners_left * 5


def test_shared_cost_counts_the_shared_operator_once() -> None:
    shared = "select, cost=3s, selectivity=0.5, name=hot"
    rests = {"a": "select, cost=2s, selectivity=0.5", "b": "select, cost=4s", "c": "select, cost=8s, selectivity=0.25"}
    together, (hot, *_) = at(Situation({name: [shared, rest] for name, rest in rests.items()}), Level.OPERATOR)
    alone = []
    for name, rest in rests.items():
        stats, (first, _) = at(Situation({name: [shared, rest]}), Level.OPERATOR)
        alone.append((stats.global_selectivity(first), stats.global_cost(first), stats.query_ideal_time(name)))
    cost = sum(c for _, c, _ in alone) - 2 * 3
    assert together.global_cost(hot) == cost
    assert together.normalized_rate(hot) == pytest.approx(sum(s / t for s, _, t in alone) / cost)
    assert together.balanced_rate(hot) == pytest.approx(sum(s / t**2 for s, _, t in alone) / cost)


@pytest.mark.parametrize(
    ("name", "unit", "published", "order"),
    [
        ("hr", 1e-3, [0.2, 0.165], ["q1", "q2"]),
        ("hnr", 1e-6, [0.04, 0.0825], ["q2", "q1"]),
        ("lsf", 1e-3, [0.2, 0.5], ["q2", "q1"]),
        ("bsd", 1e-9, [0.008, 0.04125], ["q2", "q1"]),
    ],
)
def test_example_1(name: str, unit: float, published: list[float], order: list[str]) -> None:
    """Priorities in milliseconds, as the document has them; for `lsf` and `bsd` per millisecond of wait."""
    assert [unit * (a + b) for a, b in lines(EXAMPLE_1, name)] == pytest.approx(published)
    assert EXAMPLE_1.order(name) == order


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6, unique=True))
def test_without_filters_hr_and_hnr_are_srpt(costs: list[int]) -> None:
    situation = Situation({f"q{cost}": f"select, cost={cost}ms, selectivity=1" for cost in costs})
    cheapest_first = [f"q{cost}" for cost in sorted(costs)]
    assert [situation.order(name) for name in ("srpt", "hr", "hnr")] == [cheapest_first] * 3


def test_greedy_sees_one_operator_only() -> None:
    assert [a for a, _ in lines(Situation({"q": FILTERS}), "greedy")] == pytest.approx([0.1, 3.6, 0.0])


def test_chain_joins_a_dull_operator_to_the_steep_one_behind_it() -> None:
    """The first filter drops a tenth in a second, but with the second it drops nearly all in a little more.

    The last one hands its tuples to the user, which frees them, so its own segment counts too.
    """
    spent = [0.0, 1.0, 1.0 + 0.9 * 0.25, 1.0 + 0.9 * 0.25 + 0.09 * 0.75]
    both = (1.0 - 0.09) / spent[2]
    last = 0.09 / (spent[3] - spent[2])
    whole = 1.0 / spent[3]
    assert last > both  # so all three are one segment
    assert [a for a, _ in lines(Situation({"q": FILTERS}), "chain")] == pytest.approx([whole] * 3)


def test_chain_follows_a_path_from_its_leaf() -> None:
    """An operator inside a segment has that segment's steepness, not the steeper one from itself on."""
    plan = [*chain([1, 1], [0.9, 0.1]), "select, cost=100s, selectivity=0.5"]
    segment, rest = (1 - 0.09) / 1.9, 0.09 / 9.0
    assert [a for a, _ in lines(Situation({"q": plan}), "chain")] == pytest.approx([segment, segment, rest])


def test_chain_tells_the_branches_of_a_join_apart() -> None:
    left, right = chain([1, 1], [0.9, 0.1]), chain([1, 2], [0.5, 0.5])
    plan = [left, right, "join, cost=100s, selectivity=0.1, window=1s"]
    found = [a for a, _ in lines(Situation({"q": plan}, rates={"s": 1.0}), "chain")]
    assert found[0] == found[1] == pytest.approx((1 - 0.09) / 1.9)
    assert found[2:4] == pytest.approx([0.5 / 1, 0.25 / 1])


@st.composite
def charts(draw: st.DrawFn) -> list[tuple[int, int]]:
    steps = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), min_size=1, max_size=7))
    points = [(0, draw(st.integers(0, 20)))]
    for width, left in steps:
        points.append((points[-1][0] + width, left))
    return points


@given(charts())
def test_envelope_is_the_lowest_line_between_two_points(chart: list[tuple[int, int]]) -> None:
    """Brute force: along each step, of all lines from a point before it to one after it, the lowest in its middle."""
    expected = []
    for place, ((x, _), (following, _)) in enumerate(pairwise(chart)):
        middle = (x + following) / 2
        spans = [(start, end) for start in chart[: place + 1] for end in chart[place + 1 :]]
        slopes = {((b[1] - a[1]) / (b[0] - a[0]), a) for a, b in spans}
        expected.append(min((a[1] + slope * (middle - a[0]), -slope) for slope, a in slopes)[1])
    assert envelope(chart) == pytest.approx(expected)


@given(st.lists(st.tuples(Number, Share), min_size=1, max_size=5))
def test_path_capacity(operators: list[tuple[float, float]]) -> None:
    service_time, reaching = 0.0, 1.0
    for cost, share in operators:
        capacity = 1 / cost
        service_time += reaching / capacity
        reaching *= share
    plan = chain([cost for cost, _ in operators], [share for _, share in operators])
    ((found, slope),) = lines(Situation({"q": plan}), "path-capacity")
    assert found == pytest.approx(1 / service_time)
    assert slope == 0.0


@pytest.mark.parametrize(("waiting", "taken"), [(1000, 300), (200, 60), (100, 100), (50, 50), (1, 1)])
def test_train_size(waiting: int, taken: int) -> None:
    train = create("fcfs, ratio=0.3, threshold=50").train
    assert train is not None
    assert train.size(waiting) == taken


def test_what_costs_nothing_goes_first() -> None:
    queries = {"dear": "select, cost=1ms, selectivity=0.5", "free": "select, selectivity=0.5"}
    for name in ("hr", "hnr", "lsf", "bsd", "srpt", "weighted-hr", "greedy", "chain", "path-capacity"):
        for head in (0.0, 1.0):  # 1.0: it has not waited at all
            first, _ = Situation(queries, heads={"free": head}, now=1.0).order(name)
            assert first.startswith("free"), name
