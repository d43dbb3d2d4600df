"""What an expression fails on gives no result and is reported once; all else is as in a batch without it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.compile.logs import MemoryLog, Row, counted, read_by, run_leaves

from headgate.model import HeadgateError, Stream
from headgate.plan.fusion_template import template
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fused import Member, fuse
from headgate.spark.compile.map_keys import with_keys_checked
from headgate.spark.compile.prepared_query import Failure, Isolation, PreparedQuery, Result, prepare_query
from headgate.spark.compile.schemas import arrow_schema

COLUMNS = (("id", "bigint"), ("k", "int"), ("s", "string"), ("arr", "array<int>"), ("ts", "timestamp"))
STREAMS = {name: Stream(name=name, schema=COLUMNS, event_time="ts", watermark=3.0) for name in ("a", "b")}
LARGE = 9_223_372_036_854_775_807


TUMBLING, SLIDING = "GROUP BY window(ts, '4 seconds')", "GROUP BY window(ts, '6 seconds', '2 seconds')"
WITHIN = "y.ts BETWEEN x.ts - INTERVAL 30 SECONDS AND x.ts + INTERVAL 30 SECONDS"
JOINED = f"FROM a x JOIN b y ON x.id = y.id AND {WITHIN}"


class Case(NamedTuple):
    """A query, and for each of its streams a condition that holds for the tuples on which it fails."""

    sql: str
    a: str = "FALSE"
    b: str = "FALSE"


def windows(what: str, rest: str = "", by: str = TUMBLING, stream: str = "a") -> str:
    return f"SELECT window.start AS t, {what} AS n FROM {stream} {rest} {by}"


TUPLES = {
    "filter": Case("SELECT id FROM a WHERE 100 / k > 3", "k = 0"),
    "guarded filter": Case("SELECT id FROM a WHERE k <> 0 AND 100 / k > 3"),
    "written order": Case("SELECT id FROM a WHERE 100 / k > 3 AND k <> 0", "k = 0"),
    "projection": Case("SELECT id, 100 / k AS q, 100 / k + 1 AS r FROM a", "k = 0"),
    "after a filter": Case("SELECT id, 100 / k AS q FROM a WHERE id > 1", "k = 0 AND id > 1"),
    "null is no failure": Case("SELECT id, CAST(s AS int) AS n FROM a WHERE s IS NULL OR s <> 'x'"),
    "cast": Case("SELECT CAST(s AS int) AS n FROM a", "s = 'x'"),
    "implicit cast": Case("SELECT id FROM a WHERE s > 4", "s = 'x'"),
    "index": Case("SELECT id, arr[2] AS third FROM a", "size(arr) < 3"),
    "map": Case("SELECT to_json(map('n', 1, 'x', 1, coalesce(s, 'o'), k)) AS m FROM a", "s = 'x'"),
    "maps together": Case(
        "SELECT to_json(map_concat(map('n', 0, 'x', 1), map(coalesce(s, 'o'), k))) AS m FROM a", "s = 'x'"
    ),
    "map of arrays": Case("SELECT to_json(map_from_arrays(arr, arr)) AS m FROM a", "size(arr) = 9"),
    "map of entries": Case(
        "SELECT to_json(map_from_entries(array(struct('n' AS u, 1 AS v), struct('x' AS u, 2 AS v), "
        "struct(s AS u, k AS v)))) AS m FROM a",
        "s = 'x' OR s IS NULL",
    ),
    "map of a text": Case(
        "SELECT to_json(str_to_map(concat('n:0,x:1,', coalesce(s, 'o'), ':2'))) AS m FROM a", "s = 'x'"
    ),
    "keys of a map": Case(
        "SELECT to_json(transform_keys(map('n', 1, 'm', k), (key, v) -> if(s = 'x', 'o', key))) AS m FROM a", "s = 'x'"
    ),
    "variant": Case("SELECT to_json(parse_json(s)) AS m FROM a", "s = 'x'"),
    "subquery": Case("SELECT q + 1 AS r FROM (SELECT 100 / k AS q, s FROM a) WHERE s = '1'", "k = 0 AND s = '1'"),
    "unused column": Case("SELECT CAST(s AS int) AS n FROM (SELECT 100 / k AS q, s FROM a)", "s = 'x'"),
    "tumbling sum": Case(windows("sum(id DIV k)"), "k = 0"),
    "several functions": Case(windows("max(100 / k) + min(10 / k) AS m, count(*)"), "k = 0"),
    "sliding": Case(windows("max(100 / k) + min(10 / k)", by=SLIDING), "k = 0"),
    "filtered aggregate": Case(windows("sum(100 / k) FILTER (WHERE k <> 0) AS m, count(*)")),
    "filtered among failing ones": Case(
        windows("sum(100 / k) FILTER (WHERE k <> 0) AS m, max(50 / k) FILTER (WHERE k > 0) AS l, max(CAST(s AS int))"),
        "s = 'x'",
    ),
    "failing filter of an aggregate": Case(windows("count(*) FILTER (WHERE 100 / k > 3)"), "k = 0"),
    "key": Case(windows("id % k AS g, count(*)", by=f"{TUMBLING}, id % k"), "k = 0"),
    "distinct": Case(windows("count(DISTINCT 100 / k)"), "k = 0"),
    "element_at": Case(windows("max(element_at(arr, 9))"), "size(arr) < 9"),
    "to_date": Case(windows("max(to_date(s, 'yyyy'))", "WHERE s IS NOT NULL"), "s IS NOT NULL"),
    "make_date": Case(windows("max(make_date(2000, k, 1))"), "k = 0"),
    "to_number": Case(windows("max(to_number(s, '9'))"), "s = 'x'"),
    "lambda": Case(windows("max(transform(arr, x -> 10 / x)[0])"), "exists(arr, x -> x = 0)"),
    "below an aggregate": Case(windows("count(*)", "WHERE 100 / k > 3"), "k = 0"),
    "sides of a join": Case(
        f"SELECT x.id AS i, y.k AS j {JOINED} WHERE 100 / x.k > 3 AND 100 / y.k < 90", "k = 0", "k = 0"
    ),
    "union": Case("SELECT 100 / k AS q FROM a UNION ALL SELECT CAST(s AS double) AS q FROM b", "k = 0", "s = 'x'"),
    "union that casts": Case("SELECT k AS q FROM a UNION ALL SELECT s AS q FROM b", b="s = 'x'"),
    "union of aggregates": Case(
        f"{windows('sum(100 / k)')} UNION ALL {windows('sum(CAST(s AS double))', stream='b')}", "k = 0", "s = 'x'"
    ),
    "except": Case(
        "SELECT window_start, id DIV k AS q FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) EXCEPT "
        "SELECT window_start, id % k AS q FROM TUMBLE(b, ts, INTERVAL 4 SECONDS)",
        "k = 0",
        "k = 0",
    ),
}


def rows_of(seed: int, count: int = 40) -> list[Row]:
    random = Random(seed)
    return [
        (
            random.randrange(4),
            random.choice([0, 1, 2, 7, None]),
            random.choice(["1", "5", "x", None]),
            random.choice([[1, 2, 3], [0], [4, 0, 2], [1] * 9]),
            n * 500_000,
        )
        for n in range(count)
    ]


def logs(spark: SparkSession) -> dict[str, MemoryLog]:
    del spark  # the types of a schema are read by a running Spark
    return {name: MemoryLog(arrow_schema(STREAMS[name]), rows_of(number)) for number, name in enumerate("ab")}


def prepare(spark: SparkSession, sql: str) -> PreparedQuery:
    return prepare_query(spark, plan_sql(sql, STREAMS), STREAMS, {})


def batch(spark: SparkSession, case: Case, given: dict[str, MemoryLog]) -> Counter[Row]:
    """The same SQL over the input without the tuples on which it fails."""
    failing = dead(spark, case, given)
    for name, rows in read_by(case.sql, {name: log.table for name, log in given.items()}).items():
        alive = [((name, offset),) not in failing for offset in rows["_offset"].to_pylist()]
        own = rows.select([column for column, _ in COLUMNS]).filter(pa.array(alive))
        spark.createDataFrame(own).createOrReplaceTempView(name)
    sql = case.sql
    for name in "ab":
        sql = sql.replace(
            f"TUMBLE({name}, ts, INTERVAL 4 SECONDS)",
            f"(SELECT *, window(ts, '4 seconds').start AS window_start FROM {name})",
        )
    return counted(spark.sql(sql).toArrow())


def dead(spark: SparkSession, case: Case, given: dict[str, MemoryLog]) -> set[tuple[tuple[str, int], ...]]:
    """The tuples on which a query fails, as the offsets of failures."""
    held = {name: conditions_held(spark, name, given[name].table) for name in "ab"}
    return {((name, offset),) for name in "ab" for offset in held[name][getattr(case, name)]}


_held: dict[str, dict[str, list[int]]] = {}  # the rows of all tests are the same


def conditions_held(spark: SparkSession, name: str, rows: pa.Table) -> dict[str, list[int]]:
    """For which offsets of a stream each condition of any case holds; all of them are one job of Spark, done once."""
    if name not in _held:
        conditions = sorted({getattr(case, name) for case in (*TUPLES.values(), *OTHERS.values())})
        found = spark.createDataFrame(rows).selectExpr("_offset", *conditions).toArrow()
        offsets = found["_offset"].to_pylist()
        columns = [column.to_pylist() for column in found.columns[1:]]
        _held[name] = {
            condition: [offset for offset, holds in zip(offsets, column, strict=True) if holds]
            for condition, column in zip(conditions, columns, strict=True)
        }
    return _held[name]


def runs(prepared: PreparedQuery, given: dict[str, MemoryLog], seed: int) -> tuple[Counter[Row], list[Failure]]:
    random = Random(seed)
    cuts = sorted(random.random() for _ in range(2))
    total: Counter[Row] = Counter()
    failures: dict[object, Failure] = {}
    for leaves in run_leaves(prepared.plan, given, [[cut] * 2 for cut in cuts]):
        result = prepared.run(leaves, given)
        total += counted(result.rows.drop_columns(["_arrival", "_closes"]))
        failures.update({failure.key: failure for failure in result.failures})
    return total, list(failures.values())


@pytest.mark.parametrize("name", TUPLES)
def test_a_tuple_that_an_expression_fails_on(spark: SparkSession, name: str) -> None:
    case, given = TUPLES[name], logs(spark)
    rows, failures = runs(prepare(spark, case.sql), given, len(name))
    assert rows == batch(spark, case, given)
    assert {failure.key[0] for failure in failures} == dead(spark, case, given)
    assert len({failure.key[0] for failure in failures}) == len(failures)
    assert all(failure.reason and "\n" not in failure.reason for failure in failures)


GROUPS = {
    "rows": ["filter", "guarded filter", "projection", "after a filter", "cast", "index"],
    "tumbling": ["tumbling sum", "filtered aggregate", "failing filter of an aggregate", "element_at", "to_date"],
    "sliding": ["sliding", "sliding too"],
    "joins": [
        "sides of a join",
        "another join",
        "a guarded side",
        "a side as written",
    ],
    "orders of rows": [
        "guarded",
        "as written",
        "guarded by a subquery",
        "all columns",
        "guarded filter",
    ],
    "orders of windows": ["guarded windows", "windows as written", "windows guarded by a subquery"],
}
OTHERS = {
    "sliding too": Case(windows("count(*)", "WHERE CAST(s AS int) > 1", SLIDING), "s = 'x'"),
    "another join": Case(f"SELECT x.id, y.k + 1 AS j {JOINED} WHERE 100 / y.k > 3", b="k = 0"),
    # To Spark these are the same expression, and it computes one of them for both.
    "guarded": Case("SELECT id FROM a WHERE k = 0 OR 100 / k > 30"),
    "as written": Case("SELECT id FROM a WHERE 100 / k > 30 OR k = 0", "k = 0"),
    "guarded windows": Case(windows("count(*)", "WHERE k = 0 OR 100 / k > 30")),
    "windows as written": Case(windows("count(*)", "WHERE 100 / k > 30 OR k = 0"), "k = 0"),
    "a guarded side": Case(f"SELECT x.id, y.k AS j {JOINED} WHERE x.k = 0 OR 100 / x.k > 30"),
    "a side as written": Case(f"SELECT x.id, y.k AS j {JOINED} WHERE 100 / x.k > 30 OR x.k = 0", "k = 0"),
    # What is tested first keeps rows from what is tested next.
    "guarded by a subquery": Case("SELECT id FROM (SELECT * FROM a WHERE k <> 0) WHERE 100 / k > 3"),
    "windows guarded by a subquery": Case(
        f"SELECT window.start AS t, count(*) AS n FROM (SELECT * FROM a WHERE k <> 0) WHERE 100 / k > 3 {TUMBLING}"
    ),
    "all columns": Case("SELECT to_json(struct(*)) AS j, hash(*) AS h, 1 / k AS q FROM a", "k = 0"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_in_which_expressions_fail(spark: SparkSession, name: str) -> None:
    cases, given = [{**TUPLES, **OTHERS}[member] for member in GROUPS[name]], logs(spark)
    members = [prepare(spark, case.sql) for case in cases]
    group = fuse(members[0].catalog, [Member(template(query.plan), query) for query in members])  # type: ignore[arg-type]
    totals, failures = [Counter[Row]() for _ in cases], [dict[object, Failure]() for _ in cases]
    turns = [run_leaves(query.plan, given, [[0.3] * 2, [0.45 + n / 20] * 2]) for n, query in enumerate(members)]
    for leaves in zip(*turns, strict=True):
        for n, (rows, failed) in enumerate(group.run_isolating(leaves, given)):
            totals[n] += counted(rows.drop_columns(["_arrival", "_closes"]))
            failures[n].update({failure.key: failure for failure in failed})
    for n, case in enumerate(cases):
        assert totals[n] == batch(spark, case, given), case.sql
        assert {key[0] for key in failures[n]} == dead(spark, case, given), case.sql  # type: ignore[index]


def pairs(spark: SparkSession, given: dict[str, MemoryLog], condition: str) -> tuple[Any, set[Any]]:
    """The pairs of a join, and those for which a condition holds."""
    for name in "ab":
        spark.createDataFrame(given[name].table).createOrReplaceTempView(name)
    rows = spark.sql(f"SELECT x._offset AS o, y._offset AS p, {condition} AS dead, x.*, y.k AS j {JOINED}").toArrow()
    dead = {(("a", pair["o"]), ("b", pair["p"])) for pair in rows.to_pylist() if pair["dead"]}
    return rows, dead


@pytest.mark.parametrize("as_group", [False, True])
@pytest.mark.parametrize(
    "sql",
    [f"SELECT x.id, 100 / (x.k - y.k) AS q {JOINED}", f"SELECT x.id, 1 AS q {JOINED} AND 100 / (x.k - y.k) > 3"],
    ids=["computed", "condition"],
)
def test_a_pair_that_an_expression_fails_on(spark: SparkSession, sql: str, as_group: bool) -> None:
    given, query = logs(spark), prepare(spark, sql)
    if as_group:
        group = fuse(query.catalog, [Member(template(query.plan), query)] * 2)  # type: ignore[arg-type]
        total, failures = Counter[Row](), dict[object, Failure]()
        for leaves in run_leaves(query.plan, given, [[0.3, 0.6], [0.7, 0.6]]):
            rows, failed = group.run_isolating([leaves] * 2, given)[1]
            total += counted(rows.drop_columns(["_arrival", "_closes"]))
            failures.update({failure.key: failure for failure in failed})
    else:
        total, reported = runs(query, given, 5)
        failures = {failure.key: failure for failure in reported}
    _, dead = pairs(spark, given, "coalesce(x.k = y.k, FALSE)")
    assert {failure.key[0] for failure in failures.values()} == dead
    without = sql.replace(JOINED, f"{JOINED} AND NOT coalesce(x.k = y.k, FALSE)")
    assert total == counted(spark.sql(without).toArrow())


@pytest.mark.parametrize("as_group", [False, True])
@pytest.mark.parametrize(
    ("what", "dead"),
    [
        (f"sum(id * 0 + {LARGE} - k)", "count(k) FILTER (WHERE k < 7) > 1"),
        ("100 / (count(*) - 8)", "count(*) = 8"),
        ("count(*)", "count(*) = 8"),
    ],
    ids=["overflow", "computed", "having"],
)
def test_a_group_that_an_expression_fails_on(spark: SparkSession, what: str, dead: str, as_group: bool) -> None:
    having = " HAVING 100 / (count(*) - 8) < 1000" if what == "count(*)" else ""
    if "sum" in what:
        dead = f"try_{what} IS NULL AND count(k) > 0"
    sql, given = windows(what) + having, logs(spark)
    query = prepare(spark, sql)
    ends = set()
    total: Counter[Row] = Counter()
    group = fuse(query.catalog, [Member(template(query.plan), query)] * 2)  # type: ignore[arg-type]
    for leaves in run_leaves(query.plan, given, [[0.3], [0.55]]):
        result = Result(*group.run_isolating([leaves] * 2, given)[1]) if as_group else query.run(leaves, given)
        total += counted(result.rows.drop_columns(["_arrival", "_closes"]))
        ends |= {failure.closes for failure in result.failures}
    spark.createDataFrame(given["a"].table).createOrReplaceTempView("a")
    dead_windows = spark.sql(f"SELECT unix_micros(window.end) AS e FROM a {TUMBLING} HAVING {dead}").toArrow()
    assert ends == set(dead_windows["e"].to_pylist())
    assert ends or "sum" not in what
    good = spark.sql(windows(what.replace("sum(", "try_sum(")) + f" HAVING NOT ({dead})").toArrow()
    assert total == counted(good)


def test_a_key_that_hides_a_cast(spark: SparkSession) -> None:
    """Guarded, the equality is not hashed: only when nothing else helps."""
    query, given = prepare(spark, f"SELECT x.id AS i FROM a x JOIN b y ON x.k = y.s AND {WITHIN}"), logs(spark)
    total, failures = runs(query, given, 3)
    assert query.isolation is Isolation.JOIN_KEYS
    assert failures
    nonsense = {n for n, row in enumerate(given["b"].rows) if row[2] == "x"}
    assert {dict(failure.offsets)["b"] for failure in failures} <= nonsense
    for name in "ab":
        spark.createDataFrame(given[name].table).createOrReplaceTempView(name)
    assert total == counted(
        spark.sql(f"SELECT x.id AS i FROM a x JOIN b y ON x.k = try_cast(y.s AS int) AND {WITHIN}").toArrow()
    )


def test_groups_of_the_same_first_member(spark: SparkSession) -> None:
    """Columns that an isolating run caches for one group are not used for another one, nor for a join's other side."""
    case, given = TUPLES["filter"], logs(spark)
    members = [prepare(spark, sql) for sql in (case.sql, "SELECT id FROM a WHERE 100 / k > 9", case.sql)]
    for size in (2, 3):
        group = fuse(members[0].catalog, [Member(template(query.plan), query) for query in members[:size]])  # type: ignore[arg-type]
        turns = [list(run_leaves(query.plan, given, [[0.2 + 0.3 * n]])) for n, query in enumerate(members[:size])]
        for number in range(size):
            total: Counter[Row] = Counter()
            for leaves in zip(*turns, strict=True):
                total += counted(group.run_isolating(leaves, given)[number][0].drop_columns(["_arrival", "_closes"]))
            wanted = Case(case.sql.replace("3", "9") if number == 1 else case.sql, "k = 0")
            assert total == batch(spark, wanted, given)
    sides = [f"SELECT x.id {JOINED} WHERE 100 / {side}.k > 3" for side in ("x", "y")]
    joins = [prepare(spark, sql) for sql in sides]
    group = fuse(joins[0].catalog, [Member(template(query.plan), query) for query in joins])  # type: ignore[arg-type]
    totals = [Counter[Row](), Counter[Row]()]
    for leaves in zip(*(run_leaves(query.plan, given, [[0.5, 0.5]]) for query in joins), strict=True):
        for number, (rows, _) in enumerate(group.run_isolating(leaves, given)):
            totals[number] += counted(rows.drop_columns(["_arrival", "_closes"]))
    assert totals == [batch(spark, Case(sides[0], "k = 0"), given), batch(spark, Case(sides[1], b="k = 0"), given)]


def test_maps_that_are_nested_too_deeply_to_look_at_are_refused() -> None:
    """Each level writes out what is in it again: without an end a short query would be gigabytes of text."""
    text = "m"
    for _ in range(30):
        text = f"map_concat({text}, map('k', 1))"
    with pytest.raises(HeadgateError, match="nested too deeply"):
        with_keys_checked(text)
