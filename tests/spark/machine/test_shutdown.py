"""Closing with a limit: runs that take too long are cancelled or left behind, and nothing of them counts."""

from __future__ import annotations

import pytest
from tests.spark.machine.standin import StandIn, with_a_run

from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.shutdown import GRACE

PATIENCE = 3.0


@pytest.fixture
def engine() -> StandIn:
    return with_a_run()


def after(engine: StandIn, seconds: float) -> list[type[t.Task]]:
    """Time passes, and all tasks but the given ones are answered: their kinds."""
    under_way, engine.pending = engine.pending, []
    engine.now += seconds
    engine.handle(m.TimePassed())
    answered = [type(task) for task in engine.pending]
    engine.answer_all()
    engine.pending = under_way
    return answered


def test_without_a_limit_it_waits_for_runs(engine: StandIn) -> None:
    ticket = engine.ask(m.Close, PATIENCE)
    after(engine, 1000.0)
    assert ticket not in engine.replies
    engine.answer_all()
    assert engine.replies[ticket].value == []
    assert len(engine.sinks["q"]) == 5


def test_a_run_that_takes_too_long_is_cancelled_and_its_tuples_wait(engine: StandIn) -> None:
    ticket = engine.ask(m.Close, PATIENCE, PATIENCE)
    assert after(engine, PATIENCE - 0.1) == []
    assert after(engine, 0.2) == [t.CancelRuns]
    engine.handle(m.Answer(engine.pending.pop(0), error=t.RunCancelledError("it was cancelled")))
    engine.answer_all()
    assert engine.replies[ticket].error is None
    (view,) = engine.machine.views.overview().queries
    assert (view.state, view.error, view.waiting, view.tuples_in) == ("running", "", 5, 0)
    assert engine.sinks == {}


def test_a_run_that_does_not_even_end_when_cancelled_is_left_behind(engine: StandIn) -> None:
    ticket = engine.ask(m.Close, PATIENCE, PATIENCE)
    assert after(engine, PATIENCE) == [t.CancelRuns]
    assert ticket not in engine.replies
    after(engine, GRACE)
    assert engine.replies[ticket].error is None
    engine.answer_all()  # it ends after all
    assert engine.sinks == {}
    assert engine.machine.views.overview().queries[0].waiting == 5


def test_a_query_that_is_being_cut_is_waited_for_since_it_writes(engine: StandIn) -> None:
    engine.answer_all()
    engine.ask(m.SetPolicy, "fcfs, level=operator")
    engine.handle(m.Answer(commit := engine.pending.pop(), t.WrittenCommit(1, 1.0)))
    assert (type(commit), [type(task) for task in engine.pending]) == (t.WriteCommit, [t.Prepare])
    ticket = engine.ask(m.Close, PATIENCE, 0.0)
    after(engine, GRACE)
    assert ticket not in engine.replies
    engine.answer_all()
    assert engine.replies[ticket].error is None
