"""Bucketing between its two ends: one partition is round robin, very many are slope-slack."""

from __future__ import annotations

import json
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.builders import traced, workload

from headgate.model import Choice, Idle
from headgate.policies.aurora.bucketing import Bucketing
from headgate.policies.aurora.calendar import Calendar
from headgate.policies.aurora.outlook import Outlooks
from headgate.policies.contract import View
from headgate.sim import simulate
from headgate.workload import Workload

MANY = 10**7


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Chains with graphs, over streams of their own."""
    queries, streams = {}, {"unused": "at, times=[0]"}
    for number in range(draw(st.integers(1, 5))):
        costs = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
        shares = [draw(st.sampled_from([0.5, 0.75, 1.0])) for _ in costs]
        operators = [f"select, cost={cost}ms, selectivity={s}" for cost, s in zip(costs, shares, strict=True)]
        level, falls = draw(st.integers(5, 60)) / 1000, draw(st.integers(0, 40)) / 1000
        graph = [[0.0, 1.0], [level, 1.0], [level + falls, 0.0]]
        times = sorted(draw(st.sets(st.integers(0, 400), min_size=1, max_size=12)))
        streams[f"s{number}"] = f"at, times=[{', '.join(f'{time / 4}ms' for time in times)}]"
        queries[f"q{number}"] = {"from": [f"s{number}"], "operators": operators, "qos": graph}
    return workload(queries, streams, duration="2 s")


def decisions(lines: Sequence[str]) -> list[tuple[float, list[int]]]:
    found = [json.loads(line) for line in lines]
    return [(round(line["now"], 9), line["run"]["units"]) for line in found if "run" in line]


@settings(max_examples=60, deadline=None)
@given(workloads(), st.integers(1, 3), st.booleans())
def test_one_partition_is_round_robin(given_: Workload, schedule: int, train_all: bool) -> None:
    train = ", train=all" if train_all else ", train=1"
    _, one = traced(given_, f"bucketing, partitions=1, schedule={schedule}{train}")
    _, cycle = traced(given_, f"baat, schedule={schedule}{train}")
    assert decisions(one) == decisions(cycle)


@settings(max_examples=60, deadline=None)
@given(workloads(), st.integers(1, 3), st.sampled_from(["", ", push=true", ", train=1"]))
def test_very_many_partitions_are_slope_slack(given_: Workload, schedule: int, told: str) -> None:
    """At every decision the units listed are the most urgent, in that order; which of equals is another matter."""
    decide, looked = Bucketing.choose, 0

    def watched(self: Bucketing, view: View, worker: int) -> Choice | Idle:
        nonlocal looked
        outlooks = Outlooks(view)
        outlook = {number: outlooks.best(view, unit) for number, unit in view.ready.items()}
        choice = decide(self, view, worker)
        if isinstance(choice, Choice):
            looked += 1
            # Two slopes that differ by a rounding are one to a bucket, and the slack decides.
            urgent = sorted(outlook.values(), key=lambda each: (-round(each.utility, 4), each.slack))
            for unit, expected in zip(choice.units, urgent, strict=False):
                assert outlook[unit.id] == pytest.approx(expected, abs=1e-7)
            assert len(choice.units) == min(schedule, len(outlook))
        return choice

    with patch.object(Bucketing, "choose", watched):
        records = simulate(given_, f"bucketing, partitions={MANY}, schedule={schedule}{told}")
    assert looked == records.decisions


Steps = st.lists(st.tuples(st.sampled_from("eeerd"), st.integers(0, 30), st.floats(0.0, 10.0)), max_size=120)


@given(st.floats(0.5, 20.0), Steps)
def test_a_calendar_is_a_sorted_list(span: float, steps: list[tuple[str, int, float]]) -> None:
    calendar, plain, now = Calendar(span), dict[int, float](), 0.0
    for act, key, number in steps:
        if act == "e":
            calendar.enter(key, now + number)
            plain[key] = now + number
        elif act == "r":
            calendar.remove(key)
            plain.pop(key, None)
        else:
            now += number
            due = sorted((time, each) for each, time in plain.items() if time <= now)
            assert calendar.due(now) == [each for _, each in due]
            plain = {each: time for each, time in plain.items() if time > now}
        assert len(calendar) == len(plain)
