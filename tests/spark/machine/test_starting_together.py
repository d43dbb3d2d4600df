"""Queries that start together: all or none, with one commit and one event for the scheduler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.core import QueriesAdded
from headgate.model import HeadgateError
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t

SQL = "SELECT id FROM a WHERE v > {}"
NAMES = tuple(f"q{number}" for number in range(50))


def additions(names: Any = NAMES, sql: str = SQL, **more: Any) -> tuple[m.AddQuery, ...]:
    return tuple(m.AddQuery(0, query(name, sql.format(place + 1)), **more) for place, name in enumerate(names))


def states(engine: StandIn) -> dict[str, str]:
    return {name: str(life.state) for name, life in engine.machine.context.lives.items()}


def told(engine: StandIn, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The events that the scheduler gets from now on."""
    events: list[Any] = []
    scheduler = engine.machine.scheduling.scheduler
    take = scheduler.event

    def event(given: Any, now: float) -> None:
        events.append(given)
        take(given, now)

    monkeypatch.setattr(scheduler, "event", event)
    return events


def fail_check(engine: StandIn, name: str, error: str = "no such column") -> None:
    """Answer all checks that wait; the one of a query with an error."""
    while tasks := [task for task in engine.pending if isinstance(task, t.CheckQueries)]:
        engine.pending.remove(tasks[0])
        found = engine.perform(tasks[0])
        for place, check in enumerate(tasks[0].checks):
            if check.query.name == name:
                found[place] = HeadgateError(error)
        engine.handle(m.Answer(tasks[0], found))


def test_they_enter_together(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = StandIn()
    events = told(engine, monkeypatch)
    ticket = engine.ask(m.AddQueries, additions())
    tasks: list[t.Task] = []
    while engine.pending:
        tasks.append(engine.pending[0])
        engine.answer(type(engine.pending[0]))
    assert engine.replies[ticket].error is None
    assert set(states(engine).values()) == {"running"}
    assert list(engine.descriptions) == list(NAMES)
    assert sum(isinstance(task, t.PrepareTogether) for task in tasks) == 1
    assert not any(isinstance(task, t.Prepare | t.WriteCommit) for task in tasks)
    (added,) = events
    assert isinstance(added, QueriesAdded)
    assert tuple(each.name for each in added.queries) == NAMES


def test_they_take_rows_as_one_by_one() -> None:
    together, one_by_one = StandIn(), StandIn()
    together.ask(m.AddQueries, additions())
    for each in additions():
        one_by_one.ask(m.AddQuery, each.query)
    for engine in (together, one_by_one):
        engine.answer_all()
        engine.append("a", 3)
        engine.answer_all()
    assert together.sinks == one_by_one.sinks
    assert together.positions == one_by_one.positions
    assert together.descriptions == one_by_one.descriptions
    assert len(together.sinks) == len(NAMES)


def test_rows_that_come_meanwhile_are_taken() -> None:
    engine = StandIn()
    engine.ask(m.AddQueries, additions())
    while not any(isinstance(task, t.PrepareTogether) for task in engine.pending):
        engine.answer(t.CheckQueries)
    engine.append("a", 2)
    engine.answer_all()
    assert {name: len(rows) for name, rows in engine.sinks.items()} == dict.fromkeys(NAMES, 2)


@pytest.mark.parametrize("place", [0, 7, 49])
def test_one_that_spark_refuses_keeps_all_from_starting(place: int) -> None:
    engine = StandIn()
    ticket = engine.ask(m.AddQueries, additions())
    fail_check(engine, NAMES[place])
    engine.answer_all()
    assert str(engine.replies[ticket].error) == f"query '{NAMES[place]}': no such column"
    assert states(engine) == {}
    assert engine.descriptions == {}
    assert not engine.machine.delivery.outboxes


def test_the_first_of_several_errors_is_told() -> None:
    engine = StandIn()
    first, *others = additions()
    unknown = replace(others[30], query=replace(others[30].query, query_class="none"))
    ticket = engine.ask(m.AddQueries, (first, unknown, *others[:3]))
    assert str(engine.replies[ticket].error).startswith("query 'q31': unknown class 'none'")
    assert states(engine) == {}
    assert not engine.pending


def test_a_commit_that_fails_leaves_none() -> None:
    engine = StandIn()
    ticket = engine.ask(m.AddQueries, additions())
    while not any(isinstance(task, t.PrepareTogether) for task in engine.pending):
        engine.answer(t.CheckQueries)
    engine.handle(m.Answer(engine.take(t.PrepareTogether), error=HeadgateError("the disk is full")))
    engine.answer_all()
    assert "the disk is full" in str(engine.replies[ticket].error)
    assert states(engine) == {}


def test_those_that_are_there_may_be_declared_again() -> None:
    engine = StandIn()
    engine.ask(m.AddQueries, additions(NAMES[:2]))
    engine.answer_all()
    ticket = engine.ask(m.AddQueries, additions(NAMES[:4]))
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert states(engine) == dict.fromkeys(NAMES[:4], "running")
    other = engine.ask(m.AddQueries, (*additions(["new"]), *additions(["q1"], SQL.format(9))))
    engine.answer_all()
    assert "query 'q1'" in str(engine.replies[other].error)
    assert "new" not in states(engine)


def test_a_name_twice() -> None:
    engine = StandIn()
    same = engine.ask(m.AddQueries, (*additions(["p"]), *additions(["p"])))
    engine.answer_all()
    assert engine.replies[same].error is None
    other = engine.ask(m.AddQueries, (*additions(["r"]), *additions(["r"], "SELECT id FROM b")))
    engine.answer_all()
    assert "query 'r'" in str(engine.replies[other].error)
    assert states(engine) == {"p": "running"}


def test_one_that_starts_later() -> None:
    engine = StandIn()
    ticket = engine.ask(m.AddQueries, (*additions(NAMES[:2]), *additions(["later"], start=100.0)))
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert states(engine) == {"q0": "running", "q1": "running", "later": "scheduled"}


def test_a_policy_that_cuts_queries() -> None:
    engine = StandIn()
    engine.ask(m.SetPolicy, "chain", None)
    engine.answer_all()
    ticket = engine.ask(m.AddQueries, additions(NAMES[:3]))
    engine.answer_all()
    assert engine.replies[ticket].error is None
    assert states(engine) == dict.fromkeys(NAMES[:3], "running")
    assert all("cut" in description for description in engine.descriptions.values())


def test_a_policy_that_cannot_schedule_one() -> None:
    engine = StandIn()
    engine.ask(m.SetPolicy, "slope-slack", None)
    engine.answer_all()
    fine = m.AddQuery(0, query("fine", "SELECT id FROM a", qos=True))
    ticket = engine.ask(m.AddQueries, (fine, *additions(["without"])))
    engine.answer_all()
    assert "QoS" in str(engine.replies[ticket].error)
    assert "'without'" in str(engine.replies[ticket].error)
    assert states(engine) == {}


def test_each_stands_for_itself_when_a_directory_is_opened() -> None:
    engine = StandIn()
    engine.ask(m.AddQueries, additions(NAMES[:3]))
    engine.answer_all()
    later = StandIn(
        descriptions=dict(engine.descriptions), positions=dict(engine.positions), ends=dict(engine.ends), number=9
    )
    ticket = later.ask(m.AddQueries, additions(NAMES[:3]), True)
    fail_check(later, "q1")
    later.answer_all()
    assert later.replies[ticket].error is None
    assert states(later) == {"q0": "running", "q1": "incomplete", "q2": "running"}
    assert "no such column" in later.machine.context.lives["q1"].error


def test_they_wait_for_a_command_that_is_adding_one_of_them() -> None:
    """Whether it is there already is known only then: if it fails, it is one of those that start or do not."""
    engine = StandIn()
    first = engine.ask(m.AddQuery, query("q0", SQL.format(1)))
    together = engine.ask(m.AddQueries, additions(("q0", "q1")))
    assert not any(isinstance(task, t.CheckQueries) for task in engine.pending)
    engine.handle(m.Answer(engine.take(t.CheckQuery), error=HeadgateError("the disk is full")))
    assert engine.replies[first].error is not None
    fail_check(engine, "q1")
    engine.answer_all()
    assert "q1" in str(engine.replies[together].error)
    assert states(engine) == {}
