"""However runs are cut and interleaved, their results together are the same SQL run once over all rows.

Late rows count where no window is above them.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.conftest import ALL
from tests.spark.compile.logs import MemoryLog, Row, batch_views, counted, naive, of_stream, read_by, results

from headgate.model import Stream, Table
from headgate.plan.sql import plan_sql
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.compile.stored_tables import stored

STREAMS = {
    stream.name: stream
    for stream in (
        Stream(
            name="a",
            schema=(("id", "bigint"), ("v", "int"), ("s", "string"), ("ts", "timestamp")),
            event_time="ts",
            watermark=3.0,
        ),
        Stream(
            name="b", schema=(("id", "bigint"), ("w", "bigint"), ("ts", "timestamp")), event_time="ts", watermark=3.0
        ),
        Stream(
            name="c",
            schema=(("id", "bigint"), ("p", "decimal(6,2)"), ("ts", "timestamp")),
            event_time="ts",
            watermark=3.0,
        ),
    )
}
TABLES = {"rooms": Table(name="rooms", schema=(("id", "bigint"), ("label", "string"), ("floor", "int")))}
ROOMS = pa.table(
    {"id": [1, 2, 2, None], "label": ["x", "y", "z", "none"], "floor": pa.array([1, 2, None, 4], pa.int32())}
)


class Case(NamedTuple):
    """A query; its SQL for a batch of Spark, where windows may be written otherwise; its SQL for DuckDB, or none."""

    name: str
    sql: str
    batch: str = ""
    duck: str = ""


def same(name: str, sql: str) -> Case:
    return Case(name, sql, sql, sql)


def spark_only(name: str, sql: str) -> Case:
    return Case(name, sql, sql)


TUMBLED = "(SELECT *, window(ts, '4 seconds').start AS window_start, window(ts, '4 seconds').end AS window_end FROM {})"
JOIN = "FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 2 SECONDS"
JOIN_IN_TIME = JOIN.replace("FROM a x JOIN b y", "FROM a_in_time x JOIN b_in_time y")

STATELESS = [
    same("filter", "SELECT * FROM a WHERE v > 2 AND id IS NOT NULL"),
    same("everything", "SELECT * FROM a"),
    same(
        "expressions",
        "SELECT id + 1 AS next, CASE WHEN v > 2 THEN 'high' WHEN v IS NULL THEN 'none' ELSE s END AS kind, "
        "CAST(v AS string) AS text, coalesce(s, '-') AS s, v * 2 - id AS d FROM a WHERE s LIKE 'a%' OR v IN (1, 3)",
    ),
    same("table join", "SELECT x.id, r.label, x.v FROM a x JOIN rooms r ON x.id = r.id AND r.floor >= 1"),
    same(
        "left table join",
        "SELECT x.id, r.label FROM a x LEFT JOIN rooms r ON x.id = r.id WHERE r.label IS NULL OR x.v > 1",
    ),
    same("union", "SELECT id, v FROM a WHERE v > 1 UNION ALL SELECT w, id FROM b UNION ALL SELECT id, id FROM c"),
    same(
        "split",
        "WITH h AS (SELECT x.id, x.v, r.label FROM a x JOIN rooms r ON x.id = r.id WHERE v > 0) "
        "SELECT id, label FROM h WHERE v > 2 UNION ALL SELECT v, label FROM h WHERE v < 2",
    ),
]
WINDOWS = [
    Case(
        "tumbling",
        "SELECT window_start, id, count(*) AS n, sum(v) AS total FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) "
        "WHERE v > 0 GROUP BY window_start, id HAVING count(*) > 1",
        "SELECT window.start, id, count(*), sum(v) FROM a WHERE v > 0 GROUP BY window(ts, '4 seconds'), id "
        "HAVING count(*) > 1",
        "SELECT time_bucket(INTERVAL 4 SECONDS, ts) AS t, id, count(*), sum(v) FROM a WHERE v > 0 AND ts IS NOT NULL "
        "GROUP BY t, id HAVING count(*) > 1",
    ),
    spark_only(
        "sliding",
        "SELECT window.start AS began, window.end AS ended, max(v) AS high, count(DISTINCT s) AS kinds, "
        "sum(v) FILTER (WHERE id = 1) AS ones FROM a GROUP BY window(ts, '6 seconds', '2 seconds')",
    ),
    spark_only(
        "sliding that does not divide",
        "SELECT window.end AS ended, id, sum(v) AS total FROM a GROUP BY window(ts, '5 seconds', '3 seconds'), id",
    ),
    spark_only(
        "union of aggregates",
        "SELECT window.start AS t, count(*) AS n FROM a GROUP BY window(ts, '4 seconds') UNION ALL "
        "SELECT window.start, sum(w) FROM b WHERE w > 0 GROUP BY window(ts, '4 seconds', '2 seconds')",
    ),
    spark_only("distinct", "SELECT DISTINCT window(ts, '4 seconds') AS w, id, s FROM a"),
    spark_only(
        "aggregate over a union",
        "SELECT window.start AS t, count(*) AS n, sum(q) AS q FROM (SELECT ts, v AS q FROM a UNION ALL "
        "SELECT ts, w FROM b) AS u GROUP BY window(ts, '6 seconds', '3 seconds')",
    ),
    spark_only(
        "aggregate of an aggregate",
        "SELECT window.start AS t, max(n) AS most FROM (SELECT window.start AS began, id, count(*) AS n FROM a "
        "GROUP BY window(ts, '2 seconds'), id) GROUP BY window(began, '6 seconds')",
    ),
    spark_only(
        "sliding over sliding",
        "SELECT window.start AS t, sum(n) AS most FROM (SELECT window.start AS began, count(*) AS n FROM a "
        "GROUP BY window(ts, '4 seconds', '2 seconds')) GROUP BY window(began, '6 seconds', '3 seconds')",
    ),
    Case(
        "a filter on the window",
        "SELECT window_start, count(*) AS n FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) "
        "WHERE window_start > '2020-01-01 00:00:04' GROUP BY window_start",
        f"SELECT window_start, count(*) FROM {TUMBLED.format('a')} WHERE window_start > '2020-01-01 00:00:04' "
        "GROUP BY window_start",
    ),
    Case(
        "except",
        "SELECT window_start, id FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) WHERE v > 1 "
        "EXCEPT SELECT window_start, w FROM TUMBLE(b, ts, INTERVAL 4 SECONDS)",
        f"SELECT window_start, id FROM {TUMBLED.format('a')} WHERE v > 1 "
        f"EXCEPT SELECT window_start, w FROM {TUMBLED.format('b')}",
        "SELECT time_bucket(INTERVAL 4 SECONDS, ts), id FROM a WHERE v > 1 AND ts IS NOT NULL "
        "EXCEPT SELECT time_bucket(INTERVAL 4 SECONDS, ts), w FROM b WHERE ts IS NOT NULL",
    ),
    spark_only(
        "except of sliding windows",
        "SELECT window, id FROM a GROUP BY window(ts, '4 seconds', '2 seconds'), id "
        "EXCEPT SELECT window, id FROM b GROUP BY window(ts, '4 seconds', '2 seconds'), id",
    ),
]
JOINS = [
    same("join", f"SELECT x.id, x.v, y.w, y.ts {JOIN} WHERE x.v > 0"),
    same(
        "join in the past",
        "SELECT x.v, y.w FROM a x JOIN b y ON x.id = y.id AND y.ts >= x.ts - INTERVAL 5 SECONDS "
        "AND y.ts < x.ts - INTERVAL 1 SECOND",
    ),
    same("join on equal times", "SELECT * FROM a x JOIN b y ON x.ts = y.ts AND x.v <= y.w"),
    same(
        "self-join",
        "SELECT x.id, x.v, y.v AS later FROM a x JOIN a y ON x.id = y.id "
        "AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 3 SECONDS",
    ),
    same(
        "self-join of a shared filter",
        "WITH h AS (SELECT id, v, ts FROM a WHERE v > 1) SELECT x.v, y.v AS w FROM h x JOIN h y "
        "ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 1 SECOND AND x.ts",
    ),
    Case(
        "join of windows",
        "SELECT x.window_start, x.v, y.w FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) x "
        "JOIN TUMBLE(b, ts, INTERVAL 4 SECONDS) y ON x.window_start = y.window_start AND x.id = y.id",
        f"SELECT x.window_start, x.v, y.w FROM {TUMBLED.format('a')} x JOIN {TUMBLED.format('b')} y "
        "ON x.window_start = y.window_start AND x.id = y.id",
    ),
    Case(
        "self-join of windows",
        "SELECT x.window_start, x.v, y.v AS w FROM TUMBLE(a, ts, INTERVAL 4 SECONDS) x "
        "JOIN TUMBLE(a, ts, INTERVAL 4 SECONDS) y ON x.window_start = y.window_start AND x.id = y.id WHERE y.v > 1",
        f"SELECT x.window_start, x.v, y.v FROM {TUMBLED.format('a')} x JOIN {TUMBLED.format('a')} y "
        "ON x.window_start = y.window_start AND x.id = y.id WHERE y.v > 1",
    ),
    same(
        "three streams",
        f"SELECT x.v, y.w, z.p {JOIN} JOIN c z ON z.id = x.id "
        "AND z.ts BETWEEN y.ts - INTERVAL 1 SECOND AND y.ts + INTERVAL 3 SECONDS",
    ),
    same(
        "three streams from the first",
        f"SELECT x.v, y.w, z.p {JOIN} JOIN c z ON z.id = y.id AND z.ts BETWEEN x.ts - INTERVAL 2 SECONDS AND x.ts",
    ),
    same(
        "join of a union",
        "SELECT u.q, z.p FROM (SELECT id, v AS q, ts FROM a UNION ALL SELECT id, w, ts FROM b) u JOIN c z "
        "ON u.id = z.id AND z.ts BETWEEN u.ts - INTERVAL 2 SECONDS AND u.ts + INTERVAL 2 SECONDS",
    ),
    same("join and table", f"SELECT x.v, y.w, r.label {JOIN} JOIN rooms r ON r.id = x.id"),
    spark_only(
        "aggregate over a join",
        f"SELECT window.start AS t, y.w, count(*) AS n, sum(x.v) AS total {JOIN} "
        "GROUP BY window(y.ts, '4 seconds'), y.w",
    ),
    spark_only(
        "sliding aggregate over a join of three",
        f"SELECT window.start AS t, count(*) AS n {JOIN} JOIN c z ON z.id = x.id "
        "AND z.ts BETWEEN y.ts - INTERVAL 1 SECOND AND y.ts + INTERVAL 3 SECONDS "
        "GROUP BY window(x.ts, '4 seconds', '2 seconds')",
    ),
    spark_only(
        "join of aggregates",
        "SELECT x.window.start AS t, x.n, y.m FROM "
        "(SELECT window, count(*) AS n FROM a GROUP BY window(ts, '4 seconds')) x JOIN "
        "(SELECT window, count(*) AS m FROM b GROUP BY window(ts, '4 seconds')) y ON x.window = y.window",
    ),
    spark_only(
        "stream joined with its aggregate",
        "SELECT x.id, x.v, y.n FROM a x JOIN (SELECT window.end AS ended, id, count(*) AS n FROM b "
        "GROUP BY window(ts, '4 seconds', '2 seconds'), id) y ON x.id = y.id "
        "AND x.ts BETWEEN y.ended AND y.ended + INTERVAL 4 SECONDS",
    ),
]

MIXED = [  # late rows are for one side and not for the other, where both are made of one sub-plan too
    Case(
        "rows and counts",
        "WITH h AS (SELECT id, v, ts FROM a WHERE v > 0) SELECT id, v FROM h WHERE v < 4 "
        "UNION ALL SELECT count(*) AS id, max(v) AS v FROM h GROUP BY window(ts, '4 seconds')",
        "SELECT id, v FROM a WHERE v IN (1, 2, 3) "
        "UNION ALL SELECT count(*), max(v) FROM a_in_time WHERE v > 0 GROUP BY window(ts, '4 seconds')",
    ),
    Case(
        "rows and pairs",
        f"SELECT id, v FROM a UNION ALL SELECT x.v, y.w {JOIN}",
        f"SELECT id, v FROM a UNION ALL SELECT x.v, y.w {JOIN_IN_TIME}",
    ),
]


IDS = (1, 1, 2, 2, 3, None)
NUMBERS = (0, 1, 2, 3, 4, None)
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "a": (IDS, NUMBERS, ("a", "ab", "b", None)),
    "b": (IDS, NUMBERS),
    "c": (IDS, (Decimal("1.25"), Decimal("2.00"), Decimal("0.50"), None)),
}
STEPS = (0, 0, 500, 1_000, 1_500, 2_000)  # milliseconds by which time goes on from row to row
BACK = (0, 0, 0, 500, 1_000, 2_500, 4_000)  # and by which a row is behind; the last is late
BASE = 1_577_836_800_000_000  # 2020-01-01


def drawn_rows(random: Random, name: str) -> list[Row]:
    """Rows whose event times go forward, with ties, and out of order, some of them beyond the watermark."""
    clock, rows = BASE, list[Row]()
    for _ in range(random.randint(20, 32)):
        clock += random.choice(STEPS) * 1_000
        rows.append((*(random.choice(values) for values in VALUES[name]), clock - random.choice(BACK) * 1_000))
    return rows


def drawn_cuts(random: Random) -> list[list[float]]:
    """How far each of three leaves is after each run: at their own speeds, some of them not moving at all."""
    at, cuts = [0.0, 0.0, 0.0], []
    for _ in range(random.randint(2, 4)):
        at = [min(1.0, share + random.choice((0.0, 0.15, 0.3, 0.45))) for share in at]
        cuts.append(at)
    return cuts


LEAST = 1 if ALL else 0  # the seed after which a case may end


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    return {"rooms": stored(spark.createDataFrame(ROOMS))}


_prepared: dict[str, PreparedQuery] = {}


def prepared(spark: SparkSession, case: Case, tables: dict[str, DataFrame]) -> PreparedQuery:
    if case.name not in _prepared:
        plan = plan_sql(case.sql, STREAMS, TABLES)
        _prepared[case.name] = prepare_query(spark, plan, STREAMS, tables)
    return _prepared[case.name]


def views(case: Case, logs: dict[str, MemoryLog]) -> dict[str, pa.Table]:
    plan = plan_sql(case.sql, STREAMS, TABLES)
    return batch_views(plan, {name: log.table for name, log in logs.items()})


def in_spark(spark: SparkSession, case: Case, logs: dict[str, MemoryLog], tables: dict[str, DataFrame]) -> Counter[Row]:
    for name, rows in read_by(case.batch, views(case, logs)).items():
        spark.createDataFrame(rows).createOrReplaceTempView(name)
    tables["rooms"].createOrReplaceTempView("rooms")
    return counted(spark.sql(case.batch).toArrow())


def in_duckdb(case: Case, logs: dict[str, MemoryLog]) -> Counter[Row]:
    with duckdb.connect() as connection:
        for name, rows in views(case, logs).items():
            connection.register(name, naive(rows))
        connection.register("rooms", ROOMS)
        return counted(connection.sql(case.duck).to_arrow_table())


@pytest.mark.parametrize("case", [*STATELESS, *WINDOWS, *JOINS, *MIXED], ids=lambda case: case.name)
def test_runs_equal_the_batch(spark: SparkSession, tables: dict[str, DataFrame], case: Case) -> None:
    query = prepared(spark, case, tables)
    schemas = {name: arrow_schema(stream) for name, stream in STREAMS.items()}
    early = late = 0
    for seed in range(4):
        random = Random(f"{case.name} {seed}")
        logs = {name: of_stream(STREAMS[name], schemas[name], drawn_rows(random, name)) for name in STREAMS}
        runs = results(query, logs, drawn_cuts(random))
        rows = sum(runs, Counter[Row]())
        assert rows == in_spark(spark, case, logs, tables)
        if case.duck:
            assert rows == in_duckdb(case, logs)
        early += sum(run.total() for run in runs[:-1])
        late += sum(len(log.late) for log in logs.values())
        if seed >= LEAST and early and late:
            return
    pytest.fail("all results came with the last run, or nothing was late: nothing was tested but the batch")
