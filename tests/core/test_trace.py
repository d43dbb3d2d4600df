"""Traces: what was recorded is repeated exactly, what was tampered with is found, what is damaged is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.sim.builders import traced, workload

from headgate.core import explain_decision, replay_trace
from headgate.model import HeadgateError, Why
from headgate.policies.registry import policies
from headgate.sim import simulate
from headgate.workload import Workload

QUERIES: dict[str, dict[str, Any]] = {
    "a": {"operators": ["select, from=s, name=hot, cost=3ms, selectivity=0.5", "project, cost=2ms"], "class": "x"},
    "b": {"operators": ["select, from=s, name=hot, cost=3ms, selectivity=0.5", "select, cost=9ms"], "class": "y"},
    "c": {
        "operators": ["join, from=[s, t], cost=2ms, window=200ms, selectivity=0.3", "project, cost=1ms"],
        "class": "y",
    },
    "d": {"operators": ["select, from=s, cost=1ms"], "class": "x", "start": "500 ms", "end": "1500 ms"},
    "e": {"operators": ["aggregate, from=t, cost=1ms, window=250ms"], "class": "x", "qos": [[0.0, 1.0], [1.0, 0.0]]},
}
for number, about in enumerate(QUERIES.values()):
    about.setdefault("qos", [[0.0, 1.0], [0.01 * (number + 1), 1.0], [0.1, 0.0]])
STREAMS = {"s": "poisson, rate=40", "t": {"arrivals": "onoff, rate=20", "bytes": 8, "source_cost": "2 ms"}}
CHANGES = [
    {"at": "400 ms", "class": "y", "priority": 9.0},
    {"at": "600 ms", "query": "b", "class": "x"},
    {"at": "700 ms", "query": "a", "operator": 1, "cost": "5 ms"},
    {"at": "800 ms", "stream": "s", "rate": 80.0},
    {"at": "900 ms", "operator": "hot", "selectivity": 0.9},
]


def plant(**head: Any) -> Workload:
    settings = {"duration": "2 s", "classes": {"x": 5.0, "y": 2.0}, "changes": CHANGES, **head}
    return workload(QUERIES, STREAMS, **settings)


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "changes": plant,
    "cores": lambda: plant(cores=3),
    "measured": lambda: plant(statistics="measured", noise=0.1),
    "fused": lambda: plant(fuse="class", train="all", cores=2),
    "switched": lambda: plant(
        changes=[*CHANGES, {"at": "500 ms", "policy": "fifo"}, {"at": "1 s", "policy": "path-capacity, train=2"}]
    ),
}


@pytest.mark.parametrize("policy", sorted(policies()))
@pytest.mark.parametrize(
    "name", ["changes", *(pytest.param(name, marks=pytest.mark.slow) for name in WORKLOADS if name != "changes")]
)
def test_every_policy_repeats_its_decisions(policy: str, name: str) -> None:
    records, lines = traced(WORKLOADS[name](), policy)
    found = replay_trace(lines)
    assert found.same, found.differences[:3]
    assert (found.runs, found.decisions, found.calls) == (records.runs, records.decisions, len(lines) - 1)


@pytest.mark.parametrize(
    "policy",
    ["hr, level=operator, schedule=3", "wrr, quantum=5ms", "random, train=0.5", "mtiq, ratio=0.3, threshold=4"],
)
def test_settings_are_repeated_too(policy: str) -> None:
    assert replay_trace(traced(plant(cores=2), policy)[1]).same


def test_recording_changes_nothing() -> None:
    recorded, _ = traced(plant(cores=2), "bsd")
    plain = simulate(plant(cores=2), "bsd")
    assert (plain.runs, plain.decisions) == (recorded.runs, recorded.decisions)
    assert [query.emission.tolist() for query in plain.queries] == [
        pytest.approx(query.emission.tolist()) for query in recorded.queries
    ]


# -- tampering ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return traced(plant(), "hnr")[1]


def numbers_of(lines: list[str], key: str) -> list[int]:
    return [number for number, line in enumerate(lines) if key in json.loads(line)]


def changed(lines: list[str], number: int, change: Callable[[dict[str, Any]], None]) -> list[str]:
    line = json.loads(lines[number])
    change(line)
    return [*lines[:number], json.dumps(line), *lines[number + 1 :]]


def other_unit(line: dict[str, Any]) -> None:
    line["run"]["units"] = [line["run"]["units"][0] + 1]


def other_take(line: dict[str, Any]) -> None:
    line["run"]["takes"][0][2] += 1


def idle(line: dict[str, Any]) -> None:
    del line["run"]
    line["idle"] = None


@pytest.mark.parametrize("tamper", [other_unit, other_take, idle])
def test_a_tampered_decision_is_found_at_its_line(lines: list[str], tamper: Callable[[dict[str, Any]], None]) -> None:
    number = numbers_of(lines, "run")[7]
    found = replay_trace(changed(lines, number, tamper))
    assert not found.same
    assert len(found.differences) == 1
    assert found.differences[0].startswith(f"line {number + 1}: recorded ")


def test_a_tampered_arrival_is_found_where_it_matters(lines: list[str]) -> None:
    number = numbers_of(lines, "stream")[5]
    found = replay_trace(changed(lines, number, lambda line: line.update(tuples=5)))
    assert not found.same
    assert int(found.differences[0].split()[1].rstrip(":")) > number


def test_another_policy_decides_otherwise(lines: list[str]) -> None:
    found = replay_trace(changed(lines, 0, lambda line: line.update(policy="hr")))
    assert not found.same


# -- damage ------------------------------------------------------------------------------------------------------


def refused(lines: list[str]) -> str:
    with pytest.raises(HeadgateError) as error:
        replay_trace(lines)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_a_trace_cut_in_a_line_is_refused_there(lines: list[str]) -> None:
    assert refused([*lines[:40], lines[40][:-10]]).startswith("line 41: ")


def test_a_trace_cut_between_lines_is_a_shorter_trace(lines: list[str]) -> None:
    assert replay_trace(lines[:41]).same


@pytest.mark.parametrize(
    "text", ["", "not json", "[]", "null", "3", '"text"', "{}", '{"now": 1}', '{"now":0,"event":"x"}']
)
def test_a_line_that_is_none_is_refused_at_its_place(lines: list[str], text: str) -> None:
    assert refused([*lines[:20], text, *lines[20:]]).startswith("line 21: ")


@pytest.mark.parametrize("key", ["now", "stream", "arrival"])
def test_a_field_that_is_missing_is_refused_at_its_line(lines: list[str], key: str) -> None:
    number = numbers_of(lines, "stream")[3]
    assert refused(changed(lines, number, lambda line: line.pop(key))).startswith(f"line {number + 1}: ")


def test_the_end_of_a_run_that_never_began_is_refused(lines: list[str]) -> None:
    number = numbers_of(lines, "finished")[3]
    assert refused(changed(lines, number, lambda line: line.update(finished=10**6))).startswith(f"line {number + 1}: ")


def test_an_unknown_stream_is_refused_at_its_line(lines: list[str]) -> None:
    number = numbers_of(lines, "stream")[3]
    message = refused(changed(lines, number, lambda line: line.update(stream="x")))
    assert message.startswith(f"line {number + 1}: unknown stream 'x'")


@pytest.mark.parametrize("key", ["policy", "queries", "streams", "classes", "measured", "operators", "train", "seed"])
def test_a_header_without_a_part_is_refused(lines: list[str], key: str) -> None:
    assert refused(changed(lines, 0, lambda line: line.pop(key))).startswith("line 1: ")


@pytest.mark.parametrize("first", [[], ["{}"], ['{"trace": 99}'], ['{"trace": 1}'], ["x"]])
def test_what_does_not_begin_as_a_trace_is_refused(first: list[str]) -> None:
    refused(first)


# -- explanations ------------------------------------------------------------------------------------------------


def stripped(lines: list[str]) -> list[str]:
    return [json.dumps({key: value for key, value in json.loads(line).items() if key != "why"}) for line in lines]


def recorded_whys(lines: list[str]) -> list[Why]:
    return [Why(**line["why"]) for line in map(json.loads, lines) if "why" in line]


@pytest.mark.parametrize("policy", ["hnr", "lsf, level=operator", "mtiq", "rr", "hr, schedule=3", "rr-rb", "random"])
@pytest.mark.parametrize("name", ["changes", "measured"])
def test_a_decision_is_explained_as_recorded_and_by_replay(policy: str, name: str) -> None:
    records, lines = traced(WORKLOADS[name](), policy)
    whys = recorded_whys(lines)
    assert len(whys) == records.decisions
    for number in (1, 2, 17, records.decisions):
        for trace in (lines, stripped(lines)):
            assert replace(explain_decision(trace, number), waiting=()) == whys[number - 1]


def test_a_trace_without_explanations_repeats_too(lines: list[str]) -> None:
    assert replay_trace(stripped(lines)).same


@pytest.mark.parametrize("number", [0, -1, 10**6])
def test_a_decision_that_was_never_made_is_refused(lines: list[str], number: int) -> None:
    with pytest.raises(HeadgateError, match=f"there is no decision {number}"):
        explain_decision(lines, number)
