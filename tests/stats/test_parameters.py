"""S, C and T of the documents, computed by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.builders import of_queries, scene

from headgate.model import Aggregate, Except, Given, Level, Query, Select, Source, Union, Window
from headgate.plan.fusion import Fuse
from headgate.stats import STATISTICS, CostModel, Measured, Stats

Operators = st.lists(st.tuples(st.floats(0.001, 10.0), st.floats(0.0, 2.0)), min_size=1, max_size=6)


@given(Operators)
def test_chains(operators: list[tuple[float, float]]) -> None:
    chain = [f"table-join, cost={cost!r}s, selectivity={share!r}" for cost, share in operators]
    found = scene({"q": chain})
    costs, shares = [cost for cost, _ in operators], [share for _, share in operators]
    for place, unit in enumerate(found.units(Level.OPERATOR)):
        reaching = [math.prod(shares[place:after]) for after in range(place, len(costs))]
        expected = sum(share * cost for share, cost in zip(reaching, costs[place:], strict=True))
        assert found.stats.global_selectivity(unit) == pytest.approx(math.prod(shares[place:]))
        assert found.stats.global_cost(unit) == pytest.approx(expected)
        assert found.stats.ideal_time(unit) == pytest.approx(sum(costs))
        assert found.stats.remaining_time(unit) == pytest.approx(sum(costs[place:]))
        assert found.stats.cost(unit) == pytest.approx(costs[place])
        assert found.stats.selectivity(unit) == pytest.approx(shares[place])


def test_a_whole_query_is_its_first_operator_globally() -> None:
    found = scene({"q": ["select, cost=2s, selectivity=0.5", "select, cost=4s, selectivity=0.25"]})
    (query,), (first, _) = found.units(Level.QUERY), found.units(Level.OPERATOR)
    for name in ("global_selectivity", "global_cost", "ideal_time", "output_rate", "normalized_rate", "balanced_rate"):
        assert getattr(found.stats, name)(query) == getattr(found.stats, name)(first)
    assert (found.stats.cost(query), found.stats.selectivity(query)) == (4.0, 0.125)


def test_rates_are_made_of_s_c_and_t() -> None:
    found = scene({"q": ["select, cost=2s, selectivity=0.5", "select, cost=4s, selectivity=0.25"]})
    (unit,) = found.units(Level.QUERY)
    s, c, t = 0.125, 4.0, 6.0
    assert found.stats.output_rate(unit) == pytest.approx(s / c)
    assert found.stats.normalized_rate(unit) == pytest.approx(s / (c * t))
    assert found.stats.balanced_rate(unit) == pytest.approx(s / (c * t**2))
    assert found.stats.capacity(unit) == pytest.approx(1 / c)


JOIN = [
    ["select, from=l, cost=1s, selectivity=0.5", "select, cost=2s, selectivity=0.4"],
    ["select, from=r, cost=3s, selectivity=0.5"],
    "join, cost=5s, selectivity=0.1, window=10s",
    "select, cost=7s, selectivity=0.25",
    "project, cost=11s",
]


def test_window_join() -> None:
    """T = C_L + C_R + 2 c_J + C_C, and S and C of both paths, V/τ = window × rate."""
    found = scene({"q": JOIN}, {"l": 4.0, "r": 2.0})
    left, right = found.units(Level.PATH)
    s_l, s_r, s_j, s_c = 0.5 * 0.4, 0.5, 0.1, 0.25
    c_l, c_r, c_c = 1 + 0.5 * 2, 3.0, 7 + 0.25 * 11
    from_right, from_left = s_r * 10 * 2.0, s_l * 10 * 4.0
    stats = found.stats
    assert stats.query_ideal_time("q") == (1 + 2) + 3 + 2 * 5 + (7 + 11)
    assert stats.global_selectivity(left) == pytest.approx(s_l * s_j * from_right * s_c)
    assert stats.global_cost(left) == pytest.approx(c_l + s_l * 5 + s_l * s_j * from_right * c_c)
    assert stats.global_selectivity(right) == pytest.approx(s_r * s_j * from_left * s_c)
    assert stats.global_cost(right) == pytest.approx(c_r + s_r * 5 + s_r * s_j * from_left * c_c)


def test_a_query_with_a_join_is_the_mean_of_its_paths_by_rate() -> None:
    found = scene({"q": JOIN}, {"l": 4.0, "r": 2.0})
    (query,), (left, right) = found.units(Level.QUERY), found.units(Level.PATH)
    for name in ("global_selectivity", "global_cost"):
        each = getattr(found.stats, name)
        assert each(query) == pytest.approx((4 * each(left) + 2 * each(right)) / 6)


def test_joins_of_joins_by_recursion() -> None:
    inner = [
        ["select, from=a, cost=1s, selectivity=0.5"],
        ["project, from=b, cost=2s"],
        "join, cost=3s, window=4s, selectivity=0.2",
    ]
    found = scene(
        {"q": [inner, ["select, from=c, cost=5s, selectivity=0.5"], "join, cost=7s, window=6s, selectivity=0.1"]},
        {"a": 2.0, "b": 3.0, "c": 5.0},
    )
    pairs = 0.5 * 2 * 0.2 * 4 * 3 + 3 * 0.2 * 4 * 0.5 * 2  # per second out of the inner join
    s_a = 0.5 * (0.2 * 4 * 3.0)  # inner results per tuple of a
    from_c = 0.1 * 6 * (0.5 * 5.0)
    paths = {str(unit)[2]: unit for unit in found.units(Level.PATH)}
    stats = found.stats
    assert stats.query_ideal_time("q") == 1 + 2 + 2 * 3 + 5 + 2 * 7
    assert stats.global_selectivity(paths["a"]) == pytest.approx(s_a * from_c)
    assert stats.global_cost(paths["a"]) == pytest.approx(1 + 0.5 * 3 + s_a * 7)
    assert stats.global_selectivity(paths["c"]) == pytest.approx(0.5 * 0.1 * 6 * pairs)
    assert stats.global_cost(paths["c"]) == pytest.approx(5 + 0.5 * 7)


def test_a_join_without_rates_finds_no_partner() -> None:
    found = scene({"q": JOIN})
    assert {found.stats.global_selectivity(unit) for unit in found.units(Level.PATH)} == {0.0}


SHARED = "select, cost=3s, selectivity=0.5, name=hot"
RESTS = {"a": "select, cost=2s, selectivity=0.5", "b": "select, cost=4s", "c": "select, cost=8s, selectivity=0.25"}


@pytest.mark.parametrize("level", [Level.OPERATOR, Level.QUERY])
def test_a_shared_operator_is_paid_once(level: Level) -> None:
    """SC = Σ C_i − (N − 1)·c."""
    together = scene({name: [SHARED, rest] for name, rest in RESTS.items()})
    hot = together.units(level)[0]
    alone = [scene({name: [SHARED, rest]}) for name, rest in RESTS.items()]
    costs = [each.stats.global_cost(each.units(Level.QUERY)[0]) for each in alone]
    shares = [each.stats.global_selectivity(each.units(Level.QUERY)[0]) for each in alone]
    ideals = [each.stats.query_ideal_time(name) for each, name in zip(alone, RESTS, strict=True)]
    cost = sum(costs) - 2 * 3
    assert together.stats.global_cost(hot) == pytest.approx(cost)
    assert together.stats.global_selectivity(hot) == pytest.approx(sum(shares))
    assert together.stats.normalized_rate(hot) == pytest.approx(
        sum(s / t for s, t in zip(shares, ideals, strict=True)) / cost
    )
    assert together.stats.ideal_time(hot) == min(ideals)


@pytest.mark.parametrize(("name", "power"), [("output_rate", 0), ("normalized_rate", 1), ("balanced_rate", 2)])
def test_rates_of_some_queries_are_as_if_the_others_were_not_there(name: str, power: int) -> None:
    together = scene({name: [SHARED, rest] for name, rest in RESTS.items()})
    fewer = scene({name: [SHARED, RESTS[name]] for name in ("a", "c")})
    for level in (Level.OPERATOR, Level.QUERY):
        some = getattr(together.stats, name)(together.units(level)[0], ("a", "c"))
        assert some == pytest.approx(getattr(fewer.stats, name)(fewer.units(level)[0]))
    (alone,) = scene({"b": [SHARED, RESTS["b"]]}).units(Level.QUERY)
    expected = 0.5 * 1 / (3 + 0.5 * 4) / (3 + 4) ** power
    assert getattr(together.stats, name)(together.units(Level.QUERY)[0], alone.queries) == pytest.approx(expected)


def test_rates_of_some_queries_leave_out_what_the_others_read() -> None:
    found = scene(
        {
            "p": "select, from=l, cost=2s, name=a",
            "q": [["select, from=l, cost=2s, name=a"], ["project, from=r, cost=9s"], "join, cost=1s, window=1s"],
        },
        {"l": 1.0, "r": 5.0},
    )
    (unit,) = found.units(Level.QUERY)
    assert found.stats.output_rate(unit, ("p",)) == pytest.approx(1 / 2)


def test_streams_that_reach_a_unit() -> None:
    found = scene({"q": JOIN}, {"l": 4.0, "r": 2.0})
    assert [sorted(found.stats.streams(unit)) for unit in found.units(Level.OPERATOR)][2:] == [["r"], *[["l", "r"]] * 3]


def test_a_shared_path_counts_its_own_query_only() -> None:
    together = scene({name: [SHARED, rest] for name, rest in RESTS.items()})
    for unit, cost in zip(together.units(Level.PATH), (3 + 0.5 * 2, 3 + 0.5 * 4, 3 + 0.5 * 8), strict=True):
        assert together.stats.global_cost(unit) == cost


def test_a_fused_group_costs_what_its_members_cost() -> None:
    found = scene({"a": "select, cost=2s, selectivity=0.5", "b": "select, cost=3s"})
    (group,) = found.units(Level.QUERY, Fuse.ALL)
    assert (found.stats.global_cost(group), found.stats.global_selectivity(group)) == (5.0, 1.5)
    assert found.stats.normalized_rate(group) == pytest.approx((0.5 / 2 + 1 / 3) / 5)


def test_overheads_are_spread_over_the_average_train() -> None:
    chain = {"q": ["select, cost=2s, overhead=6s, selectivity=0.5", "select, cost=4s, overhead=8s"]}
    found = scene(chain, run_overhead=10.0, train=4.0)
    (unit,) = found.units(Level.QUERY)
    assert found.stats.global_cost(unit) == pytest.approx((2 + 6 / 4) + 0.5 * (4 + 8 / 4) + 10 / 4)
    assert found.stats.query_ideal_time("q") == 2 + 6 + 4 + 8 + 10  # alone there is no train


def test_the_cost_model_of_a_run() -> None:
    chain = {"q": ["select, cost=2s, overhead=6s, selectivity=0.5", "select, cost=4s, overhead=8s"]}
    found = scene(chain, run_overhead=10.0, train=4.0)
    (unit,) = found.units(Level.QUERY)
    assert found.stats.model(unit) == CostModel(fixed=24.0, per_tuple=2 + 0.5 * 4)
    first, second = found.units(Level.OPERATOR)
    assert (found.stats.model(first), found.stats.model(second)) == (CostModel(16.0, 2.0), CostModel(18.0, 4.0))


@given(st.floats(0.0, 1.0), st.floats(1e-6, 1.0), st.floats(0.0, 100.0))
def test_what_fits_fits_and_one_more_does_not(fixed: float, each: float, seconds: float) -> None:
    model = CostModel(fixed, each)
    count = model.fits(seconds)
    assert count >= 1
    assert count == 1 or model.seconds(count) <= seconds * (1 + 1e-9)
    assert model.seconds(count + 1) > seconds * (1 - 1e-9)


def test_what_costs_nothing_always_fits() -> None:
    assert CostModel(1.0, 0.0).fits(0.5) > 10**15


def by_hand(*plans: Select | Union | Except | Aggregate) -> tuple[list[Query], dict[str, float]]:
    queries = [Query(name=f"q{number}", query_class="all", plan=plan) for number, plan in enumerate(plans)]
    return queries, {"l": 6.0, "r": 2.0}


def test_union_passes_everything_on() -> None:
    found = of_queries(*by_hand(Union(inputs=(Source("l"), Source("r")), given=Given(cost=1.0))))
    (unit,) = found.units(Level.QUERY)
    assert (found.stats.global_selectivity(unit), found.stats.arrival_rate(unit)) == (1.0, 8.0)


def test_the_right_input_of_except_gives_nothing() -> None:
    plan = Except(inputs=(Source("l"), Source("r")), window=Window(1.0), given=Given(selectivity=0.5))
    found = of_queries(*by_hand(plan))
    left, right = found.units(Level.PATH)
    assert (found.stats.global_selectivity(left), found.stats.global_selectivity(right)) == (0.5, 0.0)
    assert found.stats.global_selectivity(found.units(Level.QUERY)[0]) == pytest.approx(6 * 0.5 / 8)


def test_an_aggregate_gives_one_result_per_window() -> None:
    plan = Aggregate(inputs=(Source("l"),), window=Window(10.0, 5.0))
    found = of_queries(*by_hand(plan))
    assert found.stats.global_selectivity(found.units(Level.QUERY)[0]) == pytest.approx(1 / (6 * 5))


def test_sizes_and_rates_along_a_chain() -> None:
    found = scene({"q": ["select, cost=1s, selectivity=0.5, bytes=4", "select, cost=1s, selectivity=0.5"]}, {"s": 8.0})
    first, second = found.units(Level.OPERATOR)
    assert [found.stats.size(unit) for unit in (first, second)] == [10, 4]
    assert [found.stats.arrival_rate(unit) for unit in (first, second)] == [8.0, 4.0]


def test_priority_and_inputs() -> None:
    found = scene({"q": JOIN}, {"l": 1.0, "r": 1.0})
    (unit,) = found.units(Level.QUERY)
    assert (found.stats.class_priority(unit), found.stats.inputs(unit), found.stats.qos("q")) == (3.0, 2, None)


# -- declared needs ----------------------------------------------------------------------------------------------


def test_only_what_is_declared_is_answered() -> None:
    found = scene({"q": "select, cost=2s, selectivity=0.5"})
    (unit,) = found.units(Level.QUERY)
    face = found.stats.only({"global_cost", "output_rate"})
    assert (face.global_cost(unit), face.output_rate(unit)) == (2.0, 0.25)
    for name in sorted(STATISTICS - {"global_cost", "output_rate"}):
        with pytest.raises(AttributeError, match=f"'{name}' is read but not declared"):
            getattr(face, name)


def test_an_unknown_need_is_refused() -> None:
    with pytest.raises(AttributeError, match="there is no statistic 'speed'"):
        scene({"q": "select"}).stats.only({"speed"})


@pytest.mark.parametrize("name", ["renew", "only", "_memo", "_measured"])
def test_the_workings_cannot_be_declared_nor_reached(name: str) -> None:
    stats = scene({"q": "select"}).stats
    with pytest.raises(AttributeError):
        stats.only({name})
    with pytest.raises(AttributeError):
        getattr(stats.only({"cost"}), name)


def test_numbers_are_new_after_renewal_and_not_before() -> None:
    found = scene({"q": "select, cost=2s"})
    (unit,) = found.units(Level.QUERY)
    face = found.stats.only({"global_cost"})
    assert face.global_cost(unit) == 2.0
    found.measured.operators[0].cost = 5.0
    assert face.global_cost(unit) == 2.0
    found.stats.renew(found.network)
    assert face.global_cost(unit) == 5.0


def test_a_network_that_shrinks_leaves_the_others_numbers() -> None:
    found = scene({"a": "select, cost=2s", "b": "select, cost=3s"})
    smaller = found.network.remove("a")
    found.measured.operators[1].cost = 7.0
    found.measured.follow(smaller)
    assert {number: known.cost for number, known in found.measured.operators.items()} == {1: 7.0}
    found.measured.follow(smaller.add(found.network.queries["a"]))
    assert {number: known.cost for number, known in found.measured.operators.items()} == {1: 7.0, 0: 2.0}
    assert isinstance(Stats(smaller, Measured.of(smaller)).query_ideal_time("b"), float)
