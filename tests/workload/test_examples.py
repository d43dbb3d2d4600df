"""The example files, and that what they say of themselves is so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headgate.model import Given, Kind, Operator, Train, walk
from headgate.plan.fusion import Fuse
from headgate.workload import Workload, read_workload

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def example(name: str) -> Workload:
    return read_workload(next(path for path in EXAMPLES if path.stem == name))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_reads_and_makes_a_network(path: Path) -> None:
    workload = read_workload(path)
    assert workload.name == path.stem
    assert list(workload.network().queries) == [query.name for query in workload.queries]


def test_example_1_is_the_documents() -> None:
    given = [query.plan.given for query in example("example-1").queries]
    assert given[0] == Given(cost=0.005, selectivity=1.0)
    assert given[1] == Given(cost=0.002, selectivity=0.33, passes=(False, True, False))


def test_filters_are_the_documents() -> None:
    workload = example("filters")
    filters = [node.given for node in walk(workload.queries[0].plan) if isinstance(node, Operator)]
    assert workload.train == Train(at_most=100)
    assert [one.overhead for one in filters] == [1.0, 0.25, 0.75]
    assert [sum(one.passes) / 10 for one in filters[:2]] == [0.9, 0.1]


def test_sensors_has_24_queries_of_three_classes() -> None:
    workload = example("sensors")
    assert Counter(query.query_class for query in workload.queries) == {"critical": 6, "normal": 11, "background": 7}
    assert [node.queries for node in workload.network().nodes.values() if len(node.queries) > 1] == [("drift", "trend")]


def test_sharaf_has_five_hundred_queries_of_equal_cost_inside() -> None:
    workload = example("sharaf-500")
    costs = Counter(query.plan.given.cost for query in workload.queries)
    assert len(workload.queries) == 500
    assert sorted(costs) == [1e-6, 2e-6, 4e-6, 8e-6, 16e-6]
    assert all(70 < count < 130 for count in costs.values())
    for query in workload.queries:
        project, join, select = (node for node in reversed(list(walk(query.plan))) if isinstance(node, Operator))
        assert [node.kind for node in (select, join, project)] == [Kind.SELECT, Kind.TABLE_JOIN, Kind.PROJECT]
        assert select.given == join.given
        assert project.given == Given(cost=select.given.cost)


def test_sql_shows_every_kind_and_shares_its_filter() -> None:
    workload = example("sql")
    network = workload.network()
    assert {node.operator.kind for node in network.nodes.values()} == set(Kind) - {Kind.READ}
    assert max(len(node.queries) for node in network.nodes.values()) == 5
    assert workload.fuse is Fuse.CLASS
    assert all(node.operator.given.cost > 0 for node in network.nodes.values())
