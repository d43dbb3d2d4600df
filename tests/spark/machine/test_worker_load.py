"""What the workers' time goes to: sums of half seconds agree with the intervals themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.machine.standin import StandIn, query

from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.recent_results import RECENT
from headgate.spark.machine.views import Overview
from headgate.spark.machine.worker_load import BIN, WorkerLoad

WORK = st.lists(st.tuples(st.floats(0.0, 8.0), st.floats(0.0, 15.0), st.sampled_from("ab")), max_size=12)


@given(WORK, st.floats(0.0, 30.0))
def test_shares_are_those_of_the_intervals(work: list[tuple[float, float, str]], later: float) -> None:
    """One worker after the other, so that nothing is cut off at 1."""
    load, now, done = WorkerLoad(workers=1), 1000.0, []
    load.decided(now, 0)
    for pause, length, name in work:
        number = load.began(now + pause, ("", name))
        load.ended(number, now + pause + length)
        done.append((now + pause, now + pause + length, name))
        now += pause + length
    now += later
    begin = max(1000.0, (now - RECENT) // BIN * BIN)
    found = load.now(now)
    for name in "ab":
        busy = sum(max(0.0, min(last, now) - max(first, begin)) for first, last, who in done if who == name)
        share = busy / (now - begin) if now > begin else 0.0
        assert found.of_class(name) == pytest.approx(share, abs=1e-6)
    assert found.running == pytest.approx(found.of_class("a") + found.of_class("b"), abs=1e-6)


def test_work_under_way_counts_until_now() -> None:
    load = WorkerLoad(workers=2)
    load.began(100.0, ("acme", "low"))
    load.began(102.0, None)  # the cutting of a query is for no class
    found = load.now(104.0)
    assert found.shares == {("acme", "low"): 0.5}
    assert found.running == pytest.approx(0.75)
    assert (found.of_class("low", "acme"), found.of_class("low", "rival"), found.of_space("acme")) == (0.5, 0.0, 0.5)


def test_decisions_are_forgotten_after_ten_seconds() -> None:
    load = WorkerLoad(workers=1)
    load.decided(100.0, 40)
    assert load.now(108.0).decisions_per_second == 5.0
    assert load.now(120.0).decisions_per_second == 0.0
    assert load.now(1e6).running == 0.0


def test_a_machine_tells_its_load() -> None:
    machine = StandIn()
    for name in "pqr":
        machine.ask(m.AddQuery, query(name, "SELECT id FROM a", "high" if name == "p" else "low"))
    machine.answer_all()
    machine.now = 100.0
    machine.append("a", 3)  # two workers, three queries
    machine.now = 104.0
    found: Overview = machine.replies[machine.ask(m.DescribeAll)].value
    assert found.load.queued == 1
    assert found.load.running == pytest.approx(4.0 / 10.0, abs=0.03)
    assert sum(found.load.shares.values()) == pytest.approx(found.load.running)
    assert found.load.decisions_per_second > 0
    machine.answer(t.Evaluate)
    machine.now = 200.0
    machine.answer_all()
    machine.now = 300.0
    idle: Overview = machine.replies[machine.ask(m.DescribeAll)].value
    assert (idle.load.running, idle.load.queued) == (0.0, 0)
