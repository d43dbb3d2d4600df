"""Orders by QoS graphs (Carney 2005, chapter 4): the document's examples, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.sim.builders import traced, workload

from headgate.core import PolicyChanged, QueryAdded, Scheduler
from headgate.model import HeadgateError, QoS
from headgate.policies.aurora.buckets import Plane
from headgate.policies.aurora.fixed_priority import FixedPriority
from headgate.policies.aurora.outlook import Outlook
from headgate.policies.checks import Situation
from headgate.policies.registry import create
from headgate.workload import Workload

NAMES = ("fixed-priority", "slope-slack", "bucketing")


def step(deadline: float) -> list[list[float]]:
    """Full utility up to a deadline, none behind it."""
    return [[0.0, 1.0], [deadline, 1.0], [deadline, 0.0]]


def chains(length: int, deadlines: list[float]) -> Workload:
    """Chains of boxes b1, b2, … of cost 1, one tuple each at time 0."""
    queries = {}
    for chain, deadline in enumerate(deadlines):
        operators = [f"select, cost=1s, name=b{chain * length + place + 1}" for place in range(length)]
        queries[f"q{chain}"] = {"operators": operators, "qos": step(deadline)}
    return workload(queries, "at, times=[0]", duration="20 s")


def schedule(policy: str, given: Workload) -> list[str]:
    """The boxes in the order in which they ran."""
    _, lines = traced(given, policy)
    names = [node.label for node in given.network().nodes.values()]
    return [names[json.loads(line)["run"]["units"][0]] for line in lines if '"run"' in line]


def boxes(*numbers: int) -> list[str]:
    return [f"b{number}" for number in numbers]


# -- graphs ------------------------------------------------------------------------------------------------------


def test_critical_points_are_where_the_slope_changes() -> None:
    graph = QoS.of([[0, 1], [1, 1], [2, 0.5], [3, 0.0], [4, 0.0], [4.5, 0.0]])
    assert [graph.slack(latency) for latency in (0.0, 0.5, 1.0, 2.0, 2.5)] == [1.0, 0.5, 2.0, 1.0, 0.5]
    assert graph.slack(3.0) == graph.slack(99.0) == float("inf")
    assert [graph.fall(latency) for latency in (0.5, 1.0, 2.5, 3.0, 99.0)] == [0.0, 0.5, 0.5, 0.0, 0.0]


def test_a_step_is_a_critical_point_without_a_slope() -> None:
    graph = QoS.of([[0, 1], [6, 1], [6, 0.5], [9, 0.5], [9, 0.0]])
    assert [graph.slack(latency) for latency in (0.0, 5.0, 6.0, 8.0)] == [6.0, 1.0, 3.0, 1.0]
    assert graph.slack(9.0) == float("inf")
    assert {graph.fall(latency) for latency in (0.0, 5.0, 6.0, 8.0, 9.0, 10.0)} == {0.0}


def test_a_graph_that_rises_loses_nothing() -> None:
    graph = QoS.of([[1, 0.5], [2, 1], [4, 0]])
    assert [graph.fall(latency) for latency in (0.0, 1.5, 3.0)] == [0.0, 0.0, 0.5]
    assert [graph.slack(latency) for latency in (0.0, 1.5, 3.0)] == [1.0, 0.5, 1.0]


# -- the document's schedules ------------------------------------------------------------------------------------


def test_table_4_1() -> None:
    queries = {
        "a1": [f"select, cost=1s, name=b{number}" for number in (3, 2, 1)],
        "a2": [f"select, cost=1s, name=b{number}" for number in (6, 5, 4)],
    }
    situation = Situation(queries, qos={"a1": step(4), "a2": step(8)})
    policy = FixedPriority()
    view = situation.view(policy)
    slacks = {str(unit): policy.slack(unit, view.stats) for unit in view.units.values()}
    assert slacks == {"b1": 3, "b2": 2, "b3": 1, "b4": 7, "b5": 6, "b6": 5}
    assert situation.order("fixed-priority") == boxes(3, 2, 1, 6, 5, 4)


@pytest.mark.parametrize(
    ("policy", "published"),
    [
        ("fixed-priority, schedule=2", boxes(1, 5, 2, 6, 3, 7, 4, 8, 9, 10, 11, 12)),
        ("slope-slack, schedule=2", boxes(1, 5, 2, 6, 3, 7, 8, 9, 10, 4, 11, 12)),
        ("slope-slack, schedule=3", boxes(1, 5, 9, 2, 6, 10, 7, 11, 3, 12, 4, 8)),
        ("slope-slack", boxes(*range(1, 13))),
        ("fixed-priority", boxes(*range(1, 13))),
    ],
)
def test_schedules_of_section_4_5(policy: str, published: list[str]) -> None:
    assert schedule(policy, chains(4, [6, 10, 14])) == published


@pytest.mark.parametrize("name", NAMES)
def test_pushed_through_every_deadline_is_met(name: str) -> None:
    """Three superboxes, two to a decision."""
    records, _ = traced(chains(4, [6, 10, 14]), f"{name}, push=true, schedule=2")
    assert [list(query.emission) for query in records.queries] == [[4.0], [8.0], [12.0]]
    assert (records.runs, records.decisions) == (3, 2)


def test_late_tuples_come_last_even_behind_those_with_much_time() -> None:
    queries = {name: f"select, cost=1s, name={name}" for name in ("late", "far", "farther")}
    situation = Situation(queries, qos={"late": step(5), "far": step(50), "farther": step(500)}, now=5.0)
    for name in ("slope-slack", "bucketing, partitions=1000"):
        assert situation.order(name) == ["far", "farther", "late"]
    assert situation.order("bucketing") == ["far", "late", "farther"]  # no slack that counts and the longest are equal
    assert situation.order("fixed-priority") == ["late", "far", "farther"]


def test_expected_latency_counts_what_waits_ahead() -> None:
    """Before b2 wait ten: with them the tuple before b1 comes out too late, without them it does not."""
    chain = ["select, cost=1s, name=b1", "select, cost=1s, selectivity=0.5, name=b2"]
    queries = {"q": chain, "other": "select, cost=1s, name=b3"}
    graphs = {"q": step(9), "other": step(20)}
    assert Situation(queries, qos=graphs, waiting={"q": [1, 1]}).order("slope-slack") == ["b1", "b2", "b3"]
    assert Situation(queries, qos=graphs, waiting={"q": [1, 10]}).order("slope-slack") == ["b3", "b2", "b1"]


def test_an_operator_of_several_queries_hurries_for_the_one_in_most_need() -> None:
    both = "select, cost=1s, name=both"
    queries = {"calm": [both, "select, name=c"], "keen": [both, "select, name=k"], "third": "select, name=t"}
    graphs = {"calm": step(100), "keen": step(5), "third": step(50)}
    for name in (*NAMES, "bucketing, partitions=1000"):
        assert Situation(queries, qos=graphs, waiting={"calm": [1, 0], "keen": [1, 0]}).order(name) == ["both", "t"]


# -- buckets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slack_bucket", "slope_bucket", "named"),
    [(2, 2, (3, 2)), (1, 1, (4, 1)), (1, 4, (1, 1)), (4, 2, (3, 4)), (3, 2, (3, 3))],
)
def test_table_4_3(slack_bucket: int, slope_bucket: int, named: tuple[int, int]) -> None:
    plane = Plane(steepest=1.0, longest=8.0, partitions=4)
    assert plane.bucket(Outlook((slope_bucket - 0.5) / 4, 2 * (slack_bucket - 0.5))) == named


@pytest.mark.parametrize(
    ("graph", "latency", "named"),
    [(0, 1.5, (3, 2)), (0, 0.5, (4, 1)), (0, 3.5, (1, 1)), (1, 1.5, (3, 4)), (1, 2.5, (3, 3))],
)
def test_table_4_3_from_graphs(graph: int, latency: float, named: tuple[int, int]) -> None:
    """Graphs that give the table's buckets at its latencies; the document's own are only drawn."""
    graphs = [QoS.of([[0, 1], [1, 1], [3, 2 / 3], [4, 0]]), QoS.of([[0, 1], [1, 1], [5, 1 / 3]])]
    plane = Plane.of(graphs, 4)
    at = graphs[graph]
    assert plane.bucket(Outlook(at.fall(latency), at.slack(latency))) == named


# -- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_queries_without_a_graph_are_named(name: str) -> None:
    queries = {f"q{number}": "select" for number in range(6)}
    with pytest.raises(HeadgateError) as refused:
        Situation(queries, qos={"q0": step(1)}).order(name)
    assert str(refused.value).startswith(
        f"{name} decides by QoS graphs, and there is none for 'q1', 'q2', 'q3' and 2 more; give the query one: qos = [["
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_change_changes_nothing(name: str) -> None:
    bare = Scheduler(Situation({"q": "select"}).network(), "hnr")
    with pytest.raises(HeadgateError, match="none for 'q'"):
        bare.event(PolicyChanged(name), 0.0)
    assert str(bare.policy) == "hnr"

    network = Situation({"q": "select"}, qos={"q": step(1)}).network()
    scheduler = Scheduler(network, name)
    with pytest.raises(HeadgateError, match="none for 'p'"):
        scheduler.event(QueryAdded(replace(network.queries["q"], name="p", qos=None)), 0.0)
    assert scheduler.network is network


@pytest.mark.parametrize(
    ("text", "range_"),
    [
        ("bucketing, partitions=0", "partitions must be a whole number of at least 1, found 0"),
        ("bucketing, partitions=2.5", "partitions must be a whole number of at least 1, found 2.5"),
        ("slope-slack, push=7", "push must be true or false, found 7"),
        ("aaat, traversal=max", "traversal must be min-cost or min-latency or min-memory or auto, found max"),
        ("baat, train=1.5", "train must be all, a number of tuples, or a share"),
    ],
)
def test_settings_out_of_range(text: str, range_: str) -> None:
    with pytest.raises(HeadgateError, match=range_):
        create(text)


def test_equal_deadlines_have_a_fixed_order() -> None:
    """Section 4.3.1 and figure 4.2: of ten applications each always has the same place, whatever has waited longer."""
    queries = {f"a{number}": "select, cost=1s" for number in range(4)}
    graphs = {name: step(10 if int(name[1]) % 2 == 0 else 20) for name in queries}
    for heads in ({}, {"a0": 0.9, "a1": 0.8, "a2": 0.7, "a3": 0.6}):
        found = Situation(queries, qos=graphs, heads=heads, now=1.0).order("fixed-priority")
        assert found == [f"a{number}.select-{number}" for number in (0, 2, 1, 3)]
