"""What-if on traces of the simulator, whose truth can be simulated."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import ALL
from tests.sim.builders import judged, traced, workload

from headgate.history.from_trace import history_of_trace
from headgate.metrics import Report
from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.what_if.comparison import SURE, Comparison
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.workload import Workload

POLICIES = ("fcfs", "mbd", "hnr", "express")
CLASSES = {"high": 60.0, "low": 10.0}


def plant(seed: int = 1, load: float = 0.8, **head: Any) -> Workload:
    """Six queries of two classes with costs far apart, two of them sharing a filter, one with windows."""
    queries = {
        "alarm": {"class": "high", "operators": ["select, cost=1ms, selectivity=0.1", "project, cost=1ms"]},
        "watch": {"class": "high", "operators": ["select, cost=2ms, selectivity=0.5"]},
        "hot": {"class": "low", "operators": ["select, cost=3ms, selectivity=0.3", "project, cost=2ms"]},
        "count": {"class": "low", "operators": ["select, cost=1ms, selectivity=0.5", "aggregate, cost=2ms, window=1s"]},
        "all": {"class": "low", "operators": ["project, cost=9ms"]},
    }
    settings = {"duration": "6 s", "classes": CLASSES, "seed": seed, "load": load, **head}
    return workload(queries, "poisson, rate=120", **settings)


@cache
def learned(policy: str, **head: Any) -> Learned:
    return Learned.of(history_of_trace(traced(plant(**head), policy)[1]))


@cache
def simulated(policy: str) -> Report:
    return judged(plant(), policy)


@pytest.mark.parametrize("recorded", POLICIES)
def test_the_recorded_policy_comes_out_as_it_was(recorded: str) -> None:
    known = learned(recorded)
    again = replay(known, None, Changed())
    for name, times in known.recorded.classes.items():
        assert again.classes[name].mean == pytest.approx(times.mean, rel=0.04)
        assert again.classes[name].results == times.results


@pytest.mark.parametrize(
    ("recorded", "asked"), list(product(POLICIES, POLICIES) if ALL else pairwise([*POLICIES, POLICIES[0]]))
)
def test_another_policy_comes_out_as_its_simulation(recorded: str, asked: str) -> None:
    found = replay(learned(recorded), asked, Changed())
    true = simulated(asked)
    for name in CLASSES:
        assert found.classes[name].mean == pytest.approx(true.classes[name].response_time.mean, rel=0.06)
        assert found.classes[name].p95 == pytest.approx(true.classes[name].response_time.p95, rel=0.1)


@pytest.mark.parametrize("recorded", POLICIES)
def test_policies_are_ranked_rightly_where_they_differ(recorded: str) -> None:
    known = learned(recorded)
    found = Comparison(
        known.recorded,
        replay(known, None, Changed()),
        {policy: replay(known, policy, Changed()) for policy in POLICIES},
    )
    true = {policy: simulated(policy).response_time.mean or 0.0 for policy in POLICIES}
    ranking = found.ranking("mean")
    for better, worse in pairwise(ranking):
        assert true[better] <= true[worse] * (1 + SURE)
    for policy in POLICIES:
        for name in CLASSES:
            change = found.change(policy, name)
            assert change is not None
            assert found.within_error(policy, name) == (abs(change) <= max(SURE, found.error(name) or 0.0))


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 100),
    cores=st.integers(1, 3),
    train=st.sampled_from([1, 5, "all"]),
    load=st.sampled_from([0.3, 0.7, 0.9]),
    recorded=st.sampled_from([*POLICIES, "fifo"]),
    asked=st.sampled_from([*POLICIES, "fifo", "rr"]),
)
def test_whatever_the_workload(seed: int, cores: int, train: int | str, load: float, recorded: str, asked: str) -> None:
    """On several cores, with trains of any size, and between policies of operators and of queries."""
    made = plant(seed=seed, cores=cores, train=train, load=load, duration="3 s")
    known = Learned.of(history_of_trace(traced(made, recorded)[1]))
    found, true = replay(known, asked, Changed()), judged(made, asked)
    for name in CLASSES:
        assert found.classes[name].mean == pytest.approx(true.classes[name].response_time.mean, rel=0.25, abs=0.005)


def test_groups_are_formed_as_asked() -> None:
    known = learned("hnr", fuse="off", train="all", run_overhead="20 ms", cores=2)
    found = replay(known, "hnr", Changed(fuse=Fuse.CLASS))
    true = judged(plant(fuse="class", train="all", run_overhead="20 ms", cores=2), "hnr")
    for name in CLASSES:
        assert found.classes[name].mean == pytest.approx(true.classes[name].response_time.mean, rel=0.15)


def test_more_workers_answer_sooner() -> None:
    one, two = (replay(learned("fcfs"), None, Changed(workers=workers)) for workers in (1, 2))
    assert one.overall.mean is not None
    assert two.overall.mean is not None
    assert two.overall.mean < 0.6 * one.overall.mean


def test_more_tuples_wait_longer_and_give_more_results() -> None:
    usual, more = (replay(learned("fcfs"), None, Changed(rate=rate)) for rate in (1.0, 1.2))
    assert usual.overall.mean is not None
    assert more.overall.mean is not None
    assert more.overall.mean > usual.overall.mean
    assert more.overall.results == pytest.approx(1.2 * usual.overall.results, rel=0.1)


def test_a_class_with_a_higher_priority_waits_less() -> None:
    usual = replay(learned("fcfs"), "weighted-hr", Changed())
    turned = replay(learned("fcfs"), "weighted-hr", Changed(priorities={"low": 6000.0}))
    assert usual.classes["low"].mean is not None
    assert turned.classes["low"].mean is not None
    assert turned.classes["low"].mean < usual.classes["low"].mean


def test_the_seed_changes_nothing_where_everything_is_known() -> None:
    assert replay(learned("hnr"), "mbd", Changed(seed=1)) == replay(learned("hnr"), "mbd", Changed(seed=2))


def test_changes_are_replayed_too() -> None:
    changes = [
        {"at": "1 s", "query": "all", "class": "high"},
        {"at": "2 s", "class": "low", "priority": 100},
        {"at": "3 s", "policy": "hnr"},
    ]
    made = plant(changes=changes)
    known = Learned.of(history_of_trace(traced(made, "fcfs")[1]))
    again = replay(known, None, Changed())
    assert known.recorded.policy == again.policy == "hnr"
    for name in CLASSES:
        assert again.classes[name].mean == pytest.approx(known.recorded.classes[name].mean, rel=0.1)


def test_too_few_runs_are_refused() -> None:
    few = history_of_trace(traced(workload({"q": "select, cost=1ms"}, "constant, rate=5", duration="1 s"), "fcfs")[1])
    with pytest.raises(HeadgateError, match="too few runs to learn from: 5"):
        Learned.of(few)
