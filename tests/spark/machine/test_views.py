"""What the machine says of waiting and response times, without threads, disk and Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.views import QueryView

SQL = "SELECT id FROM a"
DAY = 86_400.0  # seconds


def view(machine: StandIn, name: str = "q") -> QueryView:
    seen: QueryView = machine.replies[machine.ask(m.Describe, name)].value
    return seen


def with_arrivals(machine: StandIn, arrivals: tuple[float, ...], at: float) -> None:
    """Answer the tasks of a run whose results needed tuples of these arrivals, committed at a time."""
    for _ in range(2):
        task = machine.pending.pop(0)
        value: Any = machine.perform(task)
        if isinstance(task, t.Evaluate):
            value = [replace(result, arrivals=arrivals) for result in value]
        else:
            value = replace(value, at=at)
        machine.handle(m.Answer(task, value))
    machine.answer_all()


def test_time_before_a_query_was_added_is_no_waiting() -> None:
    machine = StandIn()
    machine.append("a", 3)  # they arrive at 1.0; then nothing runs for a day
    machine.now = DAY
    machine.ask(m.AddQuery, replace(query("q", SQL), since="start"), None, None, "files", 1.0, None)
    while not any(isinstance(task, t.Evaluate) for task in machine.pending):
        task = machine.pending.pop(0)
        machine.handle(m.Answer(task, machine.perform(task)))
    machine.now = DAY + 2.0
    machine.append("a", 4)
    seen = view(machine)
    assert (seen.waiting, seen.oldest_wait) == (4, 2.0)
    with_arrivals(machine, (1.0, 1.0, DAY + 1.5), at=DAY + 2.0)
    assert view(machine).results.took.tolist() == pytest.approx([2.0, 2.0, 0.5])


def test_a_paused_query_says_what_it_has_yet_to_read() -> None:
    machine = StandIn()
    machine.ask(m.AddQuery, query("q", SQL), None, None, "files", 1.0, None)
    machine.answer_all()
    machine.ask(m.Pause, "q")
    machine.append("a", 5)
    machine.answer_all()
    seen = view(machine)
    assert (seen.state, seen.waiting, seen.oldest_wait) == ("paused", 5, 0.0)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    machine = StandIn()
    machine.ask(m.AddQuery, query("q", SQL), None, None, "files", 1.0, None)
    machine.answer_all()
    machine.append("a", 30)
    machine.answer_all()  # commits at 1.0
    machine.now = 3.0
    assert view(machine).rate == 15.0
    machine.now = 11.5
    assert (view(machine).rate, view(machine).tuples_in) == (0.0, 30)
