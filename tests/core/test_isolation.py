"""Whatever is cancelled, kept free or cut short: every tuple is taken once, in order, by a run that ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.builders import QUERIES, network
from tests.core.isolated_course import POLICIES, SETTINGS, IsolatedCourse, named

from headgate.core import RecordingScheduler, Scheduler, replay_trace
from headgate.plan.fusion import Fuse
from headgate.stats import Measured

Seeds = st.integers(0, 10**6)
Policies = st.builds(named, st.sampled_from(POLICIES), st.sampled_from(SETTINGS))
Workers = st.integers(1, 3)


def measured(count: int) -> Measured:
    """Runs that take a second each, so that cancelling one is often worth it."""
    return Measured.of(network(*QUERIES[:count]), run_overhead=1.0)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(Policies, Workers, st.sampled_from(list(Fuse)), Seeds)
def test_every_tuple_is_taken_once_and_in_order_by_a_run_that_ends(
    policy: str, workers: int, fuse: Fuse, seed: int
) -> None:
    course = IsolatedCourse(
        Scheduler(network(*QUERIES[:4]), policy, fuse=fuse, workers=workers, measured=measured(4)), seed
    )
    for _ in range(70):
        course.step()
    course.drain()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Policies, Workers, Seeds)
def test_also_where_windows_hold_tuples(policy: str, workers: int, seed: int) -> None:
    course = IsolatedCourse(
        Scheduler(network(), policy, workers=workers, measured=measured(len(QUERIES))), seed, frontiers=True
    )
    for _ in range(70):
        course.step()
    course.drain()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(Policies, Workers, Seeds)
def test_a_trace_with_cancelled_runs_is_repeated(policy: str, workers: int, seed: int) -> None:
    lines: list[str] = []
    scheduler = RecordingScheduler(
        network(*QUERIES[:5]), policy, write=lines.append, workers=workers, measured=measured(5)
    )
    course = IsolatedCourse(scheduler, seed)
    for _ in range(60):
        course.step()
    course.drain()
    found = replay_trace(lines)
    assert found.same, found.differences[:3]
    assert (found.runs, found.decisions) == (scheduler.runs, scheduler.decisions)


@pytest.mark.parametrize("policy", POLICIES)
def test_runs_are_cancelled_on_the_way(policy: str) -> None:
    """The courses above do what they are for."""
    asked = 0
    for seed in range(20):
        course = IsolatedCourse(
            Scheduler(network(*QUERIES[:4]), named(policy, "preempt=class"), measured=measured(4)), seed
        )
        course.change_policy = lambda: None  # type: ignore[method-assign]
        course.cancel = lambda: None  # type: ignore[method-assign]
        for _ in range(60):
            course.step()
        course.drain()
        asked += course.cancels
    assert asked > 0
