"""The fixtures hold pairs: a name after `-- `, the SQL, a line `---`, and the expected tree or error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model import (
    Aggregate,
    HeadgateError,
    Join,
    Operator,
    Project,
    Select,
    Source,
    Split,
    Stream,
    Table,
    TableJoin,
    form_of,
    walk,
)
from headgate.plan.sql import plan_sql
from headgate.plan.sql.normal import form
from headgate.plan.sql.parse import expression
from headgate.plan.tree import render

FIXTURES = Path(__file__).parent / "fixtures"

STREAMS = {
    stream.name: stream
    for stream in (
        Stream(
            name="sensors",
            schema=(("id", "int"), ("room", "string"), ("temp", "int"), ("ts", "timestamp")),
            event_time="ts",
        ),
        Stream(name="alarms", schema=(("id", "int"), ("level", "int"), ("ts", "timestamp")), event_time="ts"),
        Stream(name="notes", schema=(("id", "int"), ("text", "string"), ("ts", "timestamp")), event_time="ts"),
        Stream(
            name="events",
            schema=(
                ("body", "string"),
                ("tags", "array<string>"),
                ("place", "struct<city:string>"),
                ("attrs", "map<string,string>"),
                ("ts", "timestamp"),
            ),
            event_time="ts",
        ),
        Stream(name="untimed", schema=(("id", "int"), ("ts", "timestamp"))),
        Stream(name="raw", event_time="at"),
    )
}
TABLES = {"rooms": Table(name="rooms", schema=(("code", "string"), ("name", "string"), ("floor", "int")))}


class Case(NamedTuple):
    name: str
    sql: str
    expected: str


def cases(topic: str) -> list[Case]:
    blocks = re.split(r"^-- ", (FIXTURES / f"{topic}.sql").read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [_case(block) for block in blocks]


def _case(block: str) -> Case:
    head, expected = block.split("\n---\n")
    name, _, sql = head.partition("\n")
    return Case(name, sql, expected.rstrip("\n"))


PLANNED = [case for topic in ("selection", "projection", "aggregates", "joins", "sets") for case in cases(topic)]
REFUSED = cases("refusals")


def plan(sql: str) -> Operator:
    return plan_sql(sql, STREAMS, TABLES)


@pytest.mark.parametrize("case", PLANNED, ids=lambda case: case.name)
def test_plan(case: Case) -> None:
    assert render(plan(case.sql)) == case.expected


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refusal(case: Case) -> None:
    with pytest.raises(HeadgateError) as caught:
        plan(case.sql)
    assert str(caught.value) == case.expected


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_refusal_is_one_line_with_a_place_and_advice(case: Case) -> None:
    with pytest.raises(HeadgateError) as caught:
        plan(case.sql)
    assert caught.value.hint
    assert caught.value.where.startswith("line ") or case.sql.strip() in ("", "/* nothing */")
    assert not re.search(r"[\n\x1b]|sqlglot", str(caught.value))


def expressions(node: Operator | Source) -> list[str]:
    match node:
        case Select():
            return [node.predicate]
        case Project():
            return [column.expression for column in node.columns]
        case Aggregate():
            return [node.time, *(column.expression for column in (*node.keys, *node.aggregates))]
        case Join():
            return [told for told in (node.condition, node.left_time, node.right_time) if told]
        case TableJoin():
            return [node.condition]
    return []


@pytest.mark.parametrize("case", PLANNED, ids=lambda case: case.name)
def test_every_form_is_the_form_of_itself(case: Case) -> None:
    for node in walk(plan(case.sql)):
        for told in map(form_of, expressions(node)):
            assert form(expression(told)) == told


@pytest.mark.parametrize("case", PLANNED, ids=lambda case: case.name)
def test_planning_again_gives_an_equal_plan(case: Case) -> None:
    assert plan(case.sql) == plan(case.sql.upper() if "'" not in case.sql and "`" not in case.sql else case.sql)


SAME = [
    ("select id from sensors where temp > 1", "SELECT  s.ID\nFROM Sensors AS s WHERE ((1 < S.temp)) -- hot"),
    ("SELECT id FROM sensors WHERE temp > 1 AND room = 'a'", "SELECT id FROM sensors WHERE 'a' = room AND (temp > 1)"),
    ("SELECT id FROM sensors WHERE temp > 1 AND temp > 1", "SELECT id FROM sensors WHERE temp > 1"),
    ("SELECT id FROM sensors WHERE id = 1 OR id = 2", "SELECT id FROM sensors WHERE id == 2 OR id = 1"),
    ("SELECT id FROM sensors WHERE temp != 1", "SELECT id FROM sensors WHERE 1 <> temp"),
    ("SELECT id FROM sensors WHERE room NOT IN ('a')", "SELECT id FROM sensors WHERE NOT (room IN ('a'))"),
    ("SELECT CAST(id AS string) AS i FROM sensors", "SELECT id::string AS i FROM sensors"),
    ("SELECT id FROM sensors", "WITH a AS (SELECT * FROM sensors) SELECT x.id FROM (SELECT * FROM a) x"),
    ("SELECT * FROM sensors WHERE temp > 1", "SELECT id, room, temp, ts FROM sensors WHERE temp > 1"),
    (
        "SELECT upper(hash(s.*)) AS h, coalesce(*) AS c FROM sensors s",
        "SELECT upper(hash(id, room, temp, ts)) AS h, coalesce(id, room, temp, ts) AS c FROM sensors",
    ),
    (
        "SELECT max(array(*)) AS m, count(DISTINCT *) AS n FROM sensors GROUP BY window(ts, '10 seconds')",
        "SELECT max(array(id, room, temp, ts)) AS m, count(DISTINCT id, room, temp, ts) AS n FROM sensors "
        "GROUP BY window(ts, '10 seconds')",
    ),
    (
        "SELECT room, count(*) AS n FROM sensors GROUP BY window(ts, '10 seconds'), room",
        "SELECT room, COUNT(*) n FROM TUMBLE(TABLE sensors, DESCRIPTOR(ts), INTERVAL '10' SECOND) "
        "GROUP BY room, window_start, window_end",
    ),
    (
        "SELECT count(*) AS n FROM sensors GROUP BY window(ts, '1 minute', '5 seconds'), id, room",
        "SELECT count(*) AS n FROM HOP(sensors, ts, INTERVAL 5 SECONDS, INTERVAL 60 SECONDS) "
        "GROUP BY room, id, window_end",
    ),
    (
        "SELECT a.id FROM sensors a JOIN alarms b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE",
        "SELECT p.id FROM sensors p, alarms q "
        "WHERE p.ts <= q.ts AND q.id = p.id AND p.ts + INTERVAL '60' SECOND >= q.ts",
    ),
    (
        "SELECT a.id FROM sensors a JOIN alarms b ON a.id = b.id AND a.ts = b.ts WHERE b.level > 2",
        "SELECT a.id FROM sensors a JOIN alarms b ON b.ts = a.ts AND 2 < b.level AND b.id = a.id",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_written_differently_is_equal(one: str, other: str) -> None:
    assert plan(one) == plan(other)


DIFFERENT = [
    ("SELECT id FROM sensors WHERE temp > 1", "SELECT id FROM sensors WHERE temp >= 1"),
    ("SELECT id FROM sensors WHERE room = 'a'", "SELECT id FROM sensors WHERE room = 'A'"),
    ("SELECT id FROM sensors WHERE temp - (id - 1) > 0", "SELECT id FROM sensors WHERE temp - id - 1 > 0"),
    ("SELECT id FROM sensors WHERE NOT (id = 1 OR id = 2)", "SELECT id FROM sensors WHERE NOT id = 1 OR id = 2"),
    ("SELECT id FROM sensors WHERE (id | 1) & 3 = 1", "SELECT id FROM sensors WHERE id | 1 & 3 = 1"),
    ("SELECT id AS a FROM sensors", "SELECT id AS b FROM sensors"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_means_something_else_is_not_equal(one: str, other: str) -> None:
    assert plan(one) != plan(other)


def test_queries_share_what_they_have_in_common() -> None:
    count = plan("SELECT room, count(*) AS n FROM sensors x WHERE x.temp > 9 GROUP BY window(ts, '10 seconds'), room")
    again = plan("SELECT count(*) AS many FROM sensors WHERE 9 < temp GROUP BY room, window(ts, '10 seconds')")
    joined = plan("SELECT s.id FROM sensors s JOIN alarms a ON s.id = a.id AND s.ts = a.ts AND s.temp > 9")
    assert count != again
    assert count.inputs == again.inputs
    [hot] = [node for node in walk(count) if isinstance(node, Select)]
    assert hot in list(walk(joined))


def test_a_join_names_its_sides_and_times() -> None:
    sql = "SELECT b.id FROM sensors a JOIN sensors b ON a.id = b.id AND b.ts BETWEEN a.ts - INTERVAL 2 SECONDS AND a.ts"
    [join] = [node for node in walk(plan(sql)) if isinstance(node, Join)]
    assert (join.left, join.right) == ("sensors", "sensors_2")
    assert (join.left_time, join.right_time) == ("sensors.ts", "sensors_2.ts")
    assert (join.lower, join.upper) == (-2.0, 0.0)
    assert join.inputs == (Source("sensors", "sensors"), Source("sensors", "sensors"))


def test_a_join_of_windows_bounds_their_starts() -> None:
    sql = next(case.sql for case in cases("joins") if case.name == "Spark's window columns joined")
    [join] = [node for node in walk(plan(sql)) if isinstance(node, Join)]
    assert (join.left_time, join.right_time) == ("sensors.window.start", "alarms.window.start")


def test_a_split_is_the_same_node_at_each_use() -> None:
    hot = "WITH hot AS (SELECT id FROM sensors WHERE temp > 9)"
    made = plan(f"{hot} SELECT id FROM hot WHERE id > 1 UNION ALL SELECT id FROM hot")
    first, second = (node for node in walk(made) if isinstance(node, Split))
    assert first == second


def test_stream_names_are_found_whatever_their_case() -> None:
    assert plan("SELECT id FROM SENSORS") == plan("SELECT id FROM `Sensors`")


# Conjuncts over both streams, with {a} and {b} for the aliases.
CONJUNCTS = [
    "{a}.id = {b}.id",
    "{b}.ts >= {a}.ts - INTERVAL 5 SECONDS",
    "{b}.ts <= {a}.ts + INTERVAL '1' MINUTE",
    "{a}.temp > 90",
    "{b}.level BETWEEN 1 AND 3",
    "({a}.room = 'x' OR {a}.room LIKE 'y%')",
]
MAY_FAIL = "{a}.temp + {b}.level > 7"  # what stands behind it stays behind it
MIRRORED = {
    "{a}.id = {b}.id": "{b}.id = {a}.id",
    "{a}.temp > 90": "90 < {a}.temp",
    "{b}.ts >= {a}.ts - INTERVAL 5 SECONDS": "{a}.ts - INTERVAL '5' SECOND <= {b}.ts",
    "{a}.temp + {b}.level > 7": "7 < ({a}.temp + {b}.level)",
}
NAMES = ["x", "y", "s1", "sensors", "alarms", "temp"]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_order_aliases_and_case_do_not_matter(data: st.DataObject) -> None:
    parts = [*data.draw(st.permutations(CONJUNCTS)), MAY_FAIL]
    a, b = data.draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True))
    flips = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    written = [MIRRORED.get(part, part) if flip else part for part, flip in zip(parts, flips, strict=True)]
    cut = data.draw(st.integers(min_value=0, max_value=len(parts)))
    on, where = " AND ".join(written[:cut]) or "TRUE", " AND ".join(written[cut:])
    if data.draw(st.booleans()):
        a, b = a.upper(), b.upper()
    body = f"SELECT {{a}}.id FROM sensors {{a}} JOIN alarms {{b}} ON {on}" + (f" WHERE {where}" if where else "")
    told = plan(
        f"SELECT p.id FROM sensors p JOIN alarms q ON {' AND '.join([*CONJUNCTS, MAY_FAIL])}".format(a="p", b="q")
    )
    assert plan(body.format(a=a, b=b)) == told


NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "c", "0", "1", "2"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
    max_leaves=4,
)
TESTS = st.recursive(
    st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), NUMBERS)
    | st.builds("{} IS NULL".format, NUMBERS)
    | st.builds("{} BETWEEN {} AND {}".format, NUMBERS, NUMBERS, NUMBERS),
    lambda inner: (
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR"]), inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    values = "(VALUES (NULL), (0), (1), (3))"
    connection.execute(f"CREATE TABLE s AS SELECT * FROM {values} x(a), {values} y(b), {values} z(c)")
    return connection


@settings(max_examples=150, deadline=None)
@given(test=TESTS)
def test_a_canonical_predicate_means_the_same(rows: duckdb.DuckDBPyConnection, test: str) -> None:
    made = form(expression(test), dict.fromkeys("abc", "int"))
    told = f"SELECT count(*) FROM s WHERE ({test}) IS DISTINCT FROM ({made})"
    assert rows.execute(told).fetchall() == [(0,)]
