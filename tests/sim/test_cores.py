"""Several cores, and cores that read sources."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.sim.builders import emissions, intervals, traced, workload

from headgate.sim import simulate

SHARING = {
    "a": ["select, name=hot, cost=1ms, selectivity=0.5", "project, cost=2ms"],
    "b": ["select, name=hot, cost=1ms, selectivity=0.5", "select, cost=3ms"],
    "c": ["select, cost=4ms"],
    "d": ["select, cost=1ms", "select, cost=5ms"],
}
POLICIES = ["fcfs", "hr, level=operator", "rr", "lsf, train=4", "random, level=operator"]


@pytest.mark.parametrize("policy", POLICIES)
def test_no_unit_runs_twice_at_once_and_no_core_two_runs(policy: str) -> None:
    runs = intervals(traced(workload(SHARING, "poisson, rate=60", cores=3, duration="3 s"), policy)[1])
    for key in ({units for _, _, _, units in runs}, {worker for _, _, worker, _ in runs}):
        for one in key:
            own = sorted((start, end) for start, end, worker, units in runs if one in (worker, units))
            assert all(end <= start + 1e-12 for (_, end), (start, _) in pairwise(own))
    assert {worker for _, _, worker, _ in runs} == {0, 1, 2}


@pytest.mark.parametrize("policy", POLICIES)
def test_more_cores_are_done_sooner(policy: str) -> None:
    ends = []
    for cores in (1, 2, 4):
        records = simulate(workload(SHARING, "at, times=[0], batch=50", cores=cores, duration="1 ms"), policy)
        ends.append(records.seconds)
        assert records.workers == cores
    assert ends[0] > ends[1] >= ends[2]


def test_two_cores_halve_the_time_of_two_equal_queries() -> None:
    given = workload({"a": "select, cost=10ms", "b": "select, cost=10ms"}, "at, times=[0], batch=5", cores=2)
    found = emissions(simulate(given, "fcfs"))
    assert found["a"] == found["b"] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.05])


def test_the_cores_share_the_work() -> None:
    given = workload(dict.fromkeys("abcd", "select, cost=10ms"), "at, times=[0], batch=25", cores=2, duration="1 s")
    records = simulate(given, "fcfs")
    assert records.busy == pytest.approx(1.0)
    assert max(map(max, emissions(records).values())) == pytest.approx(0.5)


def test_reading_a_source_takes_its_time() -> None:
    streams = {"s": {"arrivals": "at, times=[0, 0, 0]", "source_cost": "10 ms"}}
    query = simulate(workload({"q": "select, cost=1ms"}, streams), "fcfs").queries[0]
    assert query.arrival.tolist() == [0.0, 0.0, 0.0]  # arrived when it came, not when it was read
    assert query.emission.tolist() == pytest.approx([0.011, 0.021, 0.031])


@pytest.mark.parametrize(("cores", "emitted"), [(1, [0.011, 0.021]), (2, [0.011, 0.011])])
def test_streams_take_turns_on_source_cores(cores: int, emitted: list[float]) -> None:
    about = {"arrivals": "at, times=[0]", "source_cost": "10 ms"}
    queries = {"a": "select, from=x, cost=1ms", "b": "select, from=y, cost=1ms"}
    given = workload(queries, {"x": about, "y": about}, source_cores=cores, cores=2)
    found = emissions(simulate(given, "fcfs"))
    assert sorted(found["a"] + found["b"]) == pytest.approx(emitted)


def test_a_batch_is_read_tuple_by_tuple() -> None:
    streams = {"s": {"arrivals": "at, times=[0], batch=5", "source_cost": "10 ms"}}
    query = simulate(workload({"q": "select, cost=1ms"}, streams), "fcfs").queries[0]
    assert query.emission[0] == pytest.approx(0.051)
