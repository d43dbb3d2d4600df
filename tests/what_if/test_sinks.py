"""Sinks in a what-if: what is learned of deliveries, and queries that wait because too much lies in their outbox."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.what_if.engine_history import engine_history

from headgate.core import Event, QueryAdded, QueryRemoved
from headgate.history.history import History
from headgate.history.records import Delivery
from headgate.spark.machine import outbox
from headgate.what_if import sinks
from headgate.what_if.learned import Learned
from headgate.what_if.question import Changed
from headgate.what_if.replay import replay
from headgate.what_if.sinks import learn_sinks, recorded_delays, without_sink_waits


def with_sink(query: str, seconds: float, behind: float = 0.0, size: int = 100, told: bool = True) -> History:
    """The history with one delivery after the other for a query: each of all that was committed until it began."""
    history = engine_history()
    committed = [run for run in history.runs if query in run.answers]
    free, place, made = 0.0, 0, []
    while place < len(committed):
        began = max(free, committed[place].ended + behind)
        taken = [run for run in committed[place:] if run.ended <= began]
        place += len(taken)
        free = began + seconds
        assert taken[-1].commit is not None
        results = sum(run.answers[query].count for run in taken)
        made.append(Delivery(free, query, taken[-1].commit, *((seconds, results * size) if told else ())))
    history.deliveries[query] = made
    return history


def test_the_limits_are_those_of_the_engine() -> None:
    assert (sinks.FULL, sinks.FILE) == (outbox.FULL, outbox.FILE)


@settings(max_examples=15, deadline=None)
@given(seconds=st.floats(0.01, 0.5), behind=st.floats(0.0, 0.5))
def test_times_of_a_sink_are_learned(seconds: float, behind: float) -> None:
    found = learn_sinks(with_sink("all", seconds, behind))["all"]
    assert found.fixed + found.per_result * 50 == pytest.approx(seconds, rel=0.05)
    assert found.behind <= behind + 1e-6
    assert found.bytes_per_result == pytest.approx(100)


def test_a_history_that_does_not_tell_how_long_sinks_took_tells_something() -> None:
    found = learn_sinks(with_sink("all", 0.2, told=False))["all"]
    assert 0.05 < found.fixed + found.per_result * 50 <= 0.25
    assert found.bytes_per_result == 0


def test_delays_after_the_commit_are_told_apart() -> None:
    history = with_sink("all", 0.3)
    learned = Learned.of(history)
    told, again = learned.recorded.sinks["low"], replay(learned, None, Changed()).sinks["low"]
    assert told.mean is not None
    assert recorded_delays(history).times(["all"]).mean == told.mean
    assert again.mean == pytest.approx(told.mean, rel=0.25)
    assert "high" not in learned.recorded.sinks
    tree = learned.recorded.to_json()["classes"]
    assert tree["low"]["sink_delay"]["mean"] == told.mean
    assert "sink_delay" not in tree["high"]


def test_quick_sinks_change_no_response_time() -> None:
    usual, beside = (
        replay(Learned.of(history), "mbd", Changed()) for history in (engine_history(), with_sink("all", 0.1))
    )
    assert usual.classes == beside.classes


def test_a_full_outbox_holds_its_query_back() -> None:
    slow = Learned.of(with_sink("all", 3.0, size=1 << 20))  # about 90 MB come before it has taken the first
    usual, held = (replay(one, None, Changed()) for one in (Learned.of(engine_history()), slow))
    waited, before = held.queries["all"].mean, usual.queries["all"].mean
    assert waited is not None
    assert before is not None
    assert waited > 2 * before
    assert held.queries["hot"].mean == pytest.approx(usual.queries["hot"].mean, rel=0.5)


def test_a_query_with_windows_is_held_back_and_goes_on() -> None:
    slow = Learned.of(with_sink("count", 3.0, size=8 << 20))
    usual, held = (replay(one, None, Changed()).queries["count"] for one in (Learned.of(engine_history()), slow))
    assert held.results > usual.results / 2
    assert held.mean is not None
    assert usual.mean is not None
    assert held.mean >= usual.mean


def test_recorded_waits_for_a_sink_are_not_replayed_as_changes() -> None:
    history = with_sink("all", 3.0, size=4 << 20)
    query = Learned.of(history).settings.last.queries["all"]
    known = learn_sinks(history)
    left: list[tuple[float, Event]] = [(5.0, QueryRemoved("all")), (6.0, QueryAdded(query))]
    assert without_sink_waits(left, history, known) == []
    small = {"all": replace(known["all"], bytes_per_result=1.0)}
    assert without_sink_waits(left, history, small) == left
    assert without_sink_waits(left, history, {}) == left
