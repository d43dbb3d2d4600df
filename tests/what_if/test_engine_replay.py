"""Replays of an engine's history: workers, commits, windows, groups, added queries."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.what_if.engine_history import LAG, RATE, SECONDS, SHARES, SLIDE, engine_history, query

from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import Replay, replay
from headgate.what_if.response_times import ResponseTimes
from headgate.what_if.similar import most_similar

POLICIES = ("fcfs", "mbd", "hnr", "express")


@cache
def learned() -> Learned:
    return Learned.of(engine_history())


class Watched(Replay):
    """A replay that writes down what runs, and when."""

    def __init__(self, policy: str | None, changed: Changed) -> None:
        super().__init__(learned(), policy, changed, ResponseTimes())
        self.intervals: list[tuple[str, float, float, float, int]] = []  # unit, began, evaluated, ended, tuples
        self.run()

    def _start(self, run: Any, now: float) -> None:
        super()._start(run, now)
        executed = self._active[run.worker].executed
        evaluated = now + executed.seconds
        self.intervals.append((str(run.units[0]), now, evaluated, evaluated + executed.commit, run.tuples))


@settings(max_examples=12, deadline=None)
@given(
    policy=st.sampled_from([*POLICIES, None]),
    workers=st.integers(1, 4),
    fuse=st.sampled_from([None, *Fuse]),
    rate=st.sampled_from([0.5, 1.0, 2.0]),
    seed=st.integers(0, 5),
)
def test_workers_and_units_do_one_thing_at_a_time(
    policy: str | None, workers: int, fuse: Fuse | None, rate: float, seed: int
) -> None:
    watched = Watched(policy, Changed(fuse=fuse, workers=workers, rate=rate, seed=seed))
    assert watched.intervals
    for unit, began, _, _, _ in watched.intervals:
        running = [one for one in watched.intervals if one[1] <= began < one[2] - 1e-9]
        assert len(running) <= workers + 1  # those that give way end earlier than they were to
        if policy != "express":
            assert len(running) <= workers
            assert sum(one[0] == unit for one in watched.intervals if one[1] <= began < one[3] - 1e-9) == 1


def test_windows_hold_their_tuples_until_they_close() -> None:
    first, *counts = [one for one in Watched("fcfs", Changed()).intervals if one[0] == "count"]
    assert first[1] >= LAG
    assert len(counts) == SECONDS // SLIDE - 1
    for _, began, _, _, tuples in counts:
        assert (began - LAG) % SLIDE < 0.5
        assert tuples == pytest.approx(RATE * SLIDE, rel=0.2)


@pytest.mark.parametrize("policy", POLICIES)
def test_as_many_results_come_as_were_recorded(policy: str) -> None:
    found = replay(learned(), policy, Changed())
    expected = (SHARES["hot"] + SHARES["cold"]) * RATE * SECONDS
    assert found.classes["high"].results == pytest.approx(expected, rel=0.1)


def test_queries_of_one_form_share_a_run() -> None:
    apart = {one[0] for one in Watched("fcfs", Changed(fuse=Fuse.OFF)).intervals}
    together = {one[0] for one in Watched("fcfs", Changed(fuse=Fuse.CLASS)).intervals}
    assert apart == {"hot", "cold", "all", "count"}
    assert len(together) == 3


def test_an_added_query_has_the_results_of_one_like_it() -> None:
    more = query("warm", "high", "SELECT k FROM s WHERE v > 8")
    assert most_similar(more, learned().settings.last.queries.values()).name in ("cold", "hot")
    usual, added = (replay(learned(), "fcfs", Changed(added=queries)) for queries in ((), (more,)))
    assert added.classes["high"].results == pytest.approx(1.5 * usual.classes["high"].results, rel=0.1)


def test_an_added_query_with_windows_waits_for_them() -> None:
    more = query("sums", "low", "SELECT k, sum(v) AS v FROM s GROUP BY window(ts, '2 seconds'), k")
    sums = [one for one in Watched("fcfs", Changed(added=(more,))).intervals if one[0] == "sums"]
    assert 4 <= len(sums) <= 6


def test_policies_of_operators_are_refused() -> None:
    with pytest.raises(HeadgateError, match="policy 'fifo' schedules operators"):
        replay(learned(), "fifo", Changed())


def test_the_same_seed_gives_the_same() -> None:
    assert replay(learned(), "mbd", Changed(seed=3)) == replay(learned(), "mbd", Changed(seed=3))


def test_a_history_without_settings_or_of_another_version_is_refused() -> None:
    history = engine_history()
    setting = history.settings.pop()
    with pytest.raises(HeadgateError, match="does not tell what was scheduled"):
        Learned.of(history)
    history.settings.append(type(setting)(0.0, 0.0, {**setting.header, "trace": 99}))
    with pytest.raises(HeadgateError, match="of another version; record it again"):
        Learned.of(history)


def test_a_class_that_was_declared_meanwhile_has_its_other_priority_too() -> None:
    """A young engine: its first setting knows nothing but the first class."""
    whole = engine_history()
    first = whole.settings[0]
    known = [one for one in first.header["classes"] if one["name"] == "high"]
    queries = [one for one in first.header["queries"] if one["query_class"] == "high"]
    young = replace(first, header={**first.header, "classes": known, "queries": queries})
    history = replace(whole, settings=[young, replace(first, at=first.at + 0.01)])
    made = Replay(Learned.of(history), "mbd", Changed(priorities={"low": 600.0}), ResponseTimes())
    assert "low" not in made.scheduler.network.classes
    made.run()
    assert made.scheduler.network.classes["low"].priority == 600.0
