"""Policies that go by targets: worked examples, and what theory says of earliest deadlines."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.core import Arrived, PriorityChanged, Scheduler
from headgate.metrics import measure
from headgate.model import Idle, Level, Outcome, QoS, Query, QueryClass, Stream, Target, Window
from headgate.plan.fusion import Fuse
from headgate.plan.network import Network
from headgate.plan.units import units
from headgate.policies.checks import Situation
from headgate.policies.checks.short_plans import build_plan
from headgate.policies.registry import create
from headgate.sim import simulate
from headgate.stats import Measured, Stats
from headgate.workload import read_workload

ALL = ("cameo", "cameo, level=operator", "klink", "edf-target", "edf-target, by=deadline")
WORKLOADS = Path(__file__).parents[2] / "workloads"
SELECT = "select, cost=1s"


def query(name: str, short: str, query_class: str = "all", **given: object) -> Query:
    return Query(name=name, query_class=query_class, plan=build_plan(short), **given)  # type: ignore[arg-type]


# -- targets -------------------------------------------------------------------------------------------------------


def test_the_target_in_effect_is_the_querys_then_the_classs_then_the_graphs() -> None:
    graph = QoS.of([[0.0, 1.0], [0.25, 1.0], [1.0, 0.0]])
    classes = [QueryClass("all"), QueryClass("wanted", target=Target(2.0))]
    network = Network.of(
        [
            query("own", SELECT, "wanted", target=Target(1.0), qos=graph),
            query("by-class", SELECT, "wanted", qos=graph),
            query("by-graph", SELECT, qos=graph),
            query("falls", SELECT, qos=QoS.of([[0.0, 1.0], [1.0, 0.0]])),
            query("never", SELECT, qos=QoS.of([[0.0, 1.0]])),
            query("none", SELECT),
        ],
        [Stream(name="s")],
        classes,
    )
    found = {name: network.target(name) for name in network.queries}
    assert found == {
        "own": Target(1.0),
        "by-class": Target(2.0),
        "by-graph": Target(0.25),
        "falls": None,
        "never": None,
        "none": None,
    }


def test_without_a_target_the_priority_tells_how_soon() -> None:
    of = {"a": "gold", "b": "tin", "c": "none"}
    situation = Situation(dict.fromkeys("abc", SELECT), classes=of, priorities={"gold": 60.0, "tin": 10.0, "none": 0.0})
    stats = situation.stats()
    assert [stats.query_target(name) for name in "abc"] == [1.0, 6.0, 100.0]
    nobody = Situation({"a": SELECT}, priorities={"all": 0.0}).stats()
    assert nobody.query_target("a") == 1.0


def test_a_unit_of_several_queries_has_the_tightest_target() -> None:
    shared = "select, cost=1s, name=both"
    situation = Situation({"a": [shared, SELECT], "b": [shared, SELECT]}, targets={"a": "3 s", "b": "2 s"})
    (unit,) = units(situation.network(), Level.QUERY)
    assert situation.stats().target(unit) == 2.0


def test_ways_to_the_results_of_a_shared_operator() -> None:
    first = "select, cost=1s, name=both"
    queries = {"a": [first, "aggregate, cost=2s, window=4s", "project, cost=3s"], "b": [first, "project, cost=7s"]}
    situation = Situation(queries, targets={"a": "3 s", "b": "2 s"})
    shared, *_ = units(situation.network(), Level.OPERATOR)
    found = {way.query: way for way in situation.stats().ways(shared)}
    assert {name: (way.target, way.seconds, way.windows) for name, way in found.items()} == {
        "a": (3.0, 6.0, (Window(4.0),)),
        "b": (2.0, 8.0, ()),
    }
    assert (found["a"].result(1.0), found["b"].result(1.0)) == (4.0, 1.0)


@given(st.floats(0.0, 1e9), st.sampled_from([1.0, 2.5, 10.0]), st.sampled_from([0.5, 1.0, 3.0, 10.0]))
def test_a_window_closes_after_a_moment_that_it_holds(moment: float, size: float, slide: float) -> None:
    window = Window(size, slide)
    end = window.closes(moment)
    assert moment < end <= moment + size + slide
    others = [number * slide + size for number in range(int(end / slide) - int(size / slide) - 3, int(end / slide))]
    assert not any(moment < other < end for other in others)


# -- worked examples -----------------------------------------------------------------------------------------------


def test_cameo_counts_the_longest_way_behind_an_operator() -> None:
    """b1 has to start at 0 + 9 − 1 − max(2, 6), and a at 0 + 4 − 1: b1 would have lost by its shorter branch."""
    first = "select, cost=1s, name=b1"
    queries = {
        "b": [first, "select, cost=2s, name=b2"],
        "c": [first, "select, cost=6s, name=c2"],
        "a": f"{SELECT}, name=a",
    }
    situation = Situation(queries, targets={"a": "4 s", "b": "9 s", "c": "9 s"})
    assert situation.order("cameo, level=operator")[0] == "b1"
    shorter = Situation({name: plan for name, plan in queries.items() if name != "c"}, targets=situation.targets)
    assert shorter.order("cameo, level=operator")[0] == "a"


def test_behind_a_window_its_result_is_due_by_the_target_alone() -> None:
    """The aggregate's tuple of 3 s is due at 10 + 1, what it has given already at 9 + 1."""
    queries = {"q": ["aggregate, window=10s, name=count", "project, name=shape"]}
    situation = Situation(queries, targets={"q": "1 s"}, heads={"q": [3.0, 9.0]}, now=9.5)
    assert situation.order("cameo, level=operator") == ["shape", "count"]


def test_an_overdue_window_beats_a_tuple_that_has_just_come_under_klink() -> None:
    queries = {"window": "aggregate, window=10s", "plain": "select"}
    situation = Situation(queries, heads={"window": 3.0, "plain": 9.9}, now=10.5)
    assert situation.order("klink") == ["plain", "window"]  # 9.9 before 10
    assert replace(situation, heads={"window": 3.0, "plain": 10.2}).order("klink") == ["window", "plain"]


def test_a_group_is_due_with_its_most_urgent_query_less_the_whole_runs_cost() -> None:
    classes = {"a": "gold", "b": "gold", "c": "tin"}
    targets = {"a": "9 s", "b": "8 s", "c": "7500 ms"}
    situation = Situation(dict.fromkeys("abc", SELECT), classes=classes, targets=targets)
    network = situation.network()
    core = Scheduler(network, "edf-target", fuse=Fuse.CLASS)
    core.event(Arrived("s", 0.0, 2), 0.0)
    run = core.next(0, 0.0)
    assert not isinstance(run, Idle)
    assert set(run.units[0].queries) == {"a", "b"}  # 8 − 2·2, and 7.5 − 2: each of both queries costs 2 s


def test_what_is_told_of_a_decision() -> None:
    situation = Situation({"a": SELECT, "b": SELECT}, targets={"a": "4 s", "b": "6 s"}, heads={"a": 0.5}, now=1.0)
    policy = create("edf-target")
    view = situation.view(policy)
    policy.changed(view)
    for unit in view.ready.values():
        policy.ready(view, unit)
    choice = policy.choose(view, 0)
    assert not isinstance(choice, Idle)
    why = policy.explain(view, choice)
    assert (why.winner, why.runner_up) == ("a", "b")
    assert {name: why.numbers[name] for name in ("left to wait", "target", "run", "wait")} == {
        "left to wait": 2.5,  # 0.5 + 4 − 1 − 1
        "target": 4.0,
        "run": 1.0,
        "wait": 0.5,
    }


def test_a_changed_priority_changes_targets_that_nobody_states() -> None:
    classes = [QueryClass("gold", 60.0), QueryClass("tin", 10.0)]
    made = [query("a", SELECT, "gold"), query("b", SELECT, "tin")]
    for priority, expected in ((10.0, "a"), (120.0, "b")):
        core = Scheduler(Network.of(made, [Stream(name="s")], classes), "cameo")
        core.event(PriorityChanged("tin", priority), 0.0)
        core.event(Arrived("s", 0.0), 0.0)
        run = core.next(0, 0.0)
        assert not isinstance(run, Idle)
        assert run.units[0].name == expected


# -- theory --------------------------------------------------------------------------------------------------------

Jobs = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 25)), min_size=1, max_size=5)  # tuples, target


def in_time(order: tuple[int, ...], jobs: list[tuple[int, int]]) -> bool:
    now = 0
    for number in order:
        now += jobs[number][0]
        if now > jobs[number][1]:
            return False
    return True


@given(Jobs)
def test_earliest_deadlines_are_met_if_any_order_meets_them(jobs: list[tuple[int, int]]) -> None:
    names = [f"q{number}" for number in range(len(jobs))]
    situation = Situation(
        dict.fromkeys(names, SELECT),
        waiting=dict(zip(names, (tuples for tuples, _ in jobs), strict=True)),
        targets=dict(zip(names, (f"{target} s" for _, target in jobs), strict=True)),
    )
    order = tuple(int(name[1:]) for name in situation.order("edf-target, by=deadline"))
    possible = any(in_time(other, jobs) for other in permutations(range(len(jobs))))
    assert in_time(order, jobs) == possible


Arrivals = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5)  # arrival, target


def can_be_met(jobs: list[tuple[int, int]]) -> bool:
    """Whether jobs of one second each can all be in time, by trying every order."""
    for order in permutations(jobs):
        now, late = 0, False
        for arrival, target in order:
            now = max(now, arrival) + 1
            late |= now > arrival + target
        if not late:
            return True
    return False


@pytest.mark.parametrize("policy", ["cameo", "edf-target", "edf-target, by=deadline"])
@settings(max_examples=60)
@given(jobs=Arrivals)
def test_runs_of_one_length_are_in_time_if_they_can_be_whenever_they_arrive(
    policy: str, jobs: list[tuple[int, int]]
) -> None:
    names = [f"q{number}" for number in range(len(jobs))]
    made = [
        query(name, f"select, from={name}, cost=1s", target=Target(float(target)))
        for name, (_, target) in zip(names, jobs, strict=True)
    ]
    core = Scheduler(Network.of(made, [Stream(name=name) for name in names], [QueryClass("all")]), policy)
    late, left, now = False, len(jobs), 0
    while left:
        for name, (arrival, _) in zip(names, jobs, strict=True):
            if arrival == now:
                core.event(Arrived(name, float(now)), float(now))
        run = core.next(0, float(now))
        now += 1
        if not isinstance(run, Idle):
            core.finished(Outcome(run, 1.0), float(now))
            arrival, target = jobs[int(run.units[0].name[1:])]
            late |= now > arrival + target
            left -= 1
    assert late != can_be_met(jobs)


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6))
def test_with_one_target_and_one_cost_all_go_by_arrival(heads: list[float]) -> None:
    names = [f"q{number}" for number in range(len(heads))]
    rounded = [round(head, 6) for head in heads]
    situation = Situation(dict.fromkeys(names, SELECT), heads=dict(zip(names, rounded, strict=True)), now=10.0)
    for policy in ("cameo", "klink", "edf-target", "edf-target, by=deadline"):
        assert situation.order(policy) == situation.order("fcfs")


# -- in the simulator ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ALL)
def test_slices_preemption_and_kept_workers_lose_nothing(policy: str) -> None:
    workload = replace(read_workload(WORKLOADS / "targets-windows.toml"), duration=2.0, cores=2)
    plain, apart = (
        measure(simulate(workload, f"{policy}{settings}")) for settings in ("", ", slice=20ms, preempt=class, keep=1")
    )
    assert plain.results == apart.results > 0


def test_targets_that_can_be_met_are_met_more_often_than_by_arrival() -> None:
    workload = replace(read_workload(WORKLOADS / "targets-tight.toml"), duration=10.0)
    cameo, edf, fcfs = (measure(simulate(workload, policy)).qos.missed for policy in ("cameo", "edf-target", "fcfs"))
    assert cameo is not None
    assert edf is not None
    assert fcfs is not None
    assert max(cameo, edf) * 4 < fcfs


def test_ways_follow_measured_costs() -> None:
    network = Situation({"q": SELECT}).network()
    measured = Measured.of(network)
    stats = Stats(network, measured)
    (unit,) = units(network, Level.QUERY)
    assert stats.ways(unit)[0].seconds == 1.0
    measured.operators[0].cost = 3.0
    stats.renew(network)
    assert stats.ways(unit)[0].seconds == 3.0
