"""Lag limits: which query makes a source wait, and which one skips its backlog."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.machine.standin import StandIn, query

from headgate.model import QueryClass
from headgate.spark.machine import messages as m

SQL = "SELECT id FROM a"


def engine(**lags: str) -> StandIn:
    """An engine with paused queries that have these lag limits."""
    standin = StandIn()
    for name, lag in lags.items():
        standin.ask(m.AddQuery, replace(query(name, SQL), lag=lag))
        standin.answer_all()
        standin.ask(m.Pause, name)
    return standin


def test_a_source_waits_for_the_query_that_is_at_its_limit() -> None:
    standin = engine(patient="wait, tuples=10", strict="wait, tuples=3")
    lag_limits = standin.machine.lag_limits
    assert lag_limits.sources_may_wait
    standin.append("a", 2)
    assert lag_limits.lagging_query("a") is None
    ticket = standin.ask(m.WaitForRoom, "a")
    assert ticket in standin.replies
    standin.append("a", 1)
    assert lag_limits.lagging_query("a") == "strict"
    waiting = standin.ask(m.WaitForRoom, "a")
    standin.answer_all()
    assert waiting not in standin.replies
    standin.ask(m.Stop, "strict")
    standin.answer_all()
    assert standin.replies[waiting].error is None


def test_a_caller_that_no_longer_waits_gets_no_reply() -> None:
    standin = engine(strict="wait, tuples=1")
    standin.append("a", 1)
    ticket = standin.ask(m.WaitForRoom, "a")
    standin.handle(m.CancelWait(ticket))
    standin.ask(m.Stop, "strict")
    standin.answer_all()
    assert ticket not in standin.replies


def test_a_query_that_skips_jumps_to_the_end_and_counts_the_skipped_tuples() -> None:
    standin = engine(hasty="skip, tuples=3")
    assert not standin.machine.lag_limits.sources_may_wait
    life = standin.machine.context.lives["hasty"]
    standin.append("a", 3)
    standin.answer_all()
    assert (life.skipped, list(life.positions.values())) == (0, [0])
    standin.append("a", 1)
    standin.answer_all()
    assert (life.skipped, list(life.positions.values()), life.state) == (4, [4], "paused")
    assert list(standin.positions["hasty"].values()) == [4]  # committed


def test_the_limit_of_a_class_holds_for_its_queries() -> None:
    standin = engine()
    standin.ask(m.DeclareClass, QueryClass("limited", 1.0, "wait, tuples=2"))
    standin.answer_all()
    standin.ask(m.AddQuery, query("q", SQL, "limited"))
    standin.answer_all()
    standin.ask(m.Pause, "q")
    standin.answer_all()
    standin.append("a", 2)
    assert standin.machine.lag_limits.lagging_query("a") == "q"
    standin.ask(m.Move, "q", "low")
    assert standin.machine.lag_limits.lagging_query("a") is None
