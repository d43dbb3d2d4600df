"""A query that is only checked: the machine says what starting it would lead to, and keeps nothing of it."""

from __future__ import annotations

from tests.spark.machine.standin import StandIn, query

from headgate.model import ConflictError, QueryClass
from headgate.plan.fusion import Fuse
from headgate.spark.machine import messages as m
from headgate.spark.machine import tasks as t

SQL = "SELECT id FROM a WHERE v > 1"


def fused() -> StandIn:
    machine = StandIn()
    machine.machine.scheduling.scheduler.fuse = Fuse.CLASS
    for name, query_class in (("one", "low"), ("two", "low"), ("other", "high")):
        machine.ask(m.AddQuery, query(name, SQL, query_class), None, None, "files", 1.0, None)
        machine.answer_all()
    return machine


def test_a_checked_query_is_told_whose_job_it_would_share_and_is_not_there() -> None:
    machine = fused()
    ticket = machine.ask(m.CheckNewQuery, query("new", "SELECT id FROM a WHERE v > 7"))
    assert [type(task) for task in machine.pending] == [t.CheckQuery]
    machine.answer_all()
    assert machine.replies[ticket].value.group == ("one", "two")
    assert "new" not in machine.machine.context.lives
    assert "new" not in machine.descriptions


def test_a_class_that_starting_it_would_create_is_not_created() -> None:
    machine = fused()
    ticket = machine.ask(m.CheckNewQuery, query("new", SQL, "default"), QueryClass("default"))
    machine.answer_all()
    assert machine.replies[ticket].value.group == ()
    assert "default" not in machine.machine.scheduling.scheduler.network.classes


def test_what_starting_it_would_refuse_is_refused() -> None:
    machine = fused()
    unknown = machine.replies[machine.ask(m.CheckNewQuery, query("new", SQL, "none"))].error
    assert "unknown class 'none'" in str(unknown)
    other = machine.replies[machine.ask(m.CheckNewQuery, query("one", "SELECT id FROM b"))].error
    assert isinstance(other, ConflictError)
    ticket = machine.ask(m.CheckNewQuery, query("new", SQL))
    machine.answer_all(fail=0)
    assert "it was made to fail" in str(machine.replies[ticket].error)


def test_a_plan_tells_what_was_measured_and_who_shares_its_jobs() -> None:
    machine = fused()
    before = machine.replies[machine.ask(m.DescribePlan, "one")].value
    assert (before.jobs[()].cost, before.jobs[()].runs) == (None, 0)
    machine.append("a", 3)
    machine.answer_all()
    seen = machine.replies[machine.ask(m.DescribePlan, "one")].value
    assert seen.jobs[()].runs == 1
    assert seen.jobs[()].selectivity is not None
    assert [member.name for member in seen.group] == ["one", "two"]


def test_the_network_tells_what_waits_and_who_runs_together() -> None:
    machine = fused()
    machine.append("a", 3)
    machine.append("a", 2)  # these wait while the others are in a run
    seen = machine.replies[machine.ask(m.DescribeNetwork)].value
    assert seen.groups[0] == ("one", "two")
    assert [set(seen.queries[name].waiting.values()) for name in ("one", "two")] == [{2}, {2}]
    machine.answer_all()
    machine.ask(m.Pause, "two")
    machine.answer_all()
    after = machine.replies[machine.ask(m.DescribeNetwork)].value
    assert (after.groups[0], "two" in after.queries) == (("one",), False)
    assert after.queries["one"].jobs[()].runs == 2
