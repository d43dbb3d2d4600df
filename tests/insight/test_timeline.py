"""Waits are divided among the runs that held the workers, and nothing of them is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.insight.histories import history, run

from headgate.history.history import History
from headgate.insight.timeline import Timeline

OF = {"fire": "critical", "report": "background", "archive": "background"}
LENGTHS = st.integers(0, 64).map(lambda number: number / 8)
RUNS = st.lists(st.tuples(st.sampled_from(sorted(OF)), LENGTHS, LENGTHS, LENGTHS), max_size=8)


def test_one_worker_held_by_one_run_after_the_other() -> None:
    recorded = history(OF, [run(1, "report", 0.0, 3.0), run(2, "archive", 3.0, 4.0), run(3, "fire", 4.5, 5.0)])
    delays = Timeline(recorded).delays("fire", [(1.0, 4.5, 1.0)])
    assert delays.held.tolist() == [2.0, 1.0, 0.0]
    assert delays.own.tolist() == [0.0, 0.0, 0.0]
    assert delays.free == 0.5


def test_two_workers_share_the_blame_only_while_none_is_free() -> None:
    runs = [run(1, "report", 0.0, 4.0), run(2, "archive", 2.0, 3.0, worker=1), run(3, "fire", 4.0, 5.0)]
    delays = Timeline(history(OF, runs, workers=2)).delays("fire", [(1.0, 4.0, 1.0)])
    assert delays.held.tolist() == [0.5, 0.5, 0.0]
    assert delays.free == 2.0


def test_while_a_worker_is_free_a_run_of_its_own_operators_is_in_the_way() -> None:
    runs = [run(1, "fire", 0.0, 1.0, 3.0), run(2, "fire", 3.0, 4.0)]
    delays = Timeline(history(OF, runs)).delays("fire", [(0.5, 3.0, 1.0)])
    assert delays.held.tolist() == [0.5, 0.0]
    assert delays.own.tolist() == [2.0, 0.0]
    assert delays.free == 0.0


def test_more_workers_from_some_time_on() -> None:
    runs = [run(1, "report", 0.0, 4.0), run(2, "fire", 4.0, 5.0)]
    recorded = history(OF, runs)
    later = history(OF, [], workers=2).settings[0]
    recorded.settings.append(type(later)(2.0, 0.0, later.header))
    delays = Timeline(recorded).delays("fire", [(1.0, 4.0, 1.0)])
    assert (delays.held.tolist(), delays.free) == ([1.0, 0.0], 2.0)


@given(RUNS, st.integers(1, 3), st.lists(st.tuples(LENGTHS, LENGTHS, st.integers(1, 5)), max_size=5))
def test_delays_are_the_whole_wait(
    drawn: list[tuple[str, float, float, float]], workers: int, waits: list[tuple[float, float, int]]
) -> None:
    runs = [
        run(number, query, began, began + takes, began + takes + commits)
        for number, (query, began, takes, commits) in enumerate(drawn)
    ]
    spans = [(since, since + lasts, float(count)) for since, lasts, count in waits]
    recorded = history(OF, runs, workers=workers)
    delays = Timeline(recorded).delays("fire", spans)
    whole = sum((upto - since) * count for since, upto, count in spans)
    assert delays.by_run.sum() + delays.free == pytest.approx(whole, abs=1e-9)
    assert delays.by_run.min(initial=0.0) >= 0.0
    for place, one in enumerate(recorded.runs):
        most = sum(max(0.0, min(one.ended, upto) - max(one.began, since)) * count for since, upto, count in spans)
        assert delays.by_run[place] <= most + 1e-9


def test_nothing_has_run() -> None:
    assert Timeline(History()).delays("fire", [(0.0, 1.0, 1.0)]).free == 1.0
