"""Targets: what is met and missed, judged as results come and afterwards, against the definition."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.metrics.measures.targets import (
    WINDOW,
    TargetState,
    TargetStatus,
    TargetTracker,
    judged,
    over_run,
    reached,
    summarise,
)
from headgate.model import Target

TARGET = Target(0.5)
Batch = tuple[float, list[float]]  # when, how long each result took

gaps = st.sampled_from([0.25, 0.5, 1.0, 3.0, 9.75, 10.0, 10.25, 25.0])
times = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.6, 2.0, 14.0]), min_size=1, max_size=6)
targets = st.builds(
    Target, st.sampled_from([0.1, 0.5, 2.0]), st.sampled_from([50.0, 90.0, 95.0, 100.0]), st.sampled_from([0.0, 0.2])
)


@st.composite
def courses(draw: st.DrawFn) -> list[Batch]:
    moments = accumulate(draw(st.lists(gaps, min_size=1, max_size=20)), initial=100.0)
    return [(at, draw(times)) for at in moments]


def followed(target: Target, course: list[Batch]) -> TargetTracker:
    tracker = TargetTracker(target)
    for at, took in course:
        tracker.add(at, np.array(took))
    return tracker


def columns(course: list[Batch]) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([at for at, took in course for _ in took]),
        np.array([one for _, took in course for one in took]),
    )


def in_window(course: list[Batch], now: float) -> list[float]:
    return [one for at, took in course if now - WINDOW < at <= now for one in took]


@given(targets, courses(), gaps)
def test_the_state_is_that_of_the_results_in_the_window(target: Target, course: list[Batch], later: float) -> None:
    now = course[-1][0] + later
    recent = in_window(course, now)
    status = followed(target, course).status(now, recent=np.array(recent))
    if not recent:
        assert (status.state, status.reached, status.missed_by) == (TargetState.NO_RESULTS, None, None)
        return
    within = sum(one <= target.limit + 1e-9 for one in recent) / len(recent)
    met = within >= target.percentile / 100 - 1e-9
    assert status.state is (TargetState.MET if met else TargetState.MISSED)
    assert status.reached is not None
    assert (status.reached <= target.limit + 1e-9) == met  # what is told agrees with what is judged
    assert (status.missed_by is None) == met


@given(targets, courses(), gaps)
def test_as_results_come_and_afterwards_it_is_the_same(target: Target, course: list[Batch], later: float) -> None:
    end = course[-1][0] + later
    live, whole = followed(target, course).status(end), over_run(target, *columns(course), end)
    assert [whole.met, whole.missed] == pytest.approx([live.met, live.missed])
    assert whole.state is live.state


@given(targets, courses(), gaps)
def test_time_is_counted_once(target: Target, course: list[Batch], later: float) -> None:
    first, end = course[0][0] - max(course[0][1]), course[-1][0] + later
    status = followed(target, course).status(end)
    assert 0 <= status.met + status.missed <= end - first + 1e-6
    assert status.share is None or 0 <= status.share <= 1
    assert status.since is not None
    assert first <= status.since <= end


@given(targets, courses(), st.lists(gaps, max_size=5))
@settings(max_examples=50)
def test_looking_changes_nothing(target: Target, course: list[Batch], looks: list[float]) -> None:
    end = course[-1][0] + 30.0
    looking = TargetTracker(target)
    for at, took in course:
        for look in looks:
            looking.status(at - min(0.2, look / 100), oldest_wait=look)
        looking.add(at, np.array(took))
    unseen = followed(target, course)
    seen, calm = looking.status(end), unseen.status(end)
    assert seen.state is calm.state
    assert [seen.since, seen.met, seen.missed] == pytest.approx([calm.since, calm.met, calm.missed])


def test_since_when_and_how_much_of_the_time() -> None:
    tracker = followed(TARGET, [(100.0, [0.1] * 9), (104.0, [2.0])])
    assert tracker.status(103.0).state is TargetState.MISSED  # nobody asks about the past: it is told as of 104
    status = tracker.status(106.0, recent=np.array([0.1] * 9 + [2.0]))
    assert (status.state, status.since, status.met, status.missed) == (TargetState.MISSED, 104.0, 4.0, 2.0)
    assert (status.reached, status.missed_by) == (2.0, 1.5)
    status = tracker.status(120.0)
    assert (status.state, status.since, status.met, status.missed) == (TargetState.NO_RESULTS, 114.0, 4.0, 10.0)


def test_a_tolerance_is_no_part_of_what_it_is_missed_by() -> None:
    tracker = followed(Target(0.5, tolerance=0.2), [(100.0, [0.75])])
    assert tracker.status(101.0, recent=np.array([0.75])).missed_by == 0.25


def test_what_is_overdue_is_missed_though_no_result_has_come() -> None:
    tracker = followed(TARGET, [(100.0, [0.1])])
    assert tracker.status(120.0).state is TargetState.NO_RESULTS
    status = tracker.status(120.0, oldest_wait=3.0)
    assert (status.state, status.since, status.missed, status.reached) == (TargetState.MISSED, 117.5, 2.5, 3.0)
    assert tracker.status(120.0, oldest_wait=100.0).since == 110.0  # until then there were results
    tracker.add(121.0, np.array([4.0]))  # it has come
    assert (tracker.status(121.0).since, tracker.status(121.0).missed) == (117.5, 3.5)


def test_a_first_result_that_is_late_counts_from_when_it_was_due() -> None:
    status = followed(TARGET, [(100.0, [5.0])]).status(101.0)
    assert (status.since, status.missed, status.share) == (95.5, 5.5, 0.0)


def test_results_of_many_runs_take_bounded_memory() -> None:
    tracker = TargetTracker(TARGET)
    for number in range(20_000):
        tracker.add(100.0 + number / 1000, np.array([0.1, 0.9]))
    assert len(tracker._chunks) <= 1001
    status = tracker.status(120.0)
    assert (status.state, status.share) == (TargetState.MISSED, 0.0)


def test_no_results_at_all() -> None:
    for status in (TargetTracker(TARGET).status(5.0), over_run(TARGET, np.empty(0), np.empty(0), 5.0)):
        assert (status.state, status.since, status.share, status.missed_by) == (
            TargetState.NO_RESULTS,
            None,
            None,
            None,
        )
    assert reached(np.empty(0), 95.0) is None


@given(st.integers(1, 200), st.floats(1.0, 100.0))
def test_the_percentile_is_the_smallest_that_is_met(count: int, percentile: float) -> None:
    took = np.arange(1, count + 1, dtype=float)
    value = reached(took, percentile)
    assert value is not None
    late = int(count - value)
    assert judged(count, late, Target(value, percentile)) is TargetState.MET
    assert judged(count, late + 1, Target(value, percentile)) is TargetState.MISSED or value == 1


def test_a_summary_weighs_by_time() -> None:
    statuses = [
        TargetStatus(TARGET, TargetState.MET, met=30.0),
        TargetStatus(TARGET, TargetState.MISSED, missed=10.0),
        TargetStatus(TARGET),
    ]
    found = summarise(statuses)
    assert (found.met, found.missed, found.share, found.missed_seconds) == (1, 1, 0.75, 10.0)
    assert summarise([]).met is None
