"""Declarations and settings are answered once a commit holds them; the same may come again, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.model import ConflictError, HeadgateError, QueryClass, Stream
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import CLASSES, SETTINGS, STREAMS, TABLES

C = Stream(name="c", schema=(("id", "bigint"),))
DECLARED: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], str]] = {  # something, something else, what the error says
    STREAMS: (
        (m.DeclareStream, C, {"watermark": 1.0}),
        (m.DeclareStream, C, {"watermark": 2.0}),
        "stream 'c' exists already with watermark 1, declared now with watermark 2; declare it as it is",
    ),
    TABLES: (
        (m.DeclareTable, "t", {"path": "one"}),
        (m.DeclareTable, "t", {"path": "two"}),
        "table 't' exists already with path 'one', declared now with path 'two'; declare it as it is",
    ),
    CLASSES: (
        (m.DeclareClass, QueryClass("c", 1.0)),
        (m.DeclareClass, QueryClass("c", 2.0)),
        "class 'c' exists already with priority 1, declared now with priority 2; change it with change_class",
    ),
}
CHANGES: dict[str, tuple[Any, ...]] = {
    "policy": (m.SetPolicy, "hnr"),
    "policy of another level, and fusion": (m.SetPolicy, "chain", "all"),
    "priority": (m.ChangeClass, "low", {"priority": 3.0}),
    "class of a query": (m.Move, "p", "high"),
    "pause": (m.Pause, "p"),
}


def with_query() -> StandIn:
    engine = StandIn()
    engine.ask(m.AddQuery, query("p", "SELECT id FROM a"))
    engine.answer_all()
    return engine


def answered(engine: StandIn, *command: Any) -> str:
    """The error of a command, or nothing."""
    ticket = engine.ask(*command)
    engine.answer_all()
    return str(engine.replies[ticket].error or "")


@pytest.mark.parametrize("kind", DECLARED)
def test_the_same_may_be_declared_again_and_something_else_is_refused(kind: str) -> None:
    first, other, error = DECLARED[kind]
    engine = StandIn()
    assert answered(engine, *first) == ""
    number, before = engine.number, engine.seen()
    assert answered(engine, *first) == ""
    assert answered(engine, *other).startswith(error)
    assert isinstance(engine.replies[engine.tickets].error, ConflictError)
    assert (engine.number, engine.seen()) == (number, before)  # nothing is committed a second time
    later = engine.restarted()
    assert answered(later, *first) == ""
    assert answered(later, *other).startswith(error)
    assert later.catalog == engine.catalog


@pytest.mark.parametrize("kind", DECLARED)
def test_declarations_while_the_commit_is_under_way_share_its_answer(kind: str) -> None:
    first, other, error = DECLARED[kind]
    engine = StandIn()
    number = engine.number
    tickets = [engine.ask(*each) for each in (first, first, other, first)]
    engine.answer_all()
    errors = [str(engine.replies[ticket].error or "") for ticket in tickets]
    assert [each[: len(error)] for each in errors] == ["", "", error, ""]
    assert engine.number == number + 1


@pytest.mark.parametrize("kind", DECLARED)
def test_a_declaration_that_cannot_be_committed_leaves_nothing(kind: str) -> None:
    first, other, _ = DECLARED[kind]
    engine = StandIn()
    before = engine.seen()
    tickets = [engine.ask(*first), engine.ask(*first)]
    engine.answer_all(fail=1 if kind == STREAMS else 0)  # the first task for a stream opens its log
    assert "made to fail" in str(engine.replies[tickets[0]].error)
    if kind == STREAMS:  # the second one tries again
        assert engine.replies[tickets[1]].error is None
        return
    assert "made to fail" in str(engine.replies[tickets[1]].error)
    assert engine.seen() == before
    assert answered(engine, *other) == ""


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_answered_after_its_commit(change: str) -> None:
    engine = with_query()
    ticket = engine.ask(*CHANGES[change])
    assert ticket not in engine.replies
    engine.answer_all()
    assert engine.replies[ticket].error is None


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_cannot_be_committed_changes_nothing(change: str) -> None:
    engine = with_query()
    before = engine.seen()
    ticket = engine.ask(*CHANGES[change])
    engine.answer_all(fail=0)
    assert "made to fail" in str(engine.replies[ticket].error)
    assert engine.seen() == before


def test_settings_and_classes_come_back() -> None:
    engine = with_query()
    for change in ("policy", "priority", "class of a query"):
        assert answered(engine, *CHANGES[change]) == ""
    later = engine.restarted()
    scheduler = later.machine.scheduling.scheduler
    assert str(scheduler.policy) == "hnr"
    assert scheduler.network.classes["low"].priority == 3.0
    assert later.machine.context.lives["p"].query.query_class == "high"


def test_a_query_that_the_next_policy_cannot_schedule_is_refused_while_that_is_committed() -> None:
    """Otherwise the policy would have to be refused after its commit."""
    engine = StandIn()
    ticket = engine.ask(m.SetPolicy, "slope-slack", "all")
    writing = engine.pending.pop()
    assert "QoS" in answered(engine, m.AddQuery, query("p", "SELECT id FROM a"))
    engine.pending.append(writing)
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert engine.catalog[SETTINGS] == {"policy": "slope-slack", "fuse": "all"}
    assert list(engine.machine.context.lives) == []


def test_a_table_has_no_name_of_a_stream() -> None:
    engine = StandIn()
    with_error = answered(engine, m.DeclareTable, "A", {"path": "one"})
    assert "'a'" in with_error
    assert isinstance(engine.replies[engine.tickets].error, ConflictError)
    assert TABLES not in engine.catalog


def test_an_unknown_class_has_no_priority() -> None:
    engine = StandIn()
    ticket = engine.ask(m.ChangeClass, "absent", {"priority": 2.0})
    assert isinstance(engine.replies[ticket].error, HeadgateError)
    assert "absent" not in engine.catalog[CLASSES]
