"""How many tuples a run takes, and from where."""

from __future__ import annotations

import pytest
from tests.core.builders import arrive, chains, finish, must_run, order_of_runs, query, scheduler

from headgate.core import PolicyChanged, Scheduler
from headgate.model import ONE_TUPLE, WHOLE_QUEUE, Choice, Idle, Level, Outcome, Produced, Train, WorkerId
from headgate.plan.fusion import Fuse
from headgate.policies.contract import Policy, View
from headgate.stats import Measured


def taken(policy: str, waiting: int, train: Train = ONE_TUPLE) -> int:
    core = scheduler(policy, query("q", "select"), train=train)
    arrive(core, waiting)
    return must_run(core).tuples


@pytest.mark.parametrize(
    ("train", "waiting", "tuples"),
    [
        ("all", 1000, 1000),
        ("1", 1000, 1),
        ("7", 1000, 7),
        ("7", 3, 3),
        ("0.3", 1000, 300),
        ("0.3", 2, 1),  # never none
    ],
)
def test_train(train: str, waiting: int, tuples: int) -> None:
    assert taken(f"fcfs, train={train}", waiting) == tuples


@pytest.mark.parametrize(("waiting", "tuples"), [(1000, 300), (200, 60), (167, 50), (166, 166), (50, 50), (1, 1)])
def test_ratio_and_threshold(waiting: int, tuples: int) -> None:
    """A = ratio × waiting; A is taken if it is above the threshold, else everything."""
    expected = waiting if 0.3 * waiting <= 50 else tuples
    assert taken("fcfs, ratio=0.3, threshold=50", waiting) == expected


def test_the_scheduler_decides_where_the_policy_does_not_say() -> None:
    assert taken("fcfs", 10) == 1
    assert taken("fcfs", 10, train=Train(at_most=4)) == 4
    assert taken("fcfs, train=2", 10, train=Train(at_most=4)) == 2


def fitting(seconds: float, *operators: str, waiting: int = 1000, run_overhead: float = 0.0) -> int:
    """How many tuples of a chain are taken when a run must fit into some seconds."""
    network = chains(q=list(operators))
    measured = Measured.of(network, run_overhead=run_overhead)
    core = Scheduler(network, "fcfs", measured=measured, train=Train(fits=seconds))
    arrive(core, waiting)
    return must_run(core).tuples


def test_as_many_as_fit_by_the_cost_model() -> None:
    assert fitting(1.0, "select, cost=10ms") == 100
    assert fitting(1.0, "select, cost=10ms, overhead=500ms") == 50
    assert fitting(1.0, "select, cost=10ms", run_overhead=0.2) == 80
    assert fitting(1.0, "select, cost=10ms", waiting=30) == 30
    assert fitting(0.001, "select, cost=10ms") == 1


def test_tuples_that_are_filtered_out_leave_room() -> None:
    assert fitting(1.0, "select, cost=10ms, selectivity=0.5", "select, cost=20ms") == 50
    assert fitting(1.0, "select, cost=10ms, selectivity=0.1", "select, overhead=500ms, cost=100ms") == 25


def test_over_several_entries_the_oldest_go_first() -> None:
    core = scheduler("fcfs, train=4", query("q", "join, from=[l, r], window=1s"))
    arrive(core, 2, at=0.0, stream="r")
    arrive(core, 3, at=1.0, stream="l")
    arrive(core, 3, at=2.0, stream="r")
    assert sorted(must_run(core, now=2.0).takes) == [(0, 0, 2), (1, 0, 2)]


def test_old_tuples_of_one_entry_come_in_one_piece() -> None:
    core = scheduler("fcfs, train=5", query("q", "join, from=[l, r], window=1s"))
    for at, stream in enumerate("lrllr"):
        arrive(core, at=float(at), stream=stream)
    arrive(core, 9, at=9.0, stream="r")
    assert sorted(must_run(core, now=9.0).takes) == [(0, 0, 3), (1, 0, 2)]


def test_a_whole_train_takes_all_entries() -> None:
    core = scheduler("fcfs, train=all", query("q", "join, from=[l, r], window=1s"))
    arrive(core, 2, stream="l")
    arrive(core, 3, stream="r")
    assert sorted(must_run(core).takes) == [(0, 0, 2), (1, 0, 3)]


def test_in_a_fused_group_every_member_takes_a_train() -> None:
    core = scheduler("fcfs, train=2", query("a", "select"), query("b", "select"), fuse=Fuse.ALL)
    arrive(core, 3)
    run = must_run(core)
    assert run.takes == ((0, 0, 2), (1, 0, 2))
    finish(core, run)
    assert must_run(core).takes == ((0, 2, 3), (1, 2, 3))


def test_leftovers_inside_are_always_taken_whole() -> None:
    core = scheduler("fifo", query("q", ["select", "select"]))
    arrive(core, 9)
    run = must_run(core)
    core.finished(Outcome(run, 0.0, produced=(Produced(1, ((0.0, 4),)),)), 0.0)
    core.event(PolicyChanged("fcfs, train=2"), 0.0)
    assert must_run(core).takes == ((0, 1, 3), (1, 0, 4))


class Together(Policy):
    """All that is ready, as one run."""

    levels = (Level.QUERY, Level.PATH)

    def choose(self, view: View, worker: WorkerId) -> Choice | Idle:
        units = tuple(view.ready.values())
        return Choice(units, WHOLE_QUEUE, together=True) if units else Idle()


def test_together_is_one_run_of_several_units() -> None:
    core = scheduler(Together(), query("a", "select"), query("b", ["select", "select"]))
    arrive(core, 2)
    run = must_run(core)
    assert ([str(unit) for unit in run.units], run.calls) == (["a", "b"], (0, 1, 2))
    assert run.takes == ((0, 0, 2), (1, 0, 2))
    assert isinstance(core.next(1, 0.0), Idle)
    arrive(core, 1)
    assert isinstance(core.next(1, 0.0), Idle)  # both are still running
    finish(core, run)
    assert len(must_run(core).units) == 2
    assert (core.decisions, core.runs) == (2, 2)


def test_units_of_one_run_take_a_common_tuple_once() -> None:
    policy = Together(level="path")  # two paths from one queue
    core = scheduler(policy, query("a", "select, name=hot"), query("b", ["select, name=hot", "select"]))
    arrive(core, 2)
    assert must_run(core).takes == ((0, 0, 2),)


def test_a_decision_lists_several_units() -> None:
    queries = [query(name, f"select, cost={cost}ms") for name, cost in (("c", 3), ("a", 1), ("b", 2), ("d", 4))]
    core = scheduler("hr, schedule=3", *queries)
    arrive(core)
    assert order_of_runs(core) == ["a", "b", "c", "d"]
    assert (core.decisions, core.runs) == (2, 4)


def test_a_listed_unit_is_passed_over_when_it_cannot_run_any_more() -> None:
    core = scheduler("hr, schedule=2", query("a", "select, cost=1ms"), query("b", "select, cost=2ms"))
    arrive(core, 2)
    first, second = must_run(core, 0), must_run(core, 1)
    assert [str(run.units[0]) for run in (first, second)] == ["a", "b"]
    assert core.decisions == 1
    finish(core, second)
    assert (str(must_run(core, 1).units[0]), core.decisions) == ("b", 2)


@pytest.mark.parametrize("policy", ["rr, unit=query", "fcfs", "mtiq, level=query", "random"])
def test_a_longer_schedule_runs_every_tuple_too(policy: str) -> None:
    core = scheduler(f"{policy}, schedule=2", *(query(name, "select") for name in "abc"))
    arrive(core, 4)
    assert sorted(order_of_runs(core)) == sorted("abc" * 4)
