"""Maintenance: when it is due, which commits it may drop, and which tuples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.spark.machine import maintenance
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t

EVERY = 3
SQL = "SELECT id FROM a"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "EVERY", EVERY)


@dataclass
class Recording(StandIn):
    """Remembers maintenance tasks, and answers them with `needed`; before that it may add a query."""

    performed: list[t.Task] = field(default_factory=list)
    needed: dict[str, int] = field(default_factory=dict)
    add_meanwhile: bool = False

    def perform(self, task: t.Task) -> Any:
        if isinstance(task, t.Maintain | t.DropTuples):
            self.performed.append(task)
        if isinstance(task, t.Maintain):
            if self.add_meanwhile:
                self.ask(m.AddQuery, query("meanwhile", SQL))
                check = self.pending.pop()
                self.handle(m.Answer(check, self.perform(check)))  # it gets its positions
            return self.needed
        return super().perform(task)

    def runs(self, count: int) -> None:
        for _ in range(count):
            self.append("a", 1)
            self.answer_all()


def engine(**settings: Any) -> Recording:
    engine = Recording(**settings)
    engine.ask(m.AddQuery, query("q", SQL))
    engine.answer_all()
    return engine


def test_maintenance_is_due_after_every_so_many_runs() -> None:
    recording = engine()
    recording.runs(EVERY - 1)
    assert recording.performed == []
    recording.runs(1)
    assert len(recording.performed) == 1
    recording.runs(2 * EVERY)
    assert len(recording.performed) == 3


def test_fewer_runs_are_enough_after_a_while() -> None:
    recording = engine()
    recording.now += 2 * maintenance.REST  # nothing has run meanwhile: nothing is to be done
    recording.runs(1)
    assert recording.performed == []
    recording.now += maintenance.REST
    recording.runs(1)
    assert len(recording.performed) == 1


def test_only_commits_that_every_sink_has_are_dropped() -> None:
    recording = engine()
    recording.runs(EVERY)
    (task,) = recording.performed
    assert isinstance(task, t.Maintain)
    assert task.upto == recording.number - 1  # the results of the newest commit were being delivered
    assert [point.name for point in task.resume_points or ()] == ["q"]


def test_it_names_the_layouts_of_all_queries_there_are() -> None:
    """What is kept for runs of others is forgotten, so one that is gone must not be among them."""
    recording = engine()
    recording.ask(m.AddQuery, query("goes", SQL))
    recording.answer_all()
    lives = recording.machine.context.lives
    gone, stays = lives["goes"].layout, lives["q"].layout
    recording.ask(m.Stop, "goes")
    recording.answer_all()
    recording.runs(EVERY)
    (task,) = recording.performed
    assert isinstance(task, t.Maintain)
    assert any(layout is stays for layout in task.layouts)
    assert not any(layout is gone for layout in task.layouts)


def test_tuples_that_no_query_needs_are_dropped_and_no_new_query_starts_before_them() -> None:
    recording = engine(needed={"a": 2})
    recording.runs(EVERY)
    assert [type(task) for task in recording.performed] == [t.Maintain, t.DropTuples]
    assert recording.machine.preparation.start("a") == 2


def test_nothing_is_dropped_if_a_query_was_added_meanwhile() -> None:
    recording = engine(needed={"a": 2}, add_meanwhile=True)
    recording.runs(EVERY)
    assert recording.machine.context.lives["meanwhile"].state == "running"
    assert [type(task) for task in recording.performed] == [t.Maintain]
    assert recording.machine.preparation.start("a") == 0


def test_it_is_tried_again_soon_if_a_query_was_added_meanwhile() -> None:
    recording = engine(needed={"a": 2}, add_meanwhile=True)
    recording.runs(EVERY)
    recording.add_meanwhile = False
    recording.runs(1)
    assert [type(task) for task in recording.performed] == [t.Maintain, t.Maintain, t.DropTuples]


def test_it_waits_for_a_query_that_is_being_checked_but_not_for_ever() -> None:
    recording = engine()
    recording.ask(m.AddQuery, query("new", SQL))
    check = recording.pending.pop()
    recording.runs(2 * EVERY - 1)
    assert recording.performed == []
    recording.runs(1)
    (task,) = recording.performed
    assert isinstance(task, t.Maintain)
    assert task.resume_points is None
    recording.needed = {"a": 2}
    recording.handle(m.Answer(check, recording.perform(check)))
    recording.answer_all()
    recording.runs(EVERY)
    assert [type(task) for task in recording.performed[1:3]] == [t.Maintain, t.DropTuples]


def stopped_while_it_delivers() -> tuple[Recording, t.Deliver]:
    """An engine whose query is to be stopped, and the delivery that is under way."""
    recording = engine()
    recording.append("a", 1)
    recording.answer(t.Evaluate)
    recording.answer(t.WriteCommit)
    deliver = recording.take(t.Deliver)
    recording.ask(m.Stop, "q")
    return recording, deliver


def test_what_the_sink_of_a_removed_query_refused_is_offered_again() -> None:
    """Otherwise the commit log would be kept from there on, whoever removed the folder of its results."""
    recording, refused = stopped_while_it_delivers()
    recording.ask(m.AddQuery, query("other", SQL))
    recording.answer_all()
    recording.handle(m.Answer(refused, error=OSError("the folder is gone")))
    assert recording.machine.delivery.oldest_commit < inf
    recording.runs(EVERY)
    assert recording.machine.delivery.oldest_commit == inf
    assert len(recording.sinks["q"]) == 1


def test_a_removed_query_whose_sink_goes_on_refusing_keeps_no_drain_waiting() -> None:
    recording, refused = stopped_while_it_delivers()
    recording.answer_all()
    recording.handle(m.Answer(refused, error=OSError("it is full")))
    ticket = recording.ask(m.Drain)
    assert recording.replies[ticket].error is None
    assert not any(isinstance(task, t.Deliver) for task in recording.pending)


@pytest.mark.parametrize(("since", "drops"), [("now", True), ("start", False)])
def test_a_query_whose_start_lies_ahead_keeps_only_what_it_will_read(since: Any, drops: bool) -> None:
    recording = engine(needed={"a": 1})
    recording.ask(m.AddQuery, replace(query("later", SQL), since=since), 1e9)
    recording.answer_all()
    assert recording.machine.context.lives["later"].state == "scheduled"
    recording.runs(EVERY)
    (task,) = (task for task in recording.performed if isinstance(task, t.Maintain))
    named = None if task.resume_points is None else [point.name for point in task.resume_points]
    assert named == (["q"] if drops else None)
