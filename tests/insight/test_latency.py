"""What results took over time: nothing is lost between steps, and parts add up."""

from __future__ import annotations

from math import ceil, fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.history.history import History
from headgate.history.records import Answer, Delivery, RunRecord
from headgate.insight.latency import latency_steps, part_lists
from headgate.insight.parts import mean_parts, results, within

NOW = 1000.0
times = st.floats(0.0, 50.0)
Run = tuple[float, float, float, float, int, float, float]
RUNS = st.lists(st.tuples(times, times, times, times, st.integers(1, 40), times, times), max_size=30)


def history(made: list[Run]) -> History:
    """Runs of `q` with what they gave: (end, commit, run, wait, results, spread, window) in seconds."""
    records: list[RunRecord | Delivery] = []
    for number, (before, commit, running, queue, count, spread, window) in enumerate(made, start=1):
        ended = NOW - before
        began = ended - commit - running
        oldest = began - queue
        mean = min(oldest + spread, ended)
        answers = {"q": Answer(count, mean if count > 1 else oldest, oldest, None, window, window)}
        records += [
            RunRecord(
                number, 0, "q", "c", ("q",), 1, oldest, began, ended - commit, ended, answers=answers, commit=number
            ),
            Delivery(ended + 1.0, "q", number),
        ]
    return History.of(records)


@given(RUNS, st.sampled_from([0.5, 5.0, 7.0, 60.0]))
def test_steps_have_every_result_once_and_parts_add_up(made: list[Run], step: float) -> None:
    found = history(made)
    steps = latency_steps(found, "q", NOW - 60.0, NOW, step)
    begin = (NOW - 60.0) // step * step  # of the first step
    chosen = [one for one in results(within(found, begin, NOW), "q") if one.run.ended > begin]
    assert sum(one.results for one in steps) == sum(result.count for result in chosen)
    whole = mean_parts(chosen)
    told = [one.means for one in steps if one.means is not None]
    for name, seconds in whole.parts.items():
        assert fsum(means.parts[name] * means.results for means in told) == pytest.approx(
            seconds * whole.results, abs=1e-6
        )
    for one in steps:
        if one.means is None:
            assert (one.results, one.p50, one.p95, one.max) == (0, None, None, None)
            continue
        assert one.p50 is not None
        assert one.p95 is not None
        assert one.max is not None
        assert 0.0 <= one.p50 <= one.p95 <= one.max + 1e-9
        assert sum(one.means.parts.values()) == pytest.approx(one.means.total)


@given(RUNS, st.sampled_from([0.5, 5.0, 7.0]), st.floats(0.0, 30.0))
def test_a_step_that_is_over_is_the_same_whenever_it_is_asked_for(made: list[Run], step: float, later: float) -> None:
    found = history(made)
    now = {one.at: one for one in latency_steps(found, "q", NOW - 60.0, NOW, step)[:-1]}
    then = {one.at: one for one in latency_steps(found, "q", NOW + later - 60.0, NOW + later, step)}
    assert all(one == then[at] for at, one in now.items() if at in then)
    assert len(now.keys() & then.keys()) >= len(now) - ceil(later / step) - 1


def test_percentiles_spread_the_results_of_a_run_about_their_mean() -> None:
    run = RunRecord(1, 0, "q", "c", ("q",), 9, 0.0, 1.0, 2.0, 2.0, answers={"q": Answer(100, 1.0, 0.0)})
    (one,) = latency_steps(History(runs=[run]), "q", 0.0, 5.0, 5.0)
    assert (one.results, one.max) == (100, 2.0)
    assert one.p50 == pytest.approx(1.0, abs=0.1)
    assert one.p95 == pytest.approx(1.9, abs=0.1)


def test_a_query_without_results_has_none_in_any_step() -> None:
    steps = latency_steps(history([(1.0, 0.0, 1.0, 1.0, 3, 0.0, 0.0)]), "other", NOW - 10.0, NOW, 5.0)
    assert [(one.at, one.results) for one in steps] == [(995.0, 0), (1000.0, 0)]
    assert part_lists(steps)["queue"] == [None, None]
