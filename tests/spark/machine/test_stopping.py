"""Stopping a query: a run that takes long is cancelled, and what was committed is delivered first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.machine.standin import StandIn, query, with_a_run

from headgate.model import HeadgateError
from headgate.plan.fusion import Fuse
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.commands import STOP_PATIENCE as PATIENCE
from headgate.spark.machine.delivery import PATIENCE as DELIVERY_PATIENCE


@pytest.fixture
def engine() -> StandIn:
    return with_a_run()


def cancelled_after(engine: StandIn, seconds: float) -> list[str]:
    """Time passes: the labels of the runs that are cancelled, which is answered at once."""
    under_way, engine.pending = engine.pending, []
    engine.now += seconds
    engine.handle(m.TimePassed())
    labels = [task.label for task in engine.pending if isinstance(task, t.CancelRun)]
    engine.answer_all()
    engine.pending = under_way
    return labels


def test_its_run_is_cancelled_if_it_takes_long(engine: StandIn) -> None:
    (run,) = engine.pending
    assert isinstance(run, t.Evaluate)
    ticket = engine.ask(m.Stop, "q")
    assert cancelled_after(engine, PATIENCE - 0.1) == []
    assert cancelled_after(engine, 0.2) == [run.label]
    engine.handle(m.Answer(engine.pending.pop(), error=t.RunCancelledError("it was cancelled")))
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert engine.machine.views.overview().queries == ()
    assert engine.machine.views.overview().cancelled_runs == 0  # it gave way to nothing
    assert engine.sinks == {}


def test_a_run_that_ends_soon_counts(engine: StandIn) -> None:
    ticket = engine.ask(m.Stop, "q")
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert len(engine.sinks["q"]) == 5
    assert cancelled_after(engine, PATIENCE) == []


def test_a_run_that_ended_although_it_was_cancelled_counts(engine: StandIn) -> None:
    ticket = engine.ask(m.Stop, "q")
    assert len(cancelled_after(engine, PATIENCE)) == 1
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert len(engine.sinks["q"]) == 5


def test_a_run_that_did_not_end_is_cancelled_again(engine: StandIn) -> None:
    ticket = engine.ask(m.Stop, "q")
    assert len(cancelled_after(engine, PATIENCE)) == 1
    assert len(cancelled_after(engine, PATIENCE)) == 1
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert cancelled_after(engine, PATIENCE) == []


def test_the_last_run_of_a_query_that_has_an_end_is_waited_for(engine: StandIn) -> None:
    engine.machine.commands.stop_if_there(engine.machine.context.lives["q"])
    assert cancelled_after(engine, 2 * PATIENCE) == []
    engine.answer_all()
    assert len(engine.sinks["q"]) == 5
    assert engine.machine.views.overview().queries == ()


def test_a_run_for_others_goes_on() -> None:
    engine = StandIn()
    engine.machine.scheduling.scheduler.fuse = Fuse.CLASS
    for number, name in enumerate("qr"):
        engine.ask(m.AddQuery, query(name, f"SELECT id FROM a WHERE id > {number}"))
    engine.answer_all()
    engine.append("a", 5)
    (run,) = engine.pending
    assert isinstance(run, t.Evaluate)
    assert {portion.name for group in run.groups for portion in group} == {"q", "r"}
    tickets = [engine.ask(m.Stop, "q")]
    assert cancelled_after(engine, PATIENCE) == []
    tickets.append(engine.ask(m.Stop, "r"))
    assert set(cancelled_after(engine, PATIENCE)) == {run.label}
    engine.answer_all()
    assert [engine.replies[ticket].error for ticket in tickets] == [None, None]


# -- what was committed is delivered first ---------------------------------------------------------------------


def stopped_before_delivery(sink: str = "parquet", call: object = None) -> tuple[StandIn, int]:
    """An engine whose query has been stopped while its sink takes results, and the ticket of the command."""
    engine = StandIn()
    engine.ask(m.AddQuery, replace(query("q", "SELECT id FROM a"), sink=sink), None, None, "files", 0.0, call)
    engine.answer_all()
    engine.append("a", 5)
    engine.answer(t.Evaluate)
    engine.answer(t.WriteCommit)
    ticket = engine.ask(m.Stop, "q")
    engine.answer(t.WriteCommit)
    assert [type(task) for task in engine.pending] == [t.Deliver]
    return engine, ticket


def test_stopping_ends_when_its_results_are_where_they_belong() -> None:
    engine, ticket = stopped_before_delivery()
    assert ticket not in engine.replies
    assert [view.state for view in engine.machine.views.overview().queries] == ["stopped"]
    engine.answer(t.Deliver)
    assert ticket not in engine.replies, "the sink is still open, and may write"
    engine.answer(t.CloseSink)
    assert engine.replies[ticket].error is None
    assert len(engine.sinks["q"]) == 5


def test_stopping_ends_when_its_sink_refuses_results() -> None:
    engine, ticket = stopped_before_delivery()
    engine.handle(m.Answer(engine.take(t.Deliver), error=HeadgateError("the disk is full")))
    assert engine.replies[ticket].error is None
    engine.answer_all()


def test_stopping_does_not_wait_for_ever_for_a_sink() -> None:
    engine, ticket = stopped_before_delivery()
    engine.now += DELIVERY_PATIENCE + 0.1
    engine.handle(m.TimePassed())
    assert engine.replies[ticket].error is None
    engine.answer_all()
    assert len(engine.sinks["q"]) == 5


def test_stopping_does_not_wait_for_a_function_of_the_user() -> None:
    """The function may be what stops the query."""
    engine, ticket = stopped_before_delivery("callback", print)
    assert engine.replies[ticket].error is None
    engine.answer_all()


def test_a_new_query_of_the_name_waits_until_the_former_one_is_gone() -> None:
    """Else it would not be checked against the files that are about to be written."""
    engine, ticket = stopped_before_delivery()
    again = engine.ask(m.AddQuery, query("q", "SELECT id, v FROM a"))
    assert [type(task) for task in engine.pending] == [t.Deliver], "it is not being checked yet"
    engine.answer(t.Deliver)
    engine.answer(t.CloseSink)
    assert engine.replies[ticket].error is None
    engine.answer_all()
    assert engine.replies[again].error is None
    assert len(engine.sinks["q"]) == 5


@pytest.mark.parametrize("together", [False, True])
def test_results_that_were_refused_do_not_come_among_those_with_other_columns(together: bool) -> None:
    engine, _ = stopped_before_delivery()
    engine.handle(m.Answer(engine.take(t.Deliver), error=HeadgateError("no such folder")))
    other = query("q", "SELECT id, v FROM a")
    ticket = engine.ask(m.AddQueries, (m.AddQuery(0, other),)) if together else engine.ask(m.AddQuery, other)
    engine.answer_all()
    assert "results of a former query 'q' with other columns are still to be written" in str(
        engine.replies[ticket].error
    )
    assert engine.machine.views.overview().queries == ()
    same = engine.ask(m.AddQuery, query("q", "SELECT id FROM a"))
    engine.answer_all()
    assert engine.replies[same].error is None
