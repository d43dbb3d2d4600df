"""What good files give."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from headgate.model import (
    Aggregate,
    Except,
    Given,
    HeadgateError,
    Join,
    Operator,
    Project,
    QoS,
    QueryClass,
    Select,
    Source,
    Stream,
    Table,
    Train,
    Union,
    Window,
)
from headgate.plan.fusion import Fuse
from headgate.plan.tree import render
from headgate.workload import Change, Workload, parse_workload, read_workload

STREAMS = """
[workload]
duration = "10 s"
[[stream]]
name = "s"
arrivals = "poisson, rate=5"
[[stream]]
name = "t"
arrivals = "constant, rate=5"
"""


def plan_of(*operators: str, reads: str = "") -> Operator:
    listed = ", ".join(f'"{text}"' for text in operators)
    return parse_workload(f'{STREAMS}[[query]]\nname = "q"\n{reads}\noperators = [{listed}]\n').queries[0].plan


def test_the_shortest_file_has_defaults(tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    path.write_text(
        'stream = [{name="s", arrivals="at, times=[0]"}]\nquery = [{name="q", from="s", operators=["select"]}]'
    )
    workload = read_workload(path)
    assert workload == Workload(
        name="short",
        duration=1.0,
        streams=(Stream(name="s", ahead=inf, arrivals="at, times=[0]"),),
        classes=(QueryClass("default", 1.0),),
        queries=workload.queries,
        directory=tmp_path,
    )
    query = workload.queries[0]
    assert (query.name, query.query_class, query.start, query.end, query.qos) == ("q", "default", 0.0, inf, None)
    assert query.plan == Select(inputs=(Source("s"),))


def test_everything_in_workload_is_read() -> None:
    workload = parse_workload("""
        [workload]
        name = "all"
        duration = "2 min"
        seed = 9
        cores = 4
        source_cores = 0
        drain = false
        load = 1.2
        train = "all"
        fuse = "class"
        noise = 0.05
        statistics = "measured"
        run_overhead = "20 ms"
        decision_cost = "1 us"
        [[stream]]
        name = "s"
        arrivals = "poisson, rate=5"
        [[query]]
        name = "q"
        from = ["s"]
        operators = ["select"]
        """)
    assert (workload.name, workload.duration, workload.seed, workload.cores) == ("all", 120.0, 9, 4)
    assert (workload.source_cores, workload.drain, workload.load, workload.train) == (0, False, 1.2, Train())
    assert (workload.fuse, workload.noise, workload.learn) == (Fuse.CLASS, 0.05, True)
    assert (workload.run_overhead, workload.decision_cost) == (0.02, 1e-6)


@pytest.mark.parametrize(
    ("written", "train"), [("100", Train(at_most=100)), ("0.3", Train(fraction=0.3)), ('"all"', Train())]
)
def test_a_train_is_a_number_a_share_or_all(written: str, train: Train) -> None:
    text = STREAMS.replace('duration = "10 s"', f'duration = "10 s"\ntrain = {written}')
    assert parse_workload(f'{text}[[query]]\nname = "q"\nfrom = "s"\noperators = ["select"]').train == train


def test_streams_and_tables_keep_what_the_engine_needs() -> None:
    workload = parse_workload("""
        [[stream]]
        name = "s"
        schema = "id bigint, price decimal(10, 2), at struct<x: int, y: int>, ts timestamp"
        event_time = "ts"
        watermark = "5 s"
        ahead = "2 min"
        source = "socket, port=9999"
        source_cost = "3 us"
        bytes = 16
        [[table]]
        name = "m"
        schema = "id bigint"
        path = "m.parquet"
        [[query]]
        name = "q"
        sql = "SELECT id FROM s WHERE id > 5"
        sink = "console"
        """)
    columns = (("id", "bigint"), ("price", "decimal(10, 2)"), ("at", "struct<x: int, y: int>"), ("ts", "timestamp"))
    assert workload.streams[0] == Stream(
        name="s",
        schema=columns,
        event_time="ts",
        watermark=5.0,
        ahead=120.0,
        source="socket, port=9999",
        source_cost=3e-6,
        bytes=16,
    )
    assert workload.tables == (Table(name="m", schema=(("id", "bigint"),), path="m.parquet"),)
    assert workload.queries[0].sink == "console"
    assert workload.duration == inf


@pytest.mark.parametrize(
    ("said", "ahead"),
    [
        ('source = "socket, port=9999"', 3600.0),
        ('source = "directory, path=d"\narrivals = "poisson, rate=1"', 3600.0),
        ('source = "poisson, rate=1"', inf),
        ('source = "steps, rates=[1], every=1s, file=f.csv"', inf),
        ('arrivals = "trace, file=t.csv"', inf),
        ('source = "socket, port=9999"\nahead = "none"', inf),
        ('source = "poisson, rate=1"\nahead = "1 h"', 3600.0),
    ],
)
def test_only_what_comes_from_outside_is_bounded_unless_a_stream_says_otherwise(said: str, ahead: float) -> None:
    stream = f'[workload]\nduration = "1 s"\n[[stream]]\nname = "s"\nschema = "ts timestamp"\nevent_time = "ts"\n{said}'
    found = parse_workload(f'{stream}\n[[query]]\nname = "q"\nsql = "SELECT ts FROM s"')
    assert found.streams[0].ahead == ahead


def test_an_operator_keeps_what_is_said_of_it() -> None:
    plan = plan_of(
        "select, cost=5ms, overhead=2us, selectivity=0.33, pass=[false, true, false], bytes=8, name=hot",
        reads='from="s"',
    )
    given = Given(cost=0.005, overhead=2e-6, selectivity=0.33, passes=(False, True, False), bytes=8)
    assert plan == Select(inputs=(Source("s"),), name="hot", given=given)
    assert plan_of("select, selectivity=0.5, attribute=x", reads='from="s"').given.attribute == "x"


def test_operators_follow_one_another() -> None:
    plan = plan_of("select", "table-join, selectivity=2.5", "project", reads='from=["s"]')
    assert render(plan).split() == ["project", "└─", "table-join", "└─", "select", "└─", "stream", "s"]


def test_a_first_join_takes_all_streams_of_the_query() -> None:
    plan = plan_of("join, window=2s", "project", reads='from=["s", "t"]')
    join = plan.inputs[0]
    assert isinstance(plan, Project)
    assert isinstance(join, Join)
    assert (join.lower, join.upper, join.inputs) == (-2.0, 2.0, (Source("s"), Source("t")))


def test_a_stream_can_be_joined_with_itself() -> None:
    assert plan_of("join, window=2s", reads='from=["s", "s"]').inputs == (Source("s"), Source("s"))


def test_a_tree_is_written_with_labels_in_any_order() -> None:
    plan = plan_of(
        "union, from=[hot, both, t], as=all",
        "select, from=s, as=hot",
        "join, from=[t, s], as=both, window=1s",
        "aggregate, from=all, window=10s, slide=5s",
    )
    assert isinstance(plan, Aggregate)
    assert plan.window == Window(10.0, 5.0)
    union = plan.inputs[0]
    assert isinstance(union, Union)
    assert [type(child) for child in union.inputs] == [Select, Join, Source]


def test_an_except_has_a_window() -> None:
    plan = plan_of("except, window=3s", reads='from=["s", "t"]')
    assert isinstance(plan, Except)
    assert plan.window == Window(3.0)


def test_what_a_query_uses_twice_is_one_operator() -> None:
    text = """
        [[query]]
        name = "q"
        from = ["s"]
        operators = [
            "select, cost=1ms",
            "split, as=both",
            "select, as=low, from=both",
            "select, as=high, from=both",
            "union, from=[low, high]",
        ]
        """
    workload = parse_workload(STREAMS + text)
    labels = [node.label for node in workload.network().nodes.values()]
    assert labels == ["q.select-0", "q.both", "q.select-2", "q.select-3", "q.union-4"]


def test_operators_of_one_name_are_shared() -> None:
    query = '[[query]]\nname = "{}"\nfrom = ["s"]\noperators = ["select, name=hot, cost=1ms", "project, cost={}"]\n'
    workload = parse_workload(STREAMS + query.format("p", "1ms") + query.format("q", "2ms"))
    assert [node.queries for node in workload.network().nodes.values()] == [("p", "q"), ("p",), ("q",)]


def test_classes_times_and_graphs_of_queries() -> None:
    workload = parse_workload(
        STREAMS
        + """
        [[class]]
        name = "high"
        priority = 60
        [[class]]
        name = "low"
        [[query]]
        name = "q"
        class = "high"
        from = "s"
        operators = ["select"]
        start = "1 s"
        end = "5 s"
        qos = [[0, 1], [0.5, 1.0], [2.0, 0.0]]
        """
    )
    query = workload.queries[0]
    assert workload.classes == (QueryClass("high", 60.0), QueryClass("low", 1.0))
    assert (query.query_class, query.start, query.end) == ("high", 1.0, 5.0)
    assert query.qos == QoS.of([[0.0, 1.0], [0.5, 1.0], [2.0, 0.0]])
    assert not workload.network().queries


def test_costs_are_put_on_operators_from_sql() -> None:
    workload = parse_workload(
        STREAMS.replace('rate=5"', 'rate=5"\nschema = "a int, ts timestamp"\nevent_time = "ts"')
        + """
        [costs]
        select = "cost=5us, selectivity=0.5"
        aggregate = "cost=7us"
        [[query]]
        name = "q"
        sql = "SELECT a, count(*) AS n FROM s WHERE a > 5 GROUP BY window(ts, '10 seconds'), a"
        """
    )
    network = workload.network()
    given = {str(node.operator.kind): node.operator.given for node in network.nodes.values()}
    assert given["select"] == Given(cost=5e-6, selectivity=0.5)
    assert given["aggregate"] == Given(cost=7e-6)
    assert given.get("project", Given()) == Given()


def test_sql_may_hold_a_dollar_where_nothing_is_drawn() -> None:
    text = STREAMS.replace('rate=5"', 'rate=5"\nschema = "a string"')
    sql = "SELECT a FROM s WHERE a LIKE '$x'"
    workload = parse_workload(f'{text}[[query]]\nname = "q"\nsql = "{sql}"')
    assert workload.queries[0].sql == sql


CHANGED = """
[[class]]
name = "c"
[[query]]
name = "q"
operators = [
    "select, from=t, as=right",
    "select, from=s, as=left",
    "join, from=[left, right], window=1s, name=pairs",
]
"""


@pytest.mark.parametrize(
    ("written", "change"),
    [
        ('stream = "s"\nrate = 50', Change(at=5.0, stream="s", rate=50.0)),
        ('class = "c"\npriority = 2', Change(at=5.0, query_class="c", priority=2.0)),
        ('query = "q"\nclass = "c"', Change(at=5.0, query="q", query_class="c")),
        ('policy = "bsd, clusters=12"', Change(at=5.0, policy="bsd, clusters=12")),
        ('operator = "pairs"\ncost = "1 ms"', Change(at=5.0, operator="pairs", cost=0.001)),
        ('query = "q"\noperator = 2\nselectivity = 0.5', Change(at=5.0, query="q", operator="pairs", selectivity=0.5)),
        # the first one written is the second of the plan: the join's left input comes first there
        ('query = "q"\noperator = 0\ncost = "1 ms"', Change(at=5.0, query="q", operator=1, cost=0.001)),
        ('query = "q"\noperator = "left"\ncost = "1 ms"', Change(at=5.0, query="q", operator=0, cost=0.001)),
    ],
)
def test_changes(written: str, change: Change) -> None:
    workload = parse_workload(f'{STREAMS}{CHANGED}[[change]]\nat = "5 s"\n{written}\n')
    assert workload.changes == (change,)


def test_a_place_counts_the_operators_of_the_network() -> None:
    workload = parse_workload(f'{STREAMS}{CHANGED}[[change]]\nat = "5 s"\nquery = "q"\noperator = 0\ncost = "1 ms"\n')
    network, place = workload.network(), workload.changes[0].operator
    assert isinstance(place, int)
    assert network.nodes[network.operators["q"][place]].operator.inputs == (Source("t"),)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    text = STREAMS + '[[query]]\nname = "q"\nfrom = "s"\noperators = ["select"]\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [query.name for query in read_workload(path).queries] == ["q"]
    path.write_bytes(b"\xef\xbb\xbf" + b"[[strem]]\n")
    with pytest.raises(HeadgateError, match=r"marked[.]toml:1: unknown table 'strem'"):
        read_workload(path)
