"""Queries that commit nothing though tuples wait: since when they could have, and when that is no longer normal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.views import QueryView
from headgate.spark.status import stalled

SQL = "SELECT id FROM a"


def view(machine: StandIn, name: str = "q") -> QueryView:
    seen: QueryView = machine.replies[machine.ask(m.Describe, name)].value
    return seen


def running(*names: str) -> StandIn:
    machine = StandIn()
    for name in names:
        machine.ask(m.AddQuery, query(name, SQL), None, None, "files", 1.0, None)
    machine.answer_all()
    return machine


def append(machine: StandIn, count: int = 1) -> None:
    """Tuples that arrive now."""
    machine.ends["a"] += count
    machine.handle(m.Appended("a", machine.ends["a"], ((machine.now, count),)))


def test_a_query_without_tuples_owes_nothing() -> None:
    machine = running("q")
    assert (view(machine).last_commit, view(machine).owes_since) == (None, None)
    append(machine)
    machine.answer_all()
    machine.now = 1000.0
    seen = view(machine)
    assert (seen.last_commit, seen.owes_since, stalled(seen, 1000.0)) == (1.0, None, None)


def test_a_run_that_does_not_end_is_owed_from_the_arrival_of_its_tuples() -> None:
    machine = running("q")
    append(machine)
    machine.answer_all()
    machine.now = 20.0
    append(machine)
    machine.now = 29.0
    assert (view(machine).owes_since, stalled(view(machine), 29.0)) == (20.0, None)
    assert stalled(view(machine), 30.5) == 10.5
    machine.answer_all()
    assert view(machine).owes_since is None


def test_the_usual_time_is_that_from_the_first_tuple_to_the_commit() -> None:
    machine = running("q")
    for began in (100.0, 200.0):
        machine.now = began
        append(machine)
        machine.answer(t.Evaluate)
        commit = machine.take(t.WriteCommit)
        machine.now = began + 4.0
        machine.handle(m.Answer(commit, replace(machine.perform(commit), at=machine.now)))
        machine.answer_all()
    assert view(machine).usual_gap == pytest.approx(4.0)
    assert view(machine).last_commit == 204.0
    machine.now = 300.0
    append(machine)
    assert stalled(view(machine), 340.0) is None
    assert stalled(view(machine), 340.5) == 40.5


def test_time_in_which_a_query_was_paused_does_not_count() -> None:
    machine = running("q")
    append(machine)
    machine.answer_all()
    machine.ask(m.Pause, "q")
    append(machine, 5)
    machine.answer_all()
    assert view(machine).owes_since is None
    machine.now = 500.0
    machine.ask(m.Resume, "q")
    while not any(isinstance(task, t.Evaluate) for task in machine.pending):
        task = machine.pending.pop(0)
        machine.handle(m.Answer(task, machine.perform(task)))
    assert view(machine).owes_since == 500.0


@pytest.mark.parametrize(
    ("usual", "seconds", "expected"),
    [
        (None, 60.0, False),  # before the first commit
        (None, 61.0, True),
        (0.1, 10.0, False),
        (0.1, 11.0, True),
        (5.0, 50.0, False),  # its turn has always come late
        (5.0, 51.0, True),
    ],
)
def test_the_rule(usual: float | None, seconds: float, expected: bool) -> None:
    seen = replace(view(running("q")), owes_since=100.0, usual_gap=usual)
    assert (stalled(seen, 100.0 + seconds) == seconds) is expected
    assert stalled(replace(seen, state="paused"), 1e6) is None


def test_how_much_of_what_was_kept_has_been_read() -> None:
    machine = StandIn()
    machine.append("a", 30)
    machine.ask(m.AddQuery, replace(query("q", SQL), since="start"), None, None, "files", 1.0, None)
    while not any(isinstance(task, t.Evaluate) for task in machine.pending):
        task = machine.pending.pop(0)
        machine.handle(m.Answer(task, machine.perform(task)))
    assert view(machine).backfill == (0, 30)
    machine.append("a", 5)  # what comes later is no part of it
    assert view(machine).backfill == (0, 30)
    machine.answer_all()
    assert view(machine).backfill is None
    machine.append("a", 5)
    assert view(machine).backfill is None


def test_a_query_that_reads_what_comes_has_no_backfill() -> None:
    machine = StandIn()
    machine.append("a", 30)
    machine.ask(m.AddQuery, query("q", SQL), None, None, "files", 1.0, None)
    machine.answer_all()
    assert view(machine).backfill is None


def test_what_waits_for_a_query_of_several_streams_is_told_by_stream() -> None:
    machine = StandIn()
    machine.ask(m.AddQuery, query("q", "SELECT id FROM a UNION ALL SELECT id FROM b"), None, None, "files", 1.0, None)
    machine.answer_all()
    machine.append("a", 3)  # taken by a run
    machine.append("a", 4)
    machine.append("b", 2)
    machine.now = 3.5
    assert view(machine).by_stream == {"a": (4, 2.5), "b": (2, 2.5)}
    machine.answer_all()
    assert view(machine).by_stream == {"a": (0, 0.0), "b": (0, 0.0)}
