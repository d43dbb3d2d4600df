"""Counters by namespace and class: they stay when queries go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.machine.standin import StandIn, query

from headgate.spark.machine import messages as m
from headgate.spark.machine.counts import SECONDS, Counted, Histogram
from headgate.spark.machine.views import Overview


def overview(machine: StandIn) -> Overview:
    seen: Overview = machine.replies[machine.ask(m.DescribeAll)].value
    return seen


def counted(machine: StandIn) -> dict[tuple[str, str], Counted]:
    return {(one.space, one.query_class): one for one in overview(machine).counted}


def test_counters_stay_when_a_query_is_stopped_or_moved() -> None:
    machine = StandIn()
    machine.ask(m.AddQuery, query("q", "SELECT id FROM a"), None, None, "files", 0.0, None)
    machine.answer_all()
    machine.append("a", 3)
    machine.answer_all()
    before = counted(machine)["", "low"]
    seen = overview(machine)
    assert (before.runs, before.tuples_in) == (seen.runs, seen.queries[0].tuples_in) == (1, 3)
    assert before.tuples_out == seen.queries[0].tuples_out == 3
    assert (before.members.counts[0], before.commit_seconds.count, before.sink_seconds.count) == (1, 1, 1)
    machine.ask(m.Move, "q", "high")
    machine.answer_all()
    machine.append("a", 2)
    machine.answer_all()
    assert counted(machine)["", "low"] == before
    assert counted(machine)["", "high"].tuples_in == 2
    machine.ask(m.Stop, "q")
    machine.answer_all()
    assert counted(machine)["", "low"] == before


def test_queries_of_a_namespace_are_counted_apart() -> None:
    machine = StandIn()
    for name in ("acme..q", "q"):
        machine.ask(m.AddQuery, query(name, "SELECT id FROM a"), None, None, "files", 0.0, None)
        machine.answer_all()
    machine.append("a", 3)
    machine.answer_all()
    assert {key: one.tuples_in for key, one in counted(machine).items()} == {("", "low"): 3, ("acme", "low"): 3}


@given(st.lists(st.floats(0, 1000), max_size=50), st.lists(st.floats(0, 1000), max_size=50))
def test_a_histogram_counts_every_value_once_in_the_first_bucket_that_reaches_it(
    one: list[float], many: list[float]
) -> None:
    histogram = Histogram()
    for value in one:
        histogram.add(value)
    histogram.add_all(np.array(many, dtype=float))
    found = histogram.now()
    assert found.count == len(one) + len(many)
    assert found.total == pytest.approx(sum(one) + sum(many))
    for place, bound in enumerate(SECONDS):
        assert sum(found.counts[: place + 1]) == sum(value <= bound for value in [*one, *many])
