"""Queries come back from the commits of an earlier engine: as they were, or waiting for what cannot be stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.model import HeadgateError, Query
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.lifecycle import Life, QueryState

SQL = "SELECT id FROM a"
P = query("p", SQL)
CALLED = replace(P, sink="callback")
POLICIES = ("hnr", "chain")  # whole queries, and queries that are cut


def receive(results: Any) -> None:
    """A callback."""


def started(*command: Any, policy: str = "hnr") -> StandIn:
    engine = StandIn()
    for each in ((m.SetPolicy, policy), command or (m.AddQuery, P)):
        assert answered(engine, *each) == ""
    return engine


def answered(engine: StandIn, *command: Any) -> str:
    ticket = engine.ask(*command)
    engine.answer_all()
    return str(engine.replies[ticket].error or "")


def called(given: Query = CALLED, start: float | None = None, end: float | None = None) -> tuple[Any, ...]:
    """The command that gives a query with its callback."""
    return m.AddQuery, given, start, end, "sink-p", 0.0, receive


def life(engine: StandIn, name: str = "p") -> Life:
    return engine.machine.context.lives[name]


# -- declared again --------------------------------------------------------------------------------------------


def test_the_same_query_may_be_declared_again_and_another_is_refused() -> None:
    engine = started()
    number = engine.number
    assert answered(engine, m.AddQuery, P) == ""
    error = answered(engine, m.AddQuery, query("p", "SELECT id FROM b", "high"))
    assert error.startswith(
        "query 'p' exists already with sql 'SELECT id FROM a', class 'low', "
        "declared now with sql 'SELECT id FROM b', class 'high'"
    )
    assert engine.number == number


def test_a_query_declared_twice_at_once_is_started_once() -> None:
    engine = StandIn()
    tickets = [engine.ask(m.AddQuery, P), engine.ask(m.AddQuery, P), engine.ask(m.AddQuery, query("p", SQL, "high"))]
    engine.answer_all()
    errors = [str(engine.replies[ticket].error or "") for ticket in tickets]
    assert errors[:2] == ["", ""]
    assert "class 'low', declared now with class 'high'" in errors[2]
    assert [each.query for each in engine.machine.delivery.outboxes.values()] == ["p"]


def test_a_query_is_declared_again_with_its_own_callback_only() -> None:
    engine = started(*called())
    assert answered(engine, *called()) == ""
    command = *called()[:-1], lambda results: None
    assert "exists already, with a callback of its own" in answered(engine, *command)


def test_a_query_whose_start_fails_leaves_no_commit() -> None:
    engine = StandIn()
    ticket = engine.ask(m.AddQuery, P)
    engine.answer_all(fail=1)
    assert "made to fail" in str(engine.replies[ticket].error)
    assert (engine.descriptions, dict(engine.machine.context.lives)) == ({}, {})


def test_a_query_that_is_committed_and_cannot_be_removed_stays_suspended() -> None:
    """It failed after the commit that describes it, and the commit that would remove it failed too."""
    engine = StandIn()
    ticket = engine.ask(m.AddQuery, P)
    engine.answer(t.CheckQuery)
    preparing = engine.take(t.Prepare)
    prepared = engine.perform(preparing)
    prepared.error = HeadgateError("no such file")
    engine.handle(m.Answer(preparing, prepared))
    engine.answer_all(fail=0)
    assert engine.replies[ticket].error is None
    assert (life(engine).state, life(engine).error) == (QueryState.SUSPENDED, "no such file")
    assert answered(engine, m.Resume, "p") == ""
    assert life(engine).state is QueryState.RUNNING


# -- paused, moved ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_a_paused_query_comes_back_paused_and_goes_on_where_it_stood(policy: str) -> None:
    engine = started(policy=policy)
    engine.append("a", 3)
    engine.answer_all()
    assert answered(engine, m.Pause, "p") == ""
    engine.append("a", 2)
    later = engine.restarted()
    assert (life(later).state, later.sinks) == (QueryState.PAUSED, {})
    assert answered(later, m.Move, "p", "high") == ""
    later = later.restarted()
    assert (life(later).state, life(later).query.query_class) == (QueryState.PAUSED, "high")
    assert "cut" in later.descriptions["p"] or policy == "hnr"
    assert answered(later, m.Resume, "p") == ""
    assert [offset for _, offset in later.sinks["p"]] == [3, 4]
    assert life(later.restarted()).state is QueryState.RUNNING


def test_a_pause_that_fails_leaves_what_commits_say() -> None:
    """They say that it is paused, since a resume failed: the next resume must commit that it is not."""
    engine = started()
    assert answered(engine, m.Pause, "p") == ""
    for command in (m.Resume, m.Pause):
        ticket = engine.ask(command, "p")
        engine.answer_all(fail=0)
        assert "made to fail" in str(engine.replies[ticket].error)
        assert life(engine).state is QueryState.SUSPENDED
    assert answered(engine, m.Resume, "p") == ""
    assert life(engine.restarted()).state is QueryState.RUNNING


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("start", [None, 100.0])
def test_commands_that_wait_for_the_start_come_after_its_commits(policy: str, start: float | None) -> None:
    """What commits say in the end is what the query is."""
    engine = StandIn()
    assert answered(engine, m.SetPolicy, policy) == ""
    engine.ask(m.AddQuery, P, start)
    commands = [(m.Resume, "p"), (m.Pause, "p"), (m.Resume, "p")]
    for command in commands:
        engine.ask(*command)
    engine.answer_all()
    assert life(engine).state is QueryState.RUNNING
    assert engine.descriptions["p"] == life(engine).description()
    assert ("cut" in engine.descriptions["p"], "paused" in engine.descriptions["p"]) == (policy == "chain", False)


def test_a_one_time_query_with_other_sql_comes_back_as_a_continuous_one() -> None:
    engine = StandIn()
    engine.append("a", 3)
    engine.machine.runs.held = True
    for command in (
        (m.AddQuery, query("p", SQL, once=True)),
        (m.Pause, "p"),
        (m.Replace, query("p", "SELECT id FROM a WHERE v > 1", once=True)),
    ):
        assert answered(engine, *command) == ""
    later = engine.restarted()
    assert (life(later).state, life(later).query.once) == (QueryState.PAUSED, False)


def test_a_cut_query_that_is_done_has_positions_in_its_streams_only() -> None:
    """Otherwise other SQL, which it may get if its sink refuses results, looks for streams of its fragment logs."""
    engine = StandIn()
    engine.append("a", 3)
    engine.machine.runs.held = True
    assert answered(engine, m.AddQuery, query("p", SQL, once=True)) == ""
    leaves = set(life(engine).positions)
    life(engine).positions[(7,)] = 3  # as in the log of a fragment
    assert answered(engine, m.Begin) == ""
    assert life(engine).state is QueryState.DONE
    assert set(life(engine).positions) == leaves
    engine.machine.runs.suspend(life(engine), "its sink failed")
    assert answered(engine, m.Replace, query("p", "SELECT id FROM b")) == ""


# -- scheduled -------------------------------------------------------------------------------------------------


def test_a_scheduled_query_is_committed_and_begins_at_its_start_after_a_restart() -> None:
    engine = started(m.AddQuery, P, 100.0)
    assert (engine.descriptions["p"]["begins"], "starts" in engine.descriptions["p"]) == (100.0, False)
    later = engine.restarted()
    assert life(later).state is QueryState.SCHEDULED
    assert later.descriptions == engine.descriptions
    later.now = 100.0
    assert answered(later, m.IsDrained) == ""
    assert life(later).state is QueryState.RUNNING
    assert ("begins" in later.descriptions["p"], "starts" in later.descriptions["p"]) == (False, True)


def test_a_scheduled_query_whose_start_passed_meanwhile_begins_at_once() -> None:
    engine = started(m.AddQuery, P, 100.0)
    engine.now = 200.0
    assert life(engine.restarted()).state is QueryState.RUNNING


def test_a_scheduled_query_that_cannot_be_committed_is_refused() -> None:
    engine = StandIn()
    before = engine.seen()
    ticket = engine.ask(m.AddQuery, P, 100.0)
    engine.answer_all(fail=1)
    assert "made to fail" in str(engine.replies[ticket].error)
    assert engine.seen() == before


def test_a_scheduled_query_whose_first_commit_failed_has_not_begun() -> None:
    engine = started(m.AddQuery, P, 100.0)
    engine.now = 100.0
    engine.handle(m.TimePassed())
    engine.answer_all(fail=0)
    assert (life(engine).state, life(engine).error) == (QueryState.INCOMPLETE, "it was made to fail")
    assert answered(engine, m.Resume, "p") == ""
    assert "starts" in engine.descriptions["p"]


def test_a_scheduled_query_has_not_begun_because_spark_was_restarted() -> None:
    engine = started(m.AddQuery, P, 100.0)
    engine.handle(m.SparkDied("it was killed"))
    engine.answer_all()
    assert answered(engine, m.Move, "p", "high") == ""
    assert (engine.descriptions["p"]["begins"], "starts" in engine.descriptions["p"]) == (100.0, False)
    assert life(engine.restarted()).state is QueryState.SCHEDULED


def test_a_scheduled_query_gets_other_sql_or_keeps_its_own() -> None:
    engine = started(m.AddQuery, P, 100.0)
    ticket = engine.ask(m.Replace, query("p", "SELECT id FROM b"))
    engine.answer_all(fail=1)
    assert "made to fail" in str(engine.replies[ticket].error)
    assert (engine.descriptions["p"]["sql"], life(engine).query.sql) == (SQL, SQL)
    assert answered(engine, m.Replace, query("p", "SELECT id FROM b")) == ""
    later = engine.restarted()
    assert (life(later).state, life(later).query.sql) == (QueryState.SCHEDULED, "SELECT id FROM b")


# -- incomplete ------------------------------------------------------------------------------------------------


def test_a_query_without_its_callback_waits_for_it() -> None:
    engine = started(*called())
    engine.append("a", 3)
    engine.answer_all()
    later = engine.restarted()
    later.append("a", 2)
    later.answer_all()
    assert (life(later).state, life(later).error) == (QueryState.INCOMPLETE, "waits for its callback")
    assert later.sinks == {}
    assert answered(later, m.Resume, "p") == "query 'p' waits for its callback; declare that again"
    assert "cannot pause" in answered(later, m.Pause, "p")
    assert answered(later, *called()) == ""
    assert [offset for _, offset in later.sinks["p"]] == [3, 4]


def test_an_incomplete_query_is_completed_only_as_it_was_declared() -> None:
    later = started(*called()).restarted()
    before = later.seen()
    error = answered(later, *called(replace(CALLED, query_class="high")))
    assert "class 'low', declared now with class 'high'" in error
    assert later.seen() == before


def test_an_incomplete_query_can_be_stopped() -> None:
    later = started(*called()).restarted()
    assert answered(later, m.Stop, "p") == ""
    assert (later.descriptions, later.machine.context.remembered) == ({}, {})


def test_an_incomplete_query_keeps_its_start_and_its_end() -> None:
    """They are seconds from when it was first declared."""
    given = replace(CALLED, start=99.0, end=199.0)
    engine = started(*called(given, 100.0, 200.0))
    later = engine.restarted()
    later.now = 50.0
    assert answered(later, *called(given, 149.0, 249.0)) == ""
    assert (life(later).state, life(later).begins, life(later).ends) == (QueryState.SCHEDULED, 100.0, 200.0)
    assert later.descriptions == engine.descriptions
    later.now = 200.0
    later.answer_all()
    assert answered(later, m.IsDrained) == ""
    assert later.descriptions == {}


def test_a_query_that_waits_for_two_tables_goes_on_after_the_second() -> None:
    engine = started()
    later = StandIn(descriptions=engine.descriptions, catalog=engine.catalog, positions=engine.positions)
    lacks = ("table 'rooms'", "table 'floors'")
    assert answered(later, m.AddQuery, P, None, None, "files", 0.0, None, lacks) == ""
    assert life(later).error == "waits for table 'rooms' and table 'floors'"
    assert answered(later, m.DeclareTable, "rooms", {"path": "r"}) == ""
    assert (life(later).state, life(later).error) == (QueryState.INCOMPLETE, "waits for table 'floors'")
    assert answered(later, m.DeclareTable, "floors", {"path": "f"}, True) == ""  # it is there, but absent
    assert life(later).state is QueryState.INCOMPLETE
    assert answered(later, m.DeclareTable, "floors", {"path": "f"}) == ""
    assert life(later).state is QueryState.RUNNING


def test_a_query_that_spark_refuses_after_a_restart_stays_and_can_be_tried_again() -> None:
    engine = started()
    later = StandIn(descriptions=engine.descriptions, catalog=engine.catalog, positions=engine.positions)
    ticket = later.ask(m.AddQuery, P)
    later.answer_all(fail=0)
    assert "made to fail" in str(later.replies[ticket].error)
    assert life(later).state is QueryState.INCOMPLETE
    assert later.descriptions == engine.descriptions
    assert answered(later, m.Resume, "p") == ""
    assert life(later).state is QueryState.RUNNING


def test_a_query_during_whose_check_spark_died_starts_when_spark_is_back() -> None:
    engine = started()
    later = StandIn(descriptions=engine.descriptions, catalog=engine.catalog, positions=engine.positions)
    later.ask(m.AddQuery, P)
    later.handle(m.Answer(later.take(t.CheckQuery), error=SparkGoneError("Spark's process is gone")))
    assert life(later).state is QueryState.INCOMPLETE
    later.answer_all()
    assert life(later).state is QueryState.RUNNING


def test_results_that_recovery_could_not_deliver_are_delivered_when_their_query_is_back() -> None:
    engine = started()
    later = StandIn(descriptions=engine.descriptions, catalog=engine.catalog, positions=engine.positions)
    later.machine.delivery.add_undelivered("p", "parquet", [(1, ["row"], 10)])
    assert answered(later, m.AddQuery, P) == ""
    assert later.sinks == {"p": ["row"]}


def test_results_of_a_former_query_of_the_name_go_to_files_of_their_own_kind() -> None:
    engine = StandIn()
    engine.machine.delivery.add_undelivered("p", "jsonl", [(1, ["row"], 10)])
    engine.ask(m.AddQuery, P)
    engine.answer(t.CheckQuery)
    delivery = engine.take(t.Deliver)
    assert (delivery.sink, delivery.batch) == ("jsonl", ((1, ["row"]),))


def test_a_scheduled_query_takes_no_dead_letters_of_a_former_query_of_its_name_for_its_own() -> None:
    engine = started(m.AddQuery, P, 100.0)
    for since, begun in ((50.0, False), (150.0, True)):
        later = StandIn(descriptions=engine.descriptions, catalog=engine.catalog, positions=engine.positions, now=since)
        later.ask(m.AddQuery, P, 100.0)
        assert later.take(t.CheckQuery).remembered is False
        engine.now = since
        assert answered(engine, m.IsDrained) == ""
        assert ("starts" in engine.descriptions["p"]) is begun
    later = StandIn(descriptions=engine.descriptions, catalog=engine.catalog, positions=engine.positions)
    later.ask(m.AddQuery, P)
    assert later.take(t.CheckQuery).remembered is True


def test_other_sql_changes_nothing_else_of_a_query() -> None:
    engine = started()
    given = replace(query("p", "SELECT id FROM b"), end=60.0, lag="skip, tuples=3", once=True)
    assert answered(engine, m.Replace, given) == ""
    assert life(engine).query == query("p", "SELECT id FROM b")


def test_no_run_starts_before_begin() -> None:
    engine = StandIn()
    engine.machine.runs.held = True
    assert answered(engine, m.AddQuery, P) == ""
    engine.append("a", 3)
    engine.answer_all()
    assert engine.sinks == {}
    assert answered(engine, m.Begin) == ""
    assert len(engine.sinks["p"]) == 3
