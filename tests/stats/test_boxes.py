"""Statistics of single operators inside a unit, and of the way to each query's results."""

from __future__ import annotations

import pytest
from tests.stats.builders import scene

from headgate.model import Level

SHARED = "select, cost=1s, selectivity=0.5, name=hot"


def test_boxes_of_a_chain() -> None:
    found = scene({"q": ["select, cost=2s, selectivity=0.5", "select, cost=4s, selectivity=0.25, bytes=7", "project"]})
    (unit,) = found.units(Level.QUERY)
    first, second, third = found.stats.boxes(unit)
    assert [box.downstream for box in (first, second, third)] == [(0, 1, 2), (1, 2), (2,)]
    assert [(box.cost, box.selectivity) for box in (first, second, third)] == [(2, 0.5), (4, 0.25), (0, 1)]
    assert [box.result_cost for box in (first, second, third)] == [2 / 0.125, 4 / 0.25, 0]
    assert (third.size, second.size) == (7, first.size)


def test_boxes_of_a_tree_know_what_is_downstream() -> None:
    found = scene({"q": [["select, from=l"], ["select, from=r"], "join, window=1s", "project"]}, {"l": 1.0, "r": 1.0})
    (unit,) = found.units(Level.QUERY)
    assert [box.downstream for box in found.stats.boxes(unit)] == [(0, 2, 3), (1, 2, 3), (2, 3), (3,)]


def test_what_gives_no_results_costs_without_end_per_result() -> None:
    found = scene({"q": ["select, cost=1s, selectivity=0", "project, cost=1s"]})
    (unit,) = found.units(Level.QUERY)
    assert [box.result_cost for box in found.stats.boxes(unit)] == [float("inf"), 1.0]


def test_output_costs_are_told_for_each_query_on_the_way() -> None:
    found = scene({"p": [SHARED, "select, cost=2s, selectivity=0.25"], "q": [SHARED, "project, cost=3s"]})
    hot, only_p, only_q = found.units(Level.OPERATOR)
    (first,), (second,), (third,) = (unit.queues for unit in (hot, only_p, only_q))
    costs = found.stats.output_costs(hot)
    assert costs == {"p": ((first, 1 / 0.125), (second, 2 / 0.25)), "q": ((first, 1 / 0.5), (third, 3.0))}
    assert found.stats.output_costs(only_p) == {"p": ((second, 2 / 0.25),)}


def test_both_inputs_of_a_join_are_on_the_way() -> None:
    plan = [["select, from=l, cost=1s"], ["select, from=r, cost=1s"], "join, window=2s, cost=1s, selectivity=0.5"]
    found = scene({"q": plan}, {"l": 4.0, "r": 2.0})
    left, *_ = found.units(Level.OPERATOR)
    costs = dict(found.stats.output_costs(left)["q"])
    join = found.network.nodes[2]
    assert list(costs) == [*left.queues, *join.queues]
    assert [costs[queue] for queue in join.queues] == [1 / (0.5 * 2 * 2), 1 / (0.5 * 4 * 2)]


def test_remaining_times_by_query() -> None:
    found = scene({"p": [SHARED, "select, cost=2s"], "q": [SHARED, "project, cost=3s", "project, cost=4s"]})
    hot, *_ = found.units(Level.OPERATOR)
    assert found.stats.remaining_times(hot) == {"p": 3.0, "q": 8.0}
    assert found.stats.remaining_time(hot) == min(found.stats.remaining_times(hot).values())


def test_remaining_time_of_a_tree_is_that_of_its_longest_way() -> None:
    plan = [["select, from=l, cost=1s"], ["select, from=r, cost=5s"], "join, window=1s, cost=1s"]
    found = scene({"q": plan}, {"l": 1.0, "r": 1.0})
    (unit,) = found.units(Level.QUERY)
    assert found.stats.remaining_times(unit) == pytest.approx({"q": 6.0})
