"""What is ready is kept as things happen: always what a search would find, whatever happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.builders import QUERIES, BySegment, arrive, chains, finish, must_run, network, query, scheduler
from tests.core.course import POLICIES, WORKERS, Course

from headgate.core import Arrived, Frontier, PolicyChanged, QueryAdded, QueryRemoved, Scheduler
from headgate.model import WHOLE_QUEUE, HeadgateError, Idle, Outcome, Produced, Train
from headgate.plan.fusion import Fuse

Seeds = st.integers(0, 10**6)
Fused = st.sampled_from(list(Fuse))


@pytest.mark.slow
@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.sampled_from(POLICIES), Fused, Seeds)
def test_ready_is_what_a_search_finds_after_every_call(policy: str, fuse: Fuse, seed: int) -> None:
    course = Course(Scheduler(network(*QUERIES[:4]), policy, fuse=fuse), seed)
    for _ in range(60):
        course.step()
    course.drain()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.sampled_from(POLICIES), Seeds)
def test_held_tuples_do_not_make_a_unit_ready(policy: str, seed: int) -> None:
    course = Course(Scheduler(network(), policy), seed, frontiers=True)
    for _ in range(60):
        course.step()
    course.drain()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.sampled_from([Train(), Train(at_most=2), Train(fraction=0.5)]), Seeds)
def test_segments_too(train: Train, seed: int) -> None:
    course = Course(Scheduler(network(), BySegment(), train=train), seed)
    for _ in range(50):
        course.random.choice([course.arrive, course.ask, course.finish])()
        course.agree()
    course.drain()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(POLICIES), st.sampled_from(POLICIES), Seeds)
def test_a_change_of_policy_loses_nothing(before: str, after: str, seed: int) -> None:
    course = Course(Scheduler(network(), before), seed)
    for _ in range(60):
        course.random.choice([course.arrive, course.ask, course.finish])()
    course.scheduler.event(PolicyChanged(after), course.now)
    course.agree()
    course.drain()


def test_what_an_operator_left_inside_goes_on_under_a_policy_of_whole_queries() -> None:
    core = scheduler("fifo", query("q", ["select", "select"]))
    arrive(core, 3)
    run = must_run(core)
    (inner,) = network(query("q", ["select", "select"])).nodes[0].consumers
    core.finished(Outcome(run, 0.0, produced=(Produced(inner, ((0.0, 1),)),)), 0.0)
    core.event(PolicyChanged("fcfs"), 0.0)
    assert must_run(core).takes == ((0, 1, 2), (inner, 0, 1))


def test_what_a_run_gives_after_a_change_of_policy_is_not_lost() -> None:
    core = scheduler("fifo", query("q", ["select", "select"]))
    arrive(core, 1)
    run = must_run(core)
    core.event(PolicyChanged("fcfs"), 0.0)
    assert isinstance(core.next(1, 0.0), Idle)  # the query shares the operator that is running
    core.finished(Outcome(run, 0.0, produced=(Produced(1, ((0.0, 1),)),)), 0.0)
    assert must_run(core).takes == ((1, 0, 1),)


def test_units_that_share_an_operator_never_run_at_once() -> None:
    core = scheduler("path-capacity", query("p", ["select, name=hot", "select"]), query("q", ["select, name=hot"]))
    arrive(core, 5)
    run = must_run(core, worker=0)
    assert isinstance(core.next(1, 0.0), Idle)
    finish(core, run)
    assert must_run(core, worker=1).id == run.id + 1


def test_units_that_share_nothing_run_at_once() -> None:
    core = scheduler("fcfs", query("p", "select"), query("q", "select"))
    arrive(core)
    assert [must_run(core, worker).units[0].name for worker in range(2)] == ["p", "q"]
    assert isinstance(core.next(2, 0.0), Idle)


def test_a_unit_with_more_tuples_waits_for_its_own_run() -> None:
    core = scheduler("fcfs", query("p", "select"))
    arrive(core, 2)
    must_run(core, 0)
    assert all(isinstance(core.next(worker, 0.0), Idle) for worker in range(1, WORKERS))


def test_a_new_query_starts_at_the_end_of_its_streams() -> None:
    core = scheduler("fcfs", query("p", "select"))
    arrive(core, 2)
    core.event(QueryAdded(query("q", "select")), 0.0)
    assert core.waiting == 2
    arrive(core, 1, at=1.0)
    assert core.waiting == 4


def test_a_removed_query_takes_what_waits_for_it_alone() -> None:
    core = scheduler("fcfs", query("p", ["select, name=hot", "select"]), query("q", ["select, name=hot"]))
    arrive(core, 2)
    core.event(QueryRemoved("p"), 0.0)
    assert core.waiting == 2  # the shared operator is still there for q
    core.event(QueryAdded(query("r", "select")), 0.0)
    core.event(QueryRemoved("q"), 0.0)
    assert core.waiting == 0
    assert core.idle


def test_results_for_a_query_that_was_removed_meanwhile_are_dropped() -> None:
    core = scheduler("fifo", query("p", ["select", "select"]), query("q", "select"))
    arrive(core)
    run = must_run(core)
    core.event(QueryRemoved("p"), 0.0)
    core.finished(Outcome(run, 0.0, produced=(Produced(1, ((0.0, 1),)),)), 0.0)
    assert core.waiting == 1


def test_a_frontier_behind_waiting_tuples_makes_them_wait_no_more() -> None:
    core = scheduler("fcfs", query("p", "select"))
    arrive(core, 3)
    core.event(Frontier(0, 0), 0.0)
    assert isinstance(core.next(0, 0.0), Idle)
    core.event(Frontier(0, 2), 0.0)
    assert must_run(core).takes == ((0, 0, 1),)


def test_a_whole_train_stops_at_the_frontier() -> None:
    core = scheduler("fcfs", query("p", "select"), train=WHOLE_QUEUE)
    core.event(Frontier(0, 0), 0.0)
    arrive(core, 3)
    assert isinstance(core.next(0, 0.0), Idle)
    core.event(Frontier(0, 2), 0.0)
    assert must_run(core).takes == ((0, 0, 2),)


def test_an_unknown_stream_is_refused_by_name() -> None:
    with pytest.raises(HeadgateError, match="unknown stream 'x'"):
        Scheduler(chains(q="select"), "fcfs").event(Arrived("x", 0.0), 0.0)
