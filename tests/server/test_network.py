"""The network as a graph: what is shared is there once, what waits stands at its edge, and tenants see their own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Http, until

from headgate.model import Aggregate, Join, Project, Query, QueryClass, Select, Source, TableJoin, Window
from headgate.server.live.numbers import query_numbers
from headgate.server.live.response_times import TimesCache
from headgate.server.live.snapshots import Snapshot
from headgate.server.workspace.names import Names
from headgate.server.workspace.network import network_graph
from headgate.spark.machine.network_views import NetworkView, ScheduledQuery
from headgate.spark.machine.plan_views import JobView
from headgate.spark.machine.recent_results import Committed
from headgate.spark.machine.views import Overview, QueryView

HOT = Select(inputs=(Source("s"),), predicate="temp > 90")
COUNT = Aggregate(inputs=(HOT,), window=Window(5.0, 5.0), keys=())
OWN = Select(inputs=(Source("acme..s"),), predicate="acme..s.temp > 90")


def view(name: str, plan: Any, query_class: str = "low", **more: Any) -> QueryView:
    results = Committed(np.full(20, 995.0), np.full(20, 0.5))
    plain = QueryView(
        query=Query(name=name, query_class=query_class, plan=plan),
        columns=None,
        priority={"low": 1.0, "high": 10.0}[query_class],
        state="running",
        error="",
        waiting=7,
        oldest_wait=1.5,
        runs=3,
        jobs=3,
        tuples_in=100,
        tuples_out=20,
        rate=10.0,
        late=0,
        skipped=0,
        undelivered=0,
        recent=(results,),
        classes=(),
    )
    return replace(plain, **more)


def snapshot(*views: QueryView) -> Snapshot:
    classes = {name: QueryClass(name, 1.0) for name in ("low", "high")}
    overview = Overview("express", "", "", 1, 1, 1, classes, views, ("",), ())
    queries = {one.query.name: query_numbers(one, TimesCache(), 1000.0, 0) for one in views}
    streams = {name: {"rate": rate} for name, rate in (("s", 30.0), ("t", 10.0), ("acme..s", 5.0))}
    return Snapshot(1, 1000.0, 10.0, 1, overview, queries, streams)


def scheduled(waiting: int, cost: float | None = 0.25, selectivity: float = 0.5, leaf: tuple[int, ...] = (0,)) -> Any:
    return ScheduledQuery({(): JobView(cost, 0.0, selectivity, 1)}, {leaf: waiting})


def graph(view: NetworkView, taken: Snapshot, tenant: str = "") -> Any:
    made = network_graph(view, taken, Names(tenant))
    nodes = {node["id"]: node for node in made["nodes"]}
    assert len(nodes) == len(made["nodes"])
    edges = {(edge["from"], edge["to"]): (edge["rate"], edge["waiting"]) for edge in made["edges"]}
    assert {end for edge in edges for end in edge} <= nodes.keys()
    return nodes, edges, made["groups"]


def test_what_a_group_shares_is_one_node() -> None:
    seen = NetworkView({"one": scheduled(7), "two": scheduled(9, leaf=(0, 0))}, (("one", "two"),))
    nodes, edges, groups = graph(seen, snapshot(view("one", HOT), view("two", COUNT, "high", waiting=9)))
    shared = nodes["operator:one:root"]
    assert (shared["kind"], shared["operator"], shared["text"]) == ("operator", "select", "temp > 90")
    assert (shared["queries"], shared["waiting"], shared["group"]) == (["one", "two"], 9, "group:one")
    assert (shared["cost"], shared["selectivity"]) == (0.25, 0.5)  # the job of "one" ends here
    assert nodes["operator:two:root"]["queries"] == ["two"]
    assert edges["stream:s", "operator:one:root"] == (10.0, 9)
    assert edges["operator:one:root", "operator:two:root"] == (10.0, 0)
    assert edges["operator:two:root", "query:two"] == (2.0, 0)  # results of the last 10 s
    assert nodes["stream:s"] == {
        "id": "stream:s",
        "kind": "stream",
        "text": "s",
        "queries": ["one", "two"],
        "waiting": 9,
        "rate": 30.0,
    }
    assert (nodes["query:two"]["class"], nodes["query:two"]["waiting"]) == ("high", 9)
    assert groups == [
        {
            "id": "group:one",
            "class": "high",
            "queries": ["one", "two"],
            "waiting": 16,
            "oldest_wait": 1.5,
            "rate": 20.0,
            "runs": 3,
        }
    ]


def test_queries_that_run_apart_share_streams_alone() -> None:
    seen = NetworkView({"one": scheduled(1, None), "two": scheduled(2)}, (("one",), ("two",)))
    nodes, _, groups = graph(seen, snapshot(view("one", HOT), view("two", HOT)))
    operators = [node for node in nodes.values() if node["kind"] == "operator"]
    assert [node["queries"] for node in operators] == [["one"], ["two"]]
    assert ["cost" in node for node in operators] == [False, True]
    assert [group["id"] for group in groups] == ["group:one", "group:two"]


def test_joins_read_streams_by_their_rates_and_tables_from_the_left() -> None:
    joined = Join(inputs=(Source("s"), Source("t")), condition="s.id = t.id", lower=-1.0, upper=1.0)
    plan = TableJoin(inputs=(joined,), table="halls", condition="id")
    seen = NetworkView({"q": ScheduledQuery({(0,): JobView(0.1, 0.0, 0.2, 1)}, {(0, 0): 4, (0, 1): 5})}, (("q",),))
    nodes, edges, _ = graph(seen, snapshot(view("q", plan)))
    assert edges["stream:s", "operator:q:0"] == (7.5, 4)
    assert edges["stream:t", "operator:q:0"] == (2.5, 5)
    assert nodes["operator:q:0"]["waiting"] == 9
    assert edges["operator:q:0", "operator:q:root"] == (2.0, 0)  # what enters, times the selectivity
    assert edges["table:halls", "operator:q:root"] == (0.0, 0)
    assert (nodes["table:halls"]["kind"], nodes["table:halls"]["queries"]) == ("table", ["q"])


def test_paused_queries_are_there_and_done_ones_are_not() -> None:
    taken = snapshot(view("paused", HOT, state="paused", rate=0.0), view("done", HOT, state="done"))
    nodes, edges, groups = graph(NetworkView({}, ()), taken)
    assert "query:done" not in nodes
    assert ("group" in nodes["query:paused"], groups) == (False, [])
    assert edges["stream:s", "operator:paused:root"] == (0.0, 0)


def test_a_tenant_sees_its_own_alone() -> None:
    group = (("rival..first", "acme..hot", "ops"),)
    taken = snapshot(
        view("rival..first", Project(inputs=(Source("s"),)), "high"), view("acme..hot", OWN), view("ops", OWN, "high")
    )
    seen = NetworkView({name: scheduled(5) for name in group[0]} | {"acme..hot": scheduled(3)}, group)
    nodes, edges, groups = graph(seen, taken, "acme")
    assert nodes.keys() == {"stream:s", "operator:hot:root", "query:hot"}
    assert nodes["operator:hot:root"]["text"] == "s.temp > 90"
    assert edges["stream:s", "operator:hot:root"] == (10.0, 3)
    assert [(one["id"], one["class"], one["queries"], one["waiting"]) for one in groups] == [
        ("group:hot", "low", ["hot"], 7)
    ]
    text = json.dumps([nodes, groups])
    assert "rival" not in text
    assert "ops" not in text
    assert ".." not in text


@pytest.fixture(scope="module")
def small(serve: Serve) -> Http:
    return serve()


def test_the_graph_of_a_server(small: Http) -> None:
    small.post("/v1/streams", {"name": "n_readings", "schema": "id bigint, v double"})
    sql = "SELECT id FROM n_readings WHERE v > 5"
    for name in ("n.one", "n.two"):
        small.post("/v1/queries", {"name": name, "sql": sql})
    small.post("/v1/queries", {"name": "n.paused", "sql": sql})
    small.post("/v1/queries/n.paused/pause")
    small.lines("n_readings", [{"id": number, "v": number} for number in range(10)])
    until(lambda: small.get("/v1/status"), lambda reply: reply.json["queries"]["n.two"]["tuples_out"] == 4)
    found = small.get("/v1/network").json
    nodes = {node["id"]: node for node in found["nodes"]}
    assert nodes["stream:n_readings"]["queries"] == ["n.one", "n.paused", "n.two"]
    assert nodes["query:n.one"]["group"] == nodes["query:n.two"]["group"]
    assert "group" not in nodes["query:n.paused"]
    (group,) = found["groups"]
    assert group["queries"] == ["n.one", "n.two"]
    root = next(edge["from"] for edge in found["edges"] if edge["to"] == "query:n.two")
    assert nodes[root]["queries"] == ["n.one", "n.two"]
    assert nodes[root]["selectivity"] == pytest.approx(0.4)
    status = small.get("/v1/status").json
    assert status["queries"]["n.one"]["last_commit"] <= status["at"]
    assert status["queries"]["n.paused"]["waiting"] == 10
    assert status["streams"]["n_readings"]["lag"]["query"] == "n.paused"
    assert status["load"]["running"] > 0
    assert status["disk"]["full"] is False
    assert status["disk"]["free"] > 0
