"""[[change]] entries act at their time; costs of deciding, trains, draining."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from tests.sim.builders import counts, emissions, intervals, results, traced, workload

from headgate.metrics import Records
from headgate.sim import Simulation, simulate

OVERLOADED = {
    "a": {"operators": ["select, cost=100ms"], "class": "x"},
    "b": {"operators": ["select, cost=100ms"], "class": "y"},
}


def between(times: Sequence[float], start: float, end: float) -> int:
    return sum(start < time <= end for time in times)


def test_selectivity() -> None:
    change = {"at": "5 s", "query": "q", "operator": 0, "selectivity": 0.0}
    for policy in ("fcfs", "fifo"):
        records = simulate(workload({"q": ["select, cost=1ms", "project"]}, changes=[change]), policy)
        assert results(records)["q"] == pytest.approx([number / 10 for number in range(50)])


def test_selectivity_holds_for_what_arrives_later_whenever_it_is_processed() -> None:
    change = {"at": "5 s", "query": "q", "operator": 0, "selectivity": 0.0}
    given = workload({"q": "select, cost=150ms"}, changes=[change])  # far behind
    assert results(simulate(given, "fcfs"))["q"] == pytest.approx([number / 10 for number in range(50)])


def test_selectivity_of_a_table_join_above_one() -> None:
    change = {"at": "5 s", "query": "q", "operator": 0, "selectivity": 3.0}
    operators = ["table-join, cost=1ms, selectivity=1.0", "select, cost=1ms, selectivity=1.0"]
    for trace in (None, io.StringIO()):
        given = workload({"q": operators}, changes=[change])
        assert counts(simulate(given, "fcfs", trace=trace))["q"] == 50 + 150


def test_selectivity_behind_a_union_and_of_a_join() -> None:
    streams = {"l": "constant, rate=10", "r": "constant, rate=10"}
    union = {"q": ["union, from=[l, r], cost=1ms", "select, cost=1ms, selectivity=1.0"]}
    change = {"at": "5 s", "query": "q", "operator": 1, "selectivity": 0.0}
    assert counts(simulate(workload(union, streams, changes=[change]), "fcfs"))["q"] == 100
    join = {"q": "join, from=[l, r], cost=1ms, window=10ms"}
    change = {"at": "4950 ms", "query": "q", "operator": 0, "selectivity": 0.0}
    assert counts(simulate(workload(join, streams, changes=[change]), "fcfs"))["q"] == 50


def test_selectivity_is_told_to_the_policy() -> None:
    queries = {"a": "select, cost=10ms, selectivity=0.9", "b": "select, cost=10ms, selectivity=0.5"}
    change = {"at": "5 s", "query": "a", "operator": 0, "selectivity": 0.1}
    runs = intervals(traced(workload(queries, "constant, rate=1", changes=[change]), "hr")[1])
    assert [units for start, _, _, units in runs if start % 1 < 0.005] == [(0,)] * 5 + [(1,)] * 5


def test_cost() -> None:
    change = {"at": "4950 ms", "query": "q", "operator": 0, "cost": "30 ms"}
    given = workload({"q": ["select, cost=10ms", "project, cost=1ms"]}, changes=[change])
    for trace in (None, io.StringIO()):
        (query,) = simulate(given, "fcfs", trace=trace).queries
        response = [end - start for start, end in zip(query.arrival, query.emission, strict=True)]
        assert response == pytest.approx([0.011] * 50 + [0.031] * 50)


def test_operators_of_a_name_change_together() -> None:
    queries = {
        name: ["select, name=hot, cost=10ms", f"select, cost={cost}"] for name, cost in (("a", "0s"), ("b", "0s"))
    }
    change = {"at": "4950 ms", "operator": "hot", "cost": "20 ms"}
    assert simulate(workload(queries, changes=[change]), "fcfs").busy == pytest.approx(50 * 0.01 + 50 * 0.02)


def test_rate() -> None:
    changes = [{"at": "4 s", "stream": "s", "rate": 50.0}, {"at": "8 s", "stream": "s", "rate": 5.0}]
    found = results(simulate(workload({"q": "select, cost=1us"}, changes=changes), "fcfs"))["q"]
    assert [between(found, start - 1e-9, end - 1e-9) for start, end in ((0, 4), (4, 8), (8, 10))] == [40, 200, 10]


def test_rate_may_fall_silent_and_come_back() -> None:
    changes = [{"at": "4 s", "stream": "s", "rate": 0.0}, {"at": "8 s", "stream": "s", "rate": 10.0}]
    given = workload({"q": "select, cost=1us"}, "poisson, rate=50", changes=changes)
    found = results(simulate(given, "fcfs"))["q"]
    assert between(found, 4, 8) == 0
    assert between(found, 0, 4) > 150
    assert between(found, 8, 10) > 5


def served(records: Records) -> dict[str, tuple[int, int]]:
    """How many results every query had before and after the middle."""
    found = emissions(records).items()
    return {name: (between(times, 0.0, 5.05), between(times, 5.05, 10.0)) for name, times in found}


def test_priority() -> None:
    change = {"at": "5 s", "class": "y", "priority": 10.0}
    given = workload(OVERLOADED, classes={"x": 5.0, "y": 1.0}, changes=[change], drain=False)
    found = served(simulate(given, "weighted-hr"))
    assert found["a"][0] >= 49
    assert found["b"][0] <= 1
    assert found["b"][1] >= 48
    assert found["a"][1] <= 1


def test_class() -> None:
    change = {"at": "5 s", "query": "b", "class": "z"}
    given = workload(OVERLOADED, classes={"x": 5.0, "y": 1.0, "z": 10.0}, changes=[change], drain=False)
    records = simulate(given, "weighted-hr")
    assert served(records)["b"][1] >= 48
    assert {name: len(columns) for name, columns in records.by_class().items()}["z"] >= 48


def test_policy() -> None:
    change = {"at": "5 s", "policy": "fcfs"}
    given = workload(OVERLOADED, classes={"x": 5.0, "y": 1.0}, changes=[change], drain=False)
    simulation = Simulation(given, "weighted-hr")
    found = served(simulation.run())
    assert found["b"][0] <= 1
    assert found["b"][1] >= 40  # its tuples have waited longest
    assert str(simulation.scheduler.policy) == "fcfs"


@pytest.mark.parametrize("policies", [("fifo", "fcfs"), ("hr, level=operator", "path-capacity"), ("fcfs", "rr")])
@pytest.mark.parametrize("cores", [1, 2])
def test_a_change_of_level_loses_no_tuple(policies: tuple[str, str], cores: int) -> None:
    queries = {"a": ["select, cost=30ms", "project, cost=40ms", "project, cost=20ms"], "b": ["select, cost=30ms"] * 2}
    changes = [{"at": f"{at} s", "policy": policies[at % 2]} for at in range(1, 9)]
    records = simulate(workload(queries, changes=changes, cores=cores), policies[0])
    assert counts(records) == {"a": 100, "b": 100}
    assert all(arrivals == pytest.approx([n / 10 for n in range(100)]) for arrivals in results(records).values())


def test_queries_come_and_go() -> None:
    queries = {"a": "select, cost=1ms", "b": {"operators": ["select, cost=1ms"], "start": "4950 ms", "end": "7950 ms"}}
    found = results(simulate(workload(queries), "fcfs"))
    assert found["a"] == pytest.approx([number / 10 for number in range(100)])
    assert found["b"] == pytest.approx([number / 10 for number in range(50, 80)])


def test_a_query_that_goes_takes_its_tuples_with_it() -> None:
    queries = {"a": "select, cost=1ms", "b": {"operators": ["select, cost=150ms", "project"], "end": "6 s"}}
    for policy in ("fcfs", "fifo"):
        records = simulate(workload(queries, cores=2), policy)
        assert counts(records)["a"] == 100
        assert 38 <= counts(records)["b"] <= 40
        assert records.unfinished == 0


def test_deciding_costs_what_is_asked() -> None:
    queries = dict.fromkeys("abcd", "select, cost=1ms")
    free = Simulation(workload(queries), "lsf, level=operator")
    tally = free.scheduler.policy.tally
    before = tally.computed + tally.compared
    free.run()
    charged = simulate(workload(queries, decision_cost="10 us"), "lsf, level=operator")
    assert charged.scheduling == pytest.approx(1e-5 * (tally.computed + tally.compared - before))
    assert charged.busy == pytest.approx(400 * 0.001)
    first = min(min(times) for times in emissions(charged).values())
    assert first > 0.001 + 1e-5


def test_without_draining_the_simulation_stops_at_the_duration() -> None:
    given = workload({"q": "select, cost=300ms"}, drain=False)
    records = simulate(given, "fcfs")
    assert records.seconds == 10.0
    assert counts(records) == {"q": 33}
    assert max(records.queries[0].emission) <= 10.0
    assert records.unfinished == 100 - 34
    assert records.busy == pytest.approx(10.0)


def test_with_draining_everything_is_done() -> None:
    records = simulate(workload({"q": "select, cost=300ms"}), "fcfs")
    assert records.seconds == pytest.approx(30.0)
    assert (counts(records), records.unfinished) == ({"q": 100}, 0)


def test_overheads_are_paid_per_run_and_per_call() -> None:
    operators = ["select, cost=1ms, overhead=2ms", "select, cost=3ms, overhead=4ms"]
    given = workload({"q": operators}, "at, times=[0], batch=10", run_overhead="100 ms", train=5)
    assert simulate(given, "fcfs").busy == pytest.approx(2 * (0.1 + 5 * 0.001 + 0.002 + 5 * 0.003 + 0.004))


def test_results_leave_one_by_one_within_a_run() -> None:
    given = workload({"q": ["select, cost=1ms", "project, cost=2ms"]}, "at, times=[0], batch=3", train="all")
    assert emissions(simulate(given, "fcfs"))["q"] == pytest.approx([0.005, 0.007, 0.009])
