"""Targets in the machine: what it says of them, and what the journal gets to know."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.spark.machine.standin import StandIn, query

from headgate.metrics.measures.targets import TargetStatus
from headgate.model import HeadgateError, QoS, Query, QueryClass, Target
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t
from headgate.spark.machine.views import QueryView

SQL = "SELECT id FROM a"


def status(machine: StandIn, name: str = "q") -> TargetStatus:
    seen: QueryView = machine.replies[machine.ask(m.Describe, name)].value
    assert seen.target is not None
    return seen.target


def running(added: Query, *classes: QueryClass) -> StandIn:
    machine = StandIn()
    for query_class in classes:
        machine.ask(m.DeclareClass, query_class)
        machine.answer_all()
    machine.ask(m.AddQuery, added, None, None, "files", 1.0, None)
    machine.answer_all()
    return machine


def arrive(machine: StandIn) -> None:
    """A tuple arrives now."""
    machine.ends["a"] += 1
    machine.handle(m.Appended("a", machine.ends["a"], ((machine.now, 1),)))


def result(machine: StandIn, at: float, took: float) -> None:
    """A tuple arrives, and its result is committed at a time."""
    machine.now = at
    arrive(machine)
    while machine.pending:
        task = machine.pending.pop(0)
        value: Any = machine.perform(task)
        if isinstance(task, t.Evaluate):
            value = [replace(part, arrivals=(at - took,)) for part in value]
        elif isinstance(task, t.WriteCommit):
            value = replace(value, at=at)
        machine.handle(m.Answer(task, value))


def told(machine: StandIn) -> list[tuple[float, str, str, str]]:
    """The lines of the journal about targets."""
    lines = machine.machine.context.newest
    return [(line.at, line.before, line.after, line.reason) for line in lines if line.after.startswith("target")]


def test_the_journal_says_when_a_target_is_missed_and_met_again() -> None:
    machine = running(replace(query("q", SQL), target=Target(0.5)))
    result(machine, 100.0, took=0.1)
    assert (status(machine).state, told(machine)) == ("met", [])  # that goes without saying
    result(machine, 102.0, took=0.75)
    assert (status(machine).state, status(machine).since) == ("missed", 102.0)
    result(machine, 115.0, took=0.25)
    assert status(machine).state == "met"
    assert told(machine) == [
        (102.0, "target met", "target missed", "target p95 500 ms: p95 was 750 ms over the last 10 s, 250 ms too long"),
        (
            115.0,
            "target missed",
            "target met",
            "target p95 500 ms: p95 was 250 ms over the last 10 s; met 16 % of the time",
        ),
    ]


def test_at_most_one_line_in_ten_seconds() -> None:
    machine = running(replace(query("q", SQL), target=Target(0.5, 50.0)))
    for number in range(60):  # missed and met in turn
        result(machine, 100.0 + number, took=0.75 if number % 4 < 3 else 0.1)
        result(machine, 100.5 + number, took=0.1 if number % 4 < 3 else 0.75)
    moments = [at for at, *_ in told(machine)]
    assert len(moments) > 1
    assert all(later - earlier >= 10.0 for earlier, later in pairwise(moments))


def test_a_tuple_that_waits_for_long_misses_the_target_before_it_is_done() -> None:
    machine = running(replace(query("q", SQL), target=Target(2.0)))
    result(machine, 100.0, took=0.1)
    machine.now = 150.0
    arrive(machine)  # its run does not end
    assert status(machine).state == "no results"
    machine.now = 155.0
    arrive(machine)
    found = status(machine)
    assert (found.state, found.since, found.reached) == ("missed", 152.0, 5.0)
    assert told(machine)[0][1:] == (
        "target met",
        "target missed",
        "target p95 2 s: a tuple has waited for 5 s, and no result came",
    )


def test_a_query_has_the_target_of_the_class_it_is_in() -> None:
    classes = [QueryClass("fast", target=Target(1.0)), QueryClass("slow", target=Target(9.0))]
    machine = running(replace(query("q", SQL), query_class="fast"), *classes)
    result(machine, 100.0, took=3.0)
    assert (status(machine).state, status(machine).target) == ("missed", Target(1.0))
    machine.ask(m.Move, "q", "slow")
    machine.answer_all()
    result(machine, 101.0, took=3.0)
    assert (status(machine).state, status(machine).target) == ("met", Target(9.0))


def test_a_query_does_not_move_to_a_class_that_its_graph_contradicts() -> None:
    graph = QoS.of([(0, 1), (2, 1), (3, 0)])
    machine = running(replace(query("q", SQL), qos=graph), QueryClass("fast", target=Target(1.0)))
    assert status(machine).target == Target(2.0)
    error = machine.replies[machine.ask(m.Move, "q", "fast")].error
    assert isinstance(error, HeadgateError)
    assert "target p95 1 s of class 'fast' contradicts the qos of query 'q'" in str(error)
    assert status(machine).target == Target(2.0)


def test_without_a_target_nothing_is_followed() -> None:
    machine = running(query("q", SQL))
    result(machine, 100.0, took=90.0)
    with pytest.raises(AssertionError):
        status(machine)
    assert told(machine) == []
