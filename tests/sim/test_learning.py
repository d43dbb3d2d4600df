"""Measured statistics: the scheduler finds out by itself what operators do."""

from __future__ import annotations

import pytest
from tests.sim.builders import workload

from headgate.sim import Simulation
from headgate.workload import Workload

OPERATORS = ["select, cost=4ms, selectivity=0.4", "table-join, cost=2ms, selectivity=0.7"]


def misled(given: Workload, policy: str = "hr") -> Simulation:
    """A simulation whose scheduler begins with wrong numbers."""
    simulation = Simulation(given, policy)
    for known in simulation.scheduler.measured.operators.values():
        known.cost, known.selectivity = 1.0, 0.001
    return simulation


@pytest.mark.parametrize("policy", ["hr", "bsd, level=operator", "fcfs, train=all"])
def test_cost_and_selectivity_converge_to_the_given_ones(policy: str) -> None:
    given = workload({"q": OPERATORS}, "constant, rate=20, batch=5", statistics="measured", duration="20 s")
    simulation = misled(given, policy)
    simulation.run()
    first, second = simulation.scheduler.measured.operators.values()
    assert [first.cost, second.cost] == pytest.approx([0.004, 0.002])
    assert first.selectivity == pytest.approx(0.4, abs=0.35)  # of few tuples, the newest weighing most
    if "all" in policy:
        assert first.selectivity == pytest.approx(0.4, abs=0.15)


def test_a_change_is_noticed_without_being_told() -> None:
    changes = [
        {"at": "5 s", "query": "q", "operator": 0, "cost": "9 ms"},
        {"at": "5 s", "query": "q", "operator": 0, "selectivity": 1.0},
    ]
    given = workload({"q": "select, cost=2ms, selectivity=0.1"}, changes=changes, statistics="measured")
    simulation = Simulation(given, "hr")
    simulation.run()
    (known,) = simulation.scheduler.measured.operators.values()
    assert known.cost == pytest.approx(0.009, rel=0.01)
    assert known.selectivity == pytest.approx(1.0, abs=0.01)


def test_overhead_and_cost_are_told_apart() -> None:
    given = workload({"q": "select, cost=2ms, overhead=30ms"}, "poisson, rate=60", statistics="measured", train="all")
    simulation = misled(given)
    simulation.run()
    (known,) = simulation.scheduler.measured.operators.values()
    assert [known.cost, known.overhead] == pytest.approx([0.002, 0.030])


def test_what_is_given_stays_where_nothing_is_measured() -> None:
    simulation = misled(workload({"q": OPERATORS}))
    simulation.run()
    assert {known.cost for known in simulation.scheduler.measured.operators.values()} == {1.0}


def test_the_policy_follows_what_is_learned() -> None:
    """Both are believed equal; the one that passes more tuples is found out and then runs first."""
    queries = {"poor": "select, cost=1ms, selectivity=0.05", "rich": "select, cost=1ms, selectivity=0.95"}
    given = workload(queries, "constant, rate=20, batch=10", statistics="measured")
    simulation = misled(given)
    records = {query.query: query for query in simulation.run().queries}
    waits = {
        name: [end - start for start, end in zip(query.arrival, query.emission, strict=True) if start > 8]
        for name, query in records.items()
    }
    assert max(waits["rich"]) < min(waits["poor"])
