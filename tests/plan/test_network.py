"""One network of all queries: what is shared, what is refused, and numbers that stay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import (
    Given,
    HeadgateError,
    Join,
    Operator,
    Project,
    QoS,
    Query,
    QueryClass,
    Select,
    Source,
    Stream,
    Target,
)
from headgate.plan import network as network_module
from headgate.plan.network import Network
from headgate.plan.sql import plan_sql

CLASSES = [QueryClass("high", 9.0), QueryClass("low", 1.0)]
STREAM = Stream(name="s", schema=(("id", "int"), ("temp", "double"), ("ts", "timestamp")), event_time="ts")
OTHER = Stream(name="t", schema=(("id", "int"), ("level", "int"), ("ts", "timestamp")), event_time="ts")


def network(*queries: Query) -> Network:
    return Network.of(queries, [STREAM, OTHER], CLASSES)


def sql(name: str, text: str) -> Query:
    return Query(name=name, query_class="high", plan=plan_sql(text, {"s": STREAM, "t": OTHER}, {}), sql=text)


def given_query(name: str, plan: Operator, query_class: str = "high") -> Query:
    return Query(name=name, query_class=query_class, plan=plan)


def select(below: Operator | Source | str = "s", name: str | None = None, cost: float = 0.0) -> Select:
    return Select(inputs=(Source(below) if isinstance(below, str) else below,), name=name, given=Given(cost=cost))


def sharing(found: Network) -> list[tuple[str, ...]]:
    return [node.queries for node in found.nodes.values()]


# -- sharing -----------------------------------------------------------------------------------------------------


def test_equal_sub_plans_of_sql_are_one() -> None:
    found = network(
        sql("p", "SELECT id, temp FROM s WHERE temp > 90"),
        sql("q", "select id from s where temp>90"),
        sql("r", "SELECT id, temp FROM s WHERE temp > 91"),
    )
    hot = next(node for node in found.nodes.values() if node.queries == ("p", "q"))
    assert isinstance(hot.operator, Select)
    assert [name for node in found.nodes.values() for name in node.queries].count("r") == len(found.operators["r"])
    assert set(found.operators["p"]) & set(found.operators["q"]) == {hot.id}
    assert not set(found.operators["r"]) & {hot.id}


def test_equal_queries_in_sql_are_one_operator_with_two_outputs() -> None:
    text = "SELECT id, temp, ts FROM s WHERE temp > 90"
    found = network(sql("p", text), sql("q", text))
    assert {node.queries for node in found.nodes.values()} == {("p", "q")}
    assert [node.emits for node in found.nodes.values() if node.emits] == [("p", "q")]


def test_operators_given_by_cost_are_shared_by_name_only() -> None:
    assert sharing(network(given_query("p", select()), given_query("q", select()))) == [("p",), ("q",)]
    assert sharing(network(given_query("p", select(name="hot")), given_query("q", select(name="hot")))) == [("p", "q")]


def test_a_shared_operator_feeds_everyone() -> None:
    hot = select(name="hot")
    found = network(given_query("p", select(hot)), given_query("q", Project(inputs=(hot,))), given_query("r", hot))
    shared = found.nodes[0]
    assert (shared.queries, shared.emits, len(shared.consumers)) == (("p", "q", "r"), ("r",), 2)
    assert shared.label == "hot"


@pytest.mark.parametrize(
    "other",
    [
        select(name="hot", cost=2.0),
        select("t", name="hot"),
        select(select(), name="hot"),
        Project(inputs=(Source("s"),), name="hot"),
        Join(inputs=(Source("s"), Source("t")), name="hot", lower=-1.0, upper=1.0),
    ],
)
def test_one_name_for_two_operators_is_refused(other: Operator) -> None:
    with pytest.raises(HeadgateError, match="operator 'hot' is already given") as error:
        network(given_query("p", select(name="hot", cost=1.0)), given_query("q", other))
    assert "query q" in str(error.value)


def test_below_a_shared_operator_everything_is_shared() -> None:
    with pytest.raises(HeadgateError, match="operator 'top' is already given"):
        network(given_query("p", select(select(), name="top")), given_query("q", select(select(), name="top")))
    found = network(*(given_query(name, select(select(name="low"), name="top")) for name in "pq"))
    assert sharing(found) == [("p", "q"), ("p", "q")]


# -- refusals ----------------------------------------------------------------------------------------------------


def test_unknown_names_are_refused() -> None:
    found = network(given_query("p", select()))
    with pytest.raises(HeadgateError, match="unknown stream 'x'"):
        found.add(given_query("q", select("x")))
    with pytest.raises(HeadgateError, match="unknown class 'x'"):
        found.add(given_query("q", select(), "x"))
    with pytest.raises(HeadgateError, match="unknown query 'x'"):
        found.remove("x")
    with pytest.raises(HeadgateError, match="unknown query 'x'"):
        found.move("x", "low")
    with pytest.raises(HeadgateError, match="unknown class 'x'"):
        found.move("p", "x")
    with pytest.raises(HeadgateError, match="unknown class 'x'"):
        found.prioritize("x", 1.0)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(HeadgateError, match="'p' is given twice"):
        network(given_query("p", select()), given_query("p", select()))
    with pytest.raises(HeadgateError, match="'p' exists already"):
        network(given_query("p", select())).add(given_query("p", select()))


# -- change ------------------------------------------------------------------------------------------------------

HOT, WET = select(name="hot"), select("t", name="wet")
POOL: Sequence[Query] = (
    given_query("a", select()),
    given_query("b", select(select())),
    given_query("c", select(HOT)),
    given_query("d", Project(inputs=(HOT,)), "low"),
    given_query("e", Join(inputs=(HOT, WET), lower=-1.0, upper=1.0)),
    given_query("f", HOT, "low"),
    sql("g", "SELECT id FROM s WHERE temp > 90"),
    sql("h", "SELECT temp FROM s WHERE temp > 90"),
    sql("i", "SELECT s.id, level FROM s JOIN t ON s.id = t.id AND t.ts BETWEEN s.ts AND s.ts + INTERVAL 1 SECOND"),
)


def sound(found: Network) -> None:
    """Everything fits together."""
    seen: set[int] = set()
    for number, node in found.nodes.items():
        assert node.id == number
        assert [found.edges[queue].port for queue in node.queues] == list(range(len(node.operator.inputs)))
        producers = {found.edges[queue].producer for queue in node.queues} - {None}
        assert producers <= seen  # operators stand after those that feed them
        seen.add(number)
        assert node.queries == tuple(name for name in found.queries if number in found.operators[name])
        for queue in node.consumers:
            assert found.edges[queue].producer == number
    assert sorted(queue for node in found.nodes.values() for queue in node.queues) == sorted(found.edges)
    for edge in found.edges.values():
        assert (edge.stream is None) != (edge.producer is None)
        assert edge.producer is None or edge.id in found.nodes[edge.producer].consumers
    assert sorted(name for node in found.nodes.values() for name in node.emits) == sorted(found.queries)


def test_numbers_of_what_is_gone_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_module, "GONE", 10)
    found = network(sql("stays", "SELECT id FROM s WHERE temp > 1"))
    operators = found.operators["stays"]
    known: list[int] = []
    for number in range(100):
        name = f"q{number}"
        found = found.add(sql(name, f"SELECT id FROM s WHERE temp > {number + 10}"))
        sound(found)
        assert found.operators["stays"] == operators
        assert found.leaves(name)
        assert not found.nodes.keys() & set(known)
        known += [operator for operator in found.operators[name] if operator not in operators]
        found = found.remove(name)
    assert len(found.numbers) < 30


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, len(POOL) - 1), max_size=25))
def test_numbers_stay_whatever_comes_and_goes(steps: list[int]) -> None:
    found = network()
    numbers: dict[tuple[str, int], int] = {}  # a query's operator by place ⇒ its number, for ever
    for step in steps:
        query = POOL[step]
        former = found
        found = found.remove(query.name) if query.name in found.queries else found.add(query)
        sound(found)
        for name, operators in found.operators.items():
            for place, number in enumerate(operators):
                assert numbers.setdefault((name, place), number) == number
        for queue in former.edges.keys() & found.edges.keys():
            assert former.edges[queue] == found.edges[queue]
        for number in former.nodes.keys() & found.nodes.keys():
            assert former.nodes[number].operator == found.nodes[number].operator


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.permutations(range(len(POOL))))
def test_sharing_does_not_depend_on_the_order(order: list[int]) -> None:
    found = network(*(POOL[number] for number in order))
    sound(found)
    shared = sorted(tuple(sorted(node.queries)) for node in found.nodes.values())
    assert shared == sorted(tuple(sorted(node.queries)) for node in network(*POOL).nodes.values())


def test_a_network_does_not_change() -> None:
    first = network(*POOL[:3])
    before = (dict(first.nodes), dict(first.edges), dict(first.queries), dict(first.numbers))
    first.add(POOL[3])
    first.remove("a")
    first.move("a", "low")
    first.prioritize("high", 1.0)
    assert (dict(first.nodes), dict(first.edges), dict(first.queries), dict(first.numbers)) == before


def test_adding_one_by_one_is_adding_all() -> None:
    one_by_one = network()
    for query in POOL:
        one_by_one = one_by_one.add(query)
    assert one_by_one == network(*POOL)


def test_classes_and_priorities_change() -> None:
    found = network(given_query("p", select()), given_query("q", select(), "low"))
    assert found.payer(["p", "q"]) == "high"
    assert found.move("p", "low").payer(["p", "q"]) == "low"
    assert found.prioritize("low", 99.0).payer(["p", "q"]) == "low"
    assert found.move("p", "low").nodes == found.nodes


def test_among_equal_classes_the_first_by_name_pays() -> None:
    assert network(*POOL).prioritize("low", 9.0).payer(["a", "d"]) == "high"


# -- targets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [None, Target(1.0)])
@pytest.mark.parametrize("of_class", [None, Target(2.0, 99.0)])
@pytest.mark.parametrize("qos", [None, QoS.of([(0, 1), (3, 1), (4, 0)])])
def test_a_target_is_the_querys_or_its_classs_or_its_graphs(
    own: Target | None, of_class: Target | None, qos: QoS | None
) -> None:
    query = Query(name="q", query_class="c", plan=select(), target=own, qos=qos)
    found = Network.of([query], [STREAM], [QueryClass("c", target=of_class)])
    assert found.target("q") == (own or of_class or (Target(3.0, 95.0) if qos else None))


@pytest.mark.parametrize("points", [[(0, 1), (1, 0)], [(0, 1), (1, 1)]])
def test_a_graph_that_falls_at_once_or_never_gives_no_target(points: list[tuple[float, float]]) -> None:
    query = Query(name="q", query_class="high", plan=select(), qos=QoS.of(points))
    assert network(query).target("q") is None


def test_a_query_that_moves_has_the_target_of_its_new_class() -> None:
    classes = [QueryClass("c", target=Target(2.0)), QueryClass("d", target=Target(5.0))]
    found = Network.of([Query(name="q", query_class="c", plan=select())], [STREAM], classes)
    assert found.move("q", "d").target("q") == Target(5.0)
