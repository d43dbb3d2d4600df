"""A join that looks at keys before it ships old rows gives what it would give of all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.conftest import ALL
from tests.spark.compile.logs import MemoryLog, Row, counted, of_stream, run_leaves

from headgate.model import Stream
from headgate.plan.fusion_template import template
from headgate.plan.sql import plan_sql
from headgate.spark.compile import executor_reads, log_reader
from headgate.spark.compile.fused import Member, fuse, joins
from headgate.spark.compile.join_keys import comparable, have_partner, key_columns
from headgate.spark.compile.leaf_rows import Leaf, Leaves, Range
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.read_sets import sources
from headgate.spark.compile.rows_read import counting_rows
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.store.log.stream_log import StreamLog

COLUMNS = (
    ("r", "bigint"),  # the row's number, so that results say which rows have met
    ("n", "bigint"),
    ("i", "int"),
    ("t", "string"),
    ("d", "double"),
    ("p", "decimal(6,2)"),
    ("ts", "timestamp"),
)
STREAMS = {name: Stream(name=name, schema=COLUMNS, event_time="ts", watermark=3.0) for name in "ab"}
VALUES: dict[str, list[Any]] = {
    "n": [None, *range(12)],
    "i": [None, *range(12)],
    "t": [None, "", "a", "A", "ä", "a ", "b", *"cdefg"],
    "d": [None, 0.0, -0.0, float("nan"), -float("nan"), float("inf"), 1.5, 2.5, 3.5],
    "p": [None, *(Decimal(number) / 4 for number in range(9))],
}
BOUND = "y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 2 SECONDS"
ONE_SIDED = "x.n = y.n AND x.n = x.i"  # the second half becomes a filter below the join
PRUNED = ("x.n = y.n", "x.t = y.t", "x.p = y.p", "y.i = x.i AND x.t = y.t", "x.n = y.n AND x.i < y.i", ONE_SIDED)
WHOLE = ("x.d = y.d", "x.i = y.n", "x.n = y.n AND x.d = y.d", "x.n + 0 = y.n")
OF_ITSELF = [*PRUNED, *WHOLE] if ALL else [PRUNED[3], ONE_SIDED, WHOLE[0]]  # conditions of a stream joined with itself
SEEDS = (1, 2) if ALL else (1,)


def rows_of(random: Random, count: int = 60) -> list[Row]:
    """Rows a fifth of a second apart, in some disorder."""
    return [
        (row, *map(random.choice, VALUES.values()), row * 200_000 + random.randrange(5_000_000)) for row in range(count)
    ]


def logs_of(random: Random) -> dict[str, MemoryLog]:
    return {name: of_stream(stream, arrow_schema(stream), rows_of(random)) for name, stream in STREAMS.items()}


def prepare(spark: SparkSession, condition: str, where: str = "TRUE", other: str = "b") -> PreparedQuery:
    sql = f"SELECT x.r, y.r AS s FROM a x JOIN {other} y ON {condition} AND {BOUND} WHERE {where}"
    return prepare_query(spark, plan_sql(sql, STREAMS, {}), STREAMS, {})


def without_pruning(patch: pytest.MonkeyPatch) -> None:
    for module in (log_reader, joins):
        patch.setattr(module, "comparable", lambda *_: False)


def run_alone(query: PreparedQuery, turns: Sequence[Any], logs: Any) -> tuple[list[Counter[Row]], int]:
    """The results of each run, and how many rows were read for them."""
    with counting_rows() as read:
        return [counted(query.run(leaves, logs).rows) for leaves in turns], read.rows


@pytest.mark.parametrize(
    ("other", "condition"),
    [*(("b", condition) for condition in (*PRUNED, *WHOLE)), *(("a", condition) for condition in OF_ITSELF)],
)
def test_a_query_alone_gives_the_same_of_fewer_rows(spark: SparkSession, other: str, condition: str) -> None:
    random = Random(f"{condition}{other}")
    query, logs = prepare(spark, condition, other=other), logs_of(random)
    cuts = sorted(random.random() for _ in range(3))
    turns = list(run_leaves(query.plan, logs, [[cut, random.random()] for cut in cuts]))
    pruned, few = run_alone(query, turns, logs)
    with pytest.MonkeyPatch.context() as patch:
        without_pruning(patch)
        whole, many = run_alone(query, turns, logs)
    assert pruned == whole
    assert any(whole)
    assert few < many if condition in PRUNED else few == many


def test_a_join_of_three_gives_the_same(spark: SparkSession) -> None:
    random = Random(3)
    third = "z.ts BETWEEN x.ts - INTERVAL 1 SECOND AND x.ts"
    sql = f"SELECT x.r, y.r AS s, z.r AS u FROM a x JOIN b y ON x.n = y.n AND {BOUND} JOIN b z ON x.t = z.t AND {third}"
    query, logs = prepare_query(spark, plan_sql(sql, STREAMS, {}), STREAMS, {}), logs_of(random)
    turns = list(run_leaves(query.plan, logs, [[0.3, 0.1, 0.4], [0.5, 0.6, 0.5], [0.8, 0.7, 0.9]]))
    pruned, few = run_alone(query, turns, logs)
    with pytest.MonkeyPatch.context() as patch:
        without_pruning(patch)
        whole, many = run_alone(query, turns, logs)
    assert pruned == whole
    assert any(whole)
    assert few < many


@pytest.mark.parametrize("condition", [PRUNED[0], PRUNED[3], WHOLE[0], WHOLE[1]])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_gives_each_member_the_same_of_fewer_rows(spark: SparkSession, condition: str, seed: int) -> None:
    random = Random(seed)
    members = [prepare(spark, condition, where) for where in ("TRUE", "x.i > 3", "x.i < y.i AND y.i > 2")]
    templates = [template(query.plan) for query in members]
    group = fuse(
        members[0].catalog, [Member(parts, query) for parts, query in zip(templates, members, strict=True) if parts]
    )
    logs = logs_of(random)
    turns = []
    for query in members:  # at different offsets, one far behind
        cuts = sorted(random.random() for _ in range(3))
        turns.append(list(run_leaves(query.plan, logs, [[cut, min(1.0, cut + random.random() / 4)] for cut in cuts])))
    runs = list(zip(*turns, strict=True))
    found: list[list[Counter[Row]]] = []
    read: list[int] = []
    isolated: list[list[Counter[Row]]] = []
    for prune in (True, False):
        with pytest.MonkeyPatch.context() as patch, counting_rows() as count:
            if not prune:
                without_pruning(patch)
            found.append([counted(rows) for leaves in runs for rows in group.run(leaves, logs)])
            read.append(count.rows)
            isolated.append([counted(each.rows) for leaves in runs for each in group.run_isolating(leaves, logs)])
    assert found[0] == found[1] == isolated[0] == isolated[1]
    assert any(found[0])
    assert read[0] < read[1] if condition in PRUNED else read[0] == read[1]


def test_a_group_reports_a_new_tuple_that_fails_and_meets_none(spark: SparkSession) -> None:
    members = [prepare(spark, "x.n = y.n", where) for where in ("10 / y.i > 1", "y.i >= 0")]
    templates = [template(query.plan) for query in members]
    group = fuse(
        members[0].catalog, [Member(parts, query) for parts, query in zip(templates, members, strict=True) if parts]
    )
    schema = arrow_schema(STREAMS["a"])
    rows = {"a": [(0, 1, 1, "", 0.0, None, 0)], "b": [(0, 1, 5, "", 0.0, None, 0), (1, 2, 0, "", 0.0, None, 0)]}
    logs = {name: MemoryLog(schema, own) for name, own in rows.items()}
    leaves = [next(run_leaves(query.plan, logs, [])) for query in members]
    first, second = group.run_isolating(leaves, logs)
    assert [failure.offsets for failure in first.failures] == [(("b", 1),)]
    assert not second.failures
    assert (first.rows.num_rows, second.rows.num_rows) == (1, 1)


def test_few_of_many_rows_in_files_are_found_by_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = {name: StreamLog.open(tmp_path / name, one, arrow_schema(one)) for name, one in STREAMS.items()}
    times = pa.array(np.arange(400) * 1000, pa.timestamp("us", "UTC"))
    numbers = {name: pa.array(np.arange(400)) for name in ("r", "n")}
    empty = {name: pa.nulls(400) for name in ("i", "t", "d", "p")}
    table = pa.table({**numbers, **empty, "ts": times}).select([name for name, _ in COLUMNS])
    logs["b"].append(table.cast(arrow_schema(STREAMS["b"])), 1.0)
    logs["b"].seal()
    logs["a"].append(table.cast(arrow_schema(STREAMS["a"])).slice(100, 3), 2.0)
    query = prepare(spark, "x.n = y.n")
    turn: Leaves = {
        place: Leaf("a", Range(0, 3)) if source.stream == "a" else Leaf("b", Range(400, 400))
        for place, source in sources(query.plan)
    }
    expected = Counter({(number, number): 1 for number in (100, 101, 102)})
    for most, large, read in ((400, 100, 6), (399, 100, 403), (400, 3, 403)):  # too many rows, too many that may match
        monkeypatch.setattr(executor_reads, "PRUNED", most)
        monkeypatch.setattr(executor_reads, "LARGE", large)
        with counting_rows() as count:
            rows = query.run(turn, logs).rows
        assert counted(rows.select(["r", "s"])) == expected
        assert count.rows == read
    for log in logs.values():
        log.close()


Keys = st.lists(st.tuples(st.none() | st.integers(0, 6), st.none() | st.text("ab", max_size=2)), max_size=20)


@given(rows=Keys, others=Keys)
@settings(max_examples=200)
def test_no_row_with_a_partner_is_left_out(rows: list[Any], others: list[Any]) -> None:
    schema = pa.schema([("n", pa.int64()), ("t", pa.string())])
    own, other = (
        pa.Table.from_pylist([{"n": n, "t": t} for n, t in values], schema=schema) for values in (rows, others)
    )
    found = have_partner(own, ["n", "t"], other, ["n", "t"]).to_pylist()
    for row, has in zip(rows, found, strict=True):
        assert has or None in row or row not in others
        assert not has or (row[0] in {n for n, _ in others} and row[1] in {t for _, t in others} and None not in row)


@pytest.mark.parametrize(
    ("kind", "other", "same"),
    [
        (pa.int64(), pa.int64(), True),
        (pa.int64(), pa.int32(), False),
        (pa.decimal128(6, 2), pa.decimal128(6, 2), True),
        (pa.decimal128(6, 2), pa.decimal128(7, 2), False),
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"), True),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), False),
        (pa.float64(), pa.float64(), False),
        (pa.float32(), pa.float32(), False),
        (pa.list_(pa.int64()), pa.list_(pa.int64()), False),
        (pa.struct([("x", pa.int64())]), pa.struct([("x", pa.int64())]), False),
        (pa.string(), pa.binary(), False),
    ],
)
def test_only_what_arrow_compares_as_spark_does_is_compared(kind: Any, other: Any, same: bool) -> None:
    assert comparable([("k", "l")], pa.schema([("k", kind)]), pa.schema([("l", other)])) is same


@pytest.mark.parametrize("text", ["x.n = x.i", "n = y.n", "x.n = z.n", "y.n = y.n", "x.s.n = y.n"])
def test_other_equalities_are_no_keys(text: str) -> None:
    assert key_columns((text,), "x", "y") == ()
    assert key_columns(("x.n = y.n", text), "x", "y") == ()
