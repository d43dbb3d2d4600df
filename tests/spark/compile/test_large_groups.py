"""Groups of hundreds of filters: every member gets the rows that its own SQL asks for, however members are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.spark.compile.logs import MemoryLog

from headgate.model import Stream
from headgate.plan.fusion_template import template
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fused import Member, fuse
from headgate.spark.compile.fused.filters import FusedFilters
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.quick_frames import collect, ship
from headgate.spark.compile.repeated_jobs import OFF
from headgate.spark.compile.schemas import arrow_schema

A = Stream(name="a", schema=(("id", "bigint"), ("v", "int"), ("x", "double"), ("s", "string")))
LONG = (1 << 63) - 1
NUMBERS = ["-2", "0", "1", "3", "2147483647"]
DOUBLES = ["-0.0", "0", "0.5", "1", "1.50", "100"]
TEXTS = ["''", "'a'", "'A'", "'b''c'", "'é'", "'\U0001f600'"]
CONSTANTS = {"id": [*NUMBERS, str(LONG), str(-LONG)], "v": NUMBERS, "x": DOUBLES, "s": TEXTS}
ROWS = [
    {"id": identity, "v": v, "x": x, "s": s}
    for identity, v, x, s in zip(
        [0, 1, -2, 3, None, LONG, -LONG - 1, 2, 7, 2147483647] * 4,
        [None, -2, 0, 1, 3, 2147483647, -2147483648, 2] * 5,
        [0.0, -0.0, None, float("nan"), 0.5, float("inf"), 1.5, -3.25, 100.0, float("-inf")] * 4,
        ["", "a", "A", "b'c", None, "é", "\U0001f600", "￿"] * 5,
        strict=True,
    )
]


def predicate(random: Random, depth: int = 2) -> str:
    """A random predicate: comparisons of one column or of several, and now and then something else."""
    if depth and random.random() < 0.5:
        inner = [predicate(random, depth - 1) for _ in range(2)]
        return random.choice(["({} AND {})", "({} OR {})", "NOT ({} OR {})"]).format(*inner)
    column = random.choice(list(CONSTANTS))
    one, two, three = (random.choice(CONSTANTS[column]) for _ in range(3))
    forms = [
        f"{column} {random.choice(['=', '<>', '<', '<=', '>', '>='])} {one}",
        f"{one} {random.choice(['=', '<', '>='])} {column}",
        f"{column} BETWEEN {one} AND {two}",
        f"{column} IN ({one}, {two}, {three})",
        f"{column} IS {random.choice(['', 'NOT '])}NULL",
        f"{column} NOT IN ({one}, {two})",
        "v % 2 = 0",
        "x > v",
        "s LIKE 'b%'",
    ]
    return random.choice(forms)


def query_text(random: Random) -> str:
    outputs = random.choice(["*", "id, v", "s, id", "v, id + 0 AS same, x * 2 AS twice", "coalesce(s, 'none') AS s"])
    return f"SELECT {outputs} FROM a" + ("" if random.random() < 0.05 else f" WHERE {predicate(random)}")


def group_of(spark: SparkSession, texts: Sequence[str]) -> tuple[FusedFilters, list[PreparedQuery]]:
    members = [prepare_query(spark, plan_sql(text, {"a": A}, {}), {"a": A}, {}) for text in texts]
    parts = [template(query.plan) for query in members]
    group = fuse(members[0].catalog, [Member(own, query) for own, query in zip(parts, members, strict=True) if own])
    assert isinstance(group, FusedFilters)
    return group, members


def log_of(rows: Sequence[Mapping[str, object]]) -> MemoryLog:
    return MemoryLog(arrow_schema(A), [tuple(row[name] for name in A.columns) for row in rows])


def counted(table: pa.Table) -> Counter[str]:
    """Rows with their numbers; as text, in which NaN equals NaN."""
    return Counter(map(repr, table.to_pylist()))


def expected(spark: SparkSession, texts: Sequence[str], log: MemoryLog, ranges: Sequence[Range]) -> list[Counter[str]]:
    """What the SQL gives, each as a batch of its own over the rows that the member takes."""
    found = []
    for text, own in zip(texts, ranges, strict=True):
        ship(spark, log.read(own.first, own.last).select(A.columns), 1000).createOrReplaceTempView("a")
        found.append(counted(collect(spark.sql(text))))
    return found


def ran(
    group: FusedFilters, members: Sequence[PreparedQuery], log: MemoryLog, ranges: Sequence[Range]
) -> list[Counter[str]]:
    leaves = [{place: Leaf("a", own)} for place, own in zip(group.places, ranges, strict=True)]
    tables = group.run(leaves, {"a": log})
    return [counted(table.select(query.schema.names)) for table, query in zip(tables, members, strict=True)]


@pytest.mark.parametrize("alike", [True, False], ids=["alike", "apart"])
@pytest.mark.parametrize("few", [0, 20_000], ids=["filtered", "repeated"])
def test_two_hundred_members_get_what_their_sql_gives(
    spark: SparkSession, alike: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.spark.compile.fused.filters.FEW", few)
    monkeypatch.setattr("headgate.spark.compile.fused.grouped_predicates.PART", 3)  # so that a few constants are cut
    random = Random(few + alike)
    distinct = [query_text(random) for _ in range(24)]
    texts = [random.choice(distinct) for _ in range(200)]
    group, members = group_of(spark, texts)
    log, size = log_of(ROWS), len(ROWS)
    whole = Range(0, size)
    choices = [whole] if alike else [whole, Range(3, size), Range(0, 17), Range(5, 5)]
    ranges = [random.choice(choices) for _ in texts]
    assert group._job(ranges).membership.looked_up
    assert len(group._job(ranges).membership.words) > 1
    cases = sorted({(text, own.first, own.last) for text, own in zip(texts, ranges, strict=True)})
    given_ranges = [Range(first, last) for _, first, last in cases]
    wanted = dict(zip(cases, expected(spark, [text for text, _, _ in cases], log, given_ranges), strict=True))
    for text, own, rows in zip(texts, ranges, ran(group, members, log, ranges), strict=True):
        assert rows == wanted[text, own.first, own.last], text


def test_a_repeated_plan_gives_what_a_new_one_gives(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(5)
    texts = [query_text(random) for _ in range(30)]
    repeated, members = group_of(spark, texts)
    planned, _ = group_of(spark, texts)
    for first, last in ((0, 9), (9, 40), (4, 5), (7, 7)):
        ranges, log = [Range(first, last)] * len(texts), log_of(ROWS)
        again = ran(repeated, members, log, ranges)
        with monkeypatch.context() as patch:
            patch.setenv(OFF, "off")
            assert ran(planned, members, log, ranges) == again
    plans = [plan for job in repeated.jobs.values() for plan in job.repeated._plans.values()]
    assert len(plans) == 1
    assert plans[0] is not None
    assert all(plan is None for job in planned.jobs.values() for plan in job.repeated._plans.values())


def test_a_failing_row_is_isolated_among_many_members(spark: SparkSession) -> None:
    texts = [
        f"SELECT id FROM a WHERE 10 / v > {n}" if n in (7, 100) else f"SELECT id FROM a WHERE v > {n}"
        for n in range(130)
    ]
    group, _ = group_of(spark, texts)
    log = log_of([{"id": n, "v": n % 5, "x": None, "s": None} for n in range(10)])
    leaves = [{place: Leaf("a", Range(0, 10))} for place in group.places]
    results = group.run_isolating(leaves, {"a": log})
    assert [n for n, result in enumerate(results) if result.failures] == [7, 100]
    assert [own.offsets for own in results[7].failures] == [(("a", 0),), (("a", 5),)]
    assert [result.rows.num_rows for result in results[:5]] == [8, 6, 4, 2, 0]
    assert results[7].rows.num_rows == 2  # 10 / 1


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60), st.integers(0, 2**32))
def test_look_ups_agree_with_comparisons(spark: SparkSession, constants: list[int], seed: int) -> None:
    random = Random(seed)
    texts = [
        f"SELECT v FROM a WHERE v {random.choice(['<', '>=', '='])} {constant} AND x <> {constant}.5"
        for constant in constants
    ]
    group, members = group_of(spark, texts)
    rows = [{"id": 0, "v": random.randint(-25, 25), "x": random.randint(-25, 25) / 2, "s": ""} for _ in range(20)]
    tables = ran(group, members, log_of(rows), [Range(0, len(rows))] * len(texts))
    for text, found in zip(texts, tables, strict=True):
        where = text.partition("WHERE ")[2].replace("<>", "!=").replace(" = ", " == ").replace("AND", "and")
        assert sum(found.values()) == sum(eval(where, {}, row) for row in rows)  # the text is our own
