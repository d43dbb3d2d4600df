"""Many queries from one table."""

from __future__ import annotations

from headgate.workload import Workload, parse_workload

TEXT = """
[workload]
seed = {seed}
[[stream]]
name = "s"
arrivals = "at, times=[0]"
[[class]]
name = "a"
[[class]]
name = "b"
[[query]]
name = "q"
count = {count}
class = "$class"
from = ["s"]
draw = {{ cost = "choice, values=[1us, 2us, 4us]", share = "uniform, low=0.1, high=1.0", class = "choice, values=[a, b]", wait = "uniform, low=1ms, high=2s" }}
operators = ["select, cost=$cost, selectivity=$share", "aggregate, cost=$cost, window=$wait"]
"""  # noqa: E501


def read(seed: int = 1, count: int = 200) -> Workload:
    return parse_workload(TEXT.format(seed=seed, count=count))


def test_queries_are_numbered_from_one() -> None:
    assert [query.name for query in read(count=3).queries] == ["q1", "q2", "q3"]
    assert [query.name for query in read(count=1).queries] == ["q1"]


def test_every_query_draws_its_own_values_and_uses_them_everywhere() -> None:
    queries = read().queries
    for query in queries:
        select = query.plan.inputs[0]
        assert query.plan.given.cost == select.given.cost  # type: ignore[union-attr]
        assert 0.1 <= select.given.selectivity <= 1.0  # type: ignore[union-attr, operator]
        assert 0.001 <= query.plan.window.size <= 2.0  # type: ignore[attr-defined]
    assert {query.plan.given.cost for query in queries} == {1e-6, 2e-6, 4e-6}
    assert {query.query_class for query in queries} == {"a", "b"}
    assert len({query.plan.window.size for query in queries}) == len(queries)  # type: ignore[attr-defined]


def test_the_seed_and_the_name_decide_what_is_drawn() -> None:
    assert read(seed=5).queries == read(seed=5).queries
    assert read(seed=5).queries != read(seed=6).queries
    assert read(count=20).queries == read(count=200).queries[:20]


def test_a_query_alone_can_draw_too() -> None:
    alone = parse_workload(TEXT.format(seed=1, count=1).replace("count = 1\n", ""))
    assert [query.name for query in alone.queries] == ["q"]
