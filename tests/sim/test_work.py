"""What no policy can change: the work there is, when the core is idle, and what comes out in the end."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tests.sim.builders import counts, intervals, results, traced, workload

from headgate.model import Level
from headgate.policies.registry import policies
from headgate.sim import simulate
from headgate.workload import Workload

OPERATORS = {
    "cheap": ["select, cost=1ms, selectivity=0.5", "project, cost=2ms"],
    "dear": ["select, cost=9ms, selectivity=0.7", "table-join, cost=5ms, selectivity=0.8", "select, cost=3ms"],
    "plain": ["select, cost=4ms"],
}
GRAPHS = {
    "cheap": [[0.0, 1.0], [0.01, 1.0], [0.05, 0.0]],
    "dear": [[0.0, 1.0], [0.5, 1.0], [0.5, 0.0]],
    "plain": [[0.0, 1.0], [0.2, 0.0]],
}
QUERIES = {name: {"operators": operators, "qos": GRAPHS[name]} for name, operators in OPERATORS.items()}
MIXED = workload(QUERIES, "onoff, rate=30, on=200ms, off=300ms", duration="4 s")
# On one core no policy so far is idle while something waits.
AT_QUERY_LEVEL = sorted(name for name, policy in policies().items() if Level.QUERY in policy.levels)
AT_OPERATOR_LEVEL = sorted(name for name, policy in policies().items() if Level.OPERATOR in policy.levels)


def busy_periods(lines: list[str]) -> list[tuple[float, float]]:
    """The stretches in which the only core is busy without a pause."""
    periods: list[list[float]] = []
    for start, end, _, _ in sorted(intervals(lines)):
        if periods and start <= periods[-1][1] + 1e-9:
            periods[-1][1] = end
        else:
            periods.append([start, end])
    return [(start, end) for start, end in periods]


def work_of_runs(lines: list[str]) -> Counter[tuple[int, float]]:
    return Counter((units[0], round(end - start, 9)) for start, end, _, units in intervals(lines))


@pytest.fixture(scope="module")
def fcfs() -> list[str]:
    return traced(MIXED, "fcfs")[1]


@pytest.mark.parametrize("policy", AT_QUERY_LEVEL)
def test_the_unfinished_work_is_the_same_under_every_policy(policy: str, fcfs: list[str]) -> None:
    """Work arrives as drawn beforehand, so equal busy periods are an equal curve of unfinished work."""
    records, lines = traced(MIXED, f"{policy}, level=query, train=1")
    assert work_of_runs(lines) == work_of_runs(fcfs)
    found, expected = busy_periods(lines), busy_periods(fcfs)
    assert len(found) == len(expected) > 10
    for period, other in zip(found, expected, strict=True):
        assert period == pytest.approx(other)
    assert records.busy == pytest.approx(sum(end - start for start, end in expected))


@pytest.mark.slow
@pytest.mark.parametrize("policy", AT_OPERATOR_LEVEL)
def test_idle_periods_are_the_same_at_operator_level(policy: str, fcfs: list[str]) -> None:
    found, expected = busy_periods(traced(MIXED, f"{policy}, level=operator")[1]), busy_periods(fcfs)
    assert len(found) == len(expected)
    for period, other in zip(found, expected, strict=True):
        assert period == pytest.approx(other)


@pytest.mark.parametrize("policy", sorted(policies()))
@pytest.mark.parametrize("cores", [1, 3])
def test_the_results_are_the_same_under_every_policy(policy: str, cores: int) -> None:
    given = workload(QUERIES, "onoff, rate=30, on=200ms, off=300ms", duration="2 s", cores=cores)
    records = simulate(given, policy)
    assert results(records) == results(simulate(given, "fcfs"))
    assert records.unfinished == 0


def taken(lines: list[str]) -> dict[int, list[tuple[int, int]]]:
    """What was taken from every queue, in order."""
    found: dict[int, list[tuple[int, int]]] = {}
    for line in map(json.loads, lines):
        for queue, first, behind in line["run"]["takes"] if "run" in line else ():
            found.setdefault(queue, []).append((first, behind))
    return found


@pytest.mark.parametrize("policy", ["fcfs", "hr, level=operator", "lsf, train=all", "rr, train=3", "path-capacity"])
@pytest.mark.parametrize("cores", [1, 2])
def test_every_tuple_is_processed_exactly_once_by_every_query(policy: str, cores: int) -> None:
    given: Workload = workload(OPERATORS, "poisson, rate=50", duration="2 s", cores=cores)
    records, lines = traced(given, policy)
    network = given.network()
    for queue, takes in taken(lines).items():
        firsts, behinds = [first for first, _ in takes], [behind for _, behind in takes]
        assert firsts == [0, *behinds[:-1]]
        if network.edges[queue].stream is not None:
            assert behinds[-1] == records.tuples_in["s"]
    assert sum(edge.stream is not None for edge in network.edges.values()) == len(OPERATORS)
    assert counts(records)["plain"] == records.tuples_in["s"]


def test_the_most_that_waits_is_not_overstated_at_operator_level() -> None:
    given = workload({"q": ["select, cost=1ms", "select, cost=1ms"]}, "at, times=[0], batch=100")
    for policy in ("fifo", "rr", "mtiq"):
        assert simulate(given, policy).queue.max_tuples == 100


def test_what_waits_on_average_is_the_sum_of_waits() -> None:
    """Little's law, exactly: one tuple waits 0, 1, … 9 times the cost."""
    given = workload({"q": "select, cost=100ms"}, "at, times=[0], batch=10", duration="2 s")
    records = simulate(given, "fcfs")
    assert records.queue.mean_tuples == pytest.approx(sum(0.1 * k for k in range(10)) / 2.0)
