"""Targets in the simulator: those below the ideal time are refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.model import HeadgateError
from headgate.sim import simulate
from headgate.sim.policy_fit import target_problems
from headgate.workload import parse_workload
from headgate.workload.workload_locations import WorkloadLocations

FILE = """
[[stream]]
name = "s"
arrivals = "at, times=[0s, 1s]"

[[class]]
name = "c"
{of_class}

[[query]]
name = "q"
from = "s"
operators = ["select, cost=300ms", "project, cost=100ms"]
{of_query}
"""


def text(of_query: str = "", of_class: str = "") -> str:
    return FILE.format(of_query=of_query, of_class=of_class)


REFUSED = "target p95 300 ms cannot be met: a tuple of query 'q' takes 400 ms even alone; give more than that"


@pytest.mark.parametrize("given", [{"of_query": 'target = "300 ms"'}, {"of_class": 'target = "300 ms"'}])
def test_a_target_below_the_ideal_time_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(HeadgateError) as caught:
        simulate(parse_workload(text(**given)), "fcfs")
    assert str(caught.value) == REFUSED


@pytest.mark.parametrize("target", ["400 ms", "350 ms ± 20 %"])
def test_one_that_can_just_be_met_is_not(target: str) -> None:
    assert simulate(parse_workload(text(f'target = "{target}"')), "fcfs").queries[0].emission[0] == pytest.approx(0.4)


def test_the_target_of_a_query_counts_not_its_classs() -> None:
    simulate(parse_workload(text('target = "1 s"', 'target = "1 ms"')), "fcfs")


def test_the_deadline_of_a_graph_may_be_too_early_for_anyone() -> None:
    simulate(parse_workload(text("qos = [[0.0, 1.0], [0.1, 1.0], [0.2, 0.0]]")), "fcfs")


def test_the_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text(of_class='target = "300 ms"'))
    problems = target_problems(parse_workload(path.read_text()), WorkloadLocations.of_file(path))
    assert list(map(str, problems)) == [f"{path}:8: class 'c', target: {REFUSED}"]
