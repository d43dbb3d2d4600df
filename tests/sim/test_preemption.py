"""Runs that give way in the simulator: the important class answers sooner, and nothing is lost or done twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import emissions, judged, results, traced, workload

from headgate.core import replay_trace
from headgate.model import HeadgateError
from headgate.sim import Simulation, simulate
from headgate.workload import Workload

CLASSES = {"gold": 60.0, "silver": 10.0, "tin": 1.0}
STREAMS = {"a": "poisson, rate=1", "s": "poisson, rate=12", "l": "poisson, rate=6", "r": "poisson, rate=6"}
QUERIES: dict[str, dict[str, Any]] = {
    "alarm": {"operators": ["select, from=a, cost=10ms, selectivity=0.7"], "class": "gold"},
    "pattern": {"operators": ["select, from=s, cost=60ms, pass=[true, false, true]"], "class": "silver"},
    "windows": {"operators": ["select, from=s, cost=20ms", "aggregate, window=1s, cost=10ms"], "class": "tin"},
    "pairs": {
        "operators": ["join, from=[l, r], window=2s, cost=30ms, selectivity=0.4", "project, cost=5ms"],
        "class": "tin",
    },
}


def plant(**head: Any) -> Workload:
    settings = {"cores": 2, "train": "all", "run_overhead": "100ms", "classes": CLASSES, "duration": "12 s", **head}
    return workload(QUERIES, STREAMS, **settings)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("policy", ["fcfs", "mbd", "rr", "hnr", "fcfs, level=operator", "chain"])
def test_nothing_is_lost_or_doubled(policy: str, cores: int) -> None:
    plain = simulate(plant(cores=cores), policy)
    giving_way = simulate(plant(cores=cores), f"{policy}, preempt=class")
    assert giving_way.cancelled > 0
    assert results(giving_way) == results(plain)
    assert giving_way.unfinished == 0


@pytest.mark.parametrize("policy", ["fcfs", "rr", "mbd"])
def test_the_important_class_answers_sooner(policy: str) -> None:
    plain, giving_way = judged(plant(), policy), judged(plant(), f"{policy}, preempt=class")
    gold = "classes.gold.response_time.mean"
    assert (giving_way.value(gold) or 0.0) < (plain.value(gold) or 0.0)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(1, 10**6),
    st.sampled_from(["fcfs", "rr", "mbd", "express", "hr, level=operator", "express, level=operator"]),
    st.sampled_from(["preempt=class", "preempt=class, slice=auto", "preempt=class, keep=1"]),
)
def test_nothing_is_lost_or_doubled_whatever_comes(seed: int, policy: str, apart: str) -> None:
    expected = results(simulate(plant(seed=seed, duration="4 s"), "fcfs"))
    expected.pop("windows"), expected.pop("pattern")  # these depend on the order in which their tuples come
    found = results(simulate(plant(seed=seed, duration="4 s"), f"{policy}, {apart}"))
    assert {name: found[name] for name in expected} == expected


def test_it_is_as_if_a_cancelled_run_had_never_begun() -> None:
    """Windows, patterns, tuples between operators and results are as they were before the run."""
    simulation = Simulation(plant(), "fcfs, preempt=class, level=operator")
    machine, checked = simulation.machine, []
    usual, executed = simulation._cancel, machine.execute

    def looks() -> dict[str, Any]:
        effects = {
            number: {key: repr(value if key != "outcomes" else vars(value)) for key, value in vars(work.effect).items()}
            for number, work in machine._works.items()
        }
        stores = {number: list(store) for number, store in machine._stores.items()}
        return {"effects": effects, "stores": stores, "records": [len(r.emission) for r in machine._records.values()]}

    before: dict[int, dict[str, Any]] = {}

    def execute(run: Any, now: float) -> Any:
        before[run.id] = looks()
        return executed(run, now)

    def cancel(run: Any, now: float) -> None:
        usual(run, now)
        after = looks()
        for call in run.calls:
            assert after["effects"][call] == before[run.id]["effects"][call]
        for queue, first, behind in run.takes:
            if queue in after["stores"]:
                taken = before[run.id]["stores"][queue][: behind - first]
                assert after["stores"][queue][: behind - first] == taken
        assert run.worker not in machine._in_flight
        checked.append(run.id)

    machine.execute, simulation._cancel = execute, cancel  # type: ignore[method-assign]
    simulation.run()
    assert len(checked) > 3


def test_cancelled_runs_are_counted_with_their_time() -> None:
    plain, giving_way = simulate(plant(), "fcfs"), simulate(plant(), "fcfs, preempt=class")
    assert (plain.cancelled, plain.cancelled_seconds) == (0, 0.0)
    assert 0.0 < giving_way.cancelled_seconds < giving_way.busy <= giving_way.seconds * giving_way.workers
    report = judged(plant(), "fcfs, preempt=class")
    assert report.value("scheduling.cancelled") == giving_way.cancelled
    assert report.value("scheduling.cancelled_seconds") == giving_way.cancelled_seconds


def test_time_and_what_waits_add_up_by_hand() -> None:
    """A run of two seconds is cancelled after half a second, for one of a second, and done again."""
    tables = {
        "alarm": {"operators": ["select, from=a, cost=1s"], "class": "gold"},
        "report": {"operators": ["select, from=b, cost=2s"], "class": "tin"},
    }
    streams = {"a": "at, times=[500ms]", "b": "at, times=[0]"}
    given = workload(tables, streams, classes=CLASSES, cores=1, duration="10 s")
    records = simulate(given, "fcfs, preempt=class")
    assert emissions(records) == {"alarm": [1.5], "report": [3.5]}
    assert (records.cancelled, records.cancelled_seconds, records.busy) == (1, 0.5, 3.5)
    assert records.queue.max_tuples == 2
    assert records.queue.mean_tuples * 10 == pytest.approx(1.0)  # the report waits while the alarm runs


@pytest.mark.parametrize("policy", ["fcfs, preempt=class", "express", "mbd, preempt=class, slice=auto, level=query"])
@pytest.mark.parametrize("head", [{}, {"statistics": "measured", "noise": 0.1}, {"cores": 1}])
def test_traces_with_cancelled_runs_are_repeated(policy: str, head: dict[str, Any]) -> None:
    records, lines = traced(plant(**head), policy)
    found = replay_trace(lines)
    assert found.same, found.differences[:3]
    assert (found.runs, found.decisions) == (records.runs, records.decisions)
    assert sum('"cancelled":' in line for line in lines) == records.cancelled


def test_runs_are_cancelled_under_changes() -> None:
    changes = [
        {"at": "1 s", "policy": "fcfs, preempt=class"},
        {"at": "2 s", "query": "pattern", "class": "tin"},
        {"at": "3 s", "class": "tin", "priority": 100.0},
        {"at": "4 s", "class": "tin", "priority": 2.0},
        {"at": "5 s", "policy": "rr, preempt=class, keep=1"},
        {"at": "6 s", "policy": "hnr"},
    ]
    found = simulate(plant(changes=changes), "fcfs")
    assert found.cancelled > 0
    assert results(found)["pairs"] == results(simulate(plant(), "fcfs"))["pairs"]
    assert found.unfinished == 0


# -- settings without effect ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "head", "message"),
    [
        ("mbd, keep=2", {}, "keep=2 leaves no core for the other classes: there are 2; keep at most 1"),
        ("mbd, keep=1", {"cores": 1}, "keep=1 leaves no core for the other classes: there is 1; leave keep out"),
        ("mbd, slice=20ms", {}, "slice=20ms is too short: the cheapest run costs 100ms before its first tuple"),
        ("fcfs, preempt=class", {"classes": dict.fromkeys(CLASSES, 1.0)}, "all classes have priority 1; give them"),
    ],
)
def test_settings_that_can_have_no_effect_are_refused(policy: str, head: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadgateError) as error:
        simulate(plant(**head), policy)
    assert str(error.value).startswith(f"policy '{policy}': ")
    assert message in str(error.value)


def test_settings_of_a_later_policy_are_looked_at_before_anything_begins() -> None:
    with pytest.raises(HeadgateError, match="keep=9 leaves no core"):
        Simulation(plant(changes=[{"at": "7 s", "policy": "fcfs, keep=9"}]), "fcfs")


@pytest.mark.parametrize("asked", ["preempt=class", "keep=1", "keep=auto", "slice=auto", "slice=1s"])
def test_one_class_cannot_be_kept_apart(asked: str) -> None:
    with pytest.raises(HeadgateError, match="has no effect: there is only one class, 'default'; leave it out"):
        simulate(workload({"q": "select, cost=1ms"}, cores=2), f"fcfs, {asked}")


@pytest.mark.parametrize("policy", ["express", "fcfs, preempt=off, keep=0, slice=off", "abd, slice=50us"])
def test_defaults_and_settings_that_ask_for_nothing_are_not_judged(policy: str) -> None:
    assert simulate(workload({"q": "select, cost=1ms"}), policy).unfinished == 0
