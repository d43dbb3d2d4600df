"""Groups of hundreds of aggregates and joins: every member gets what its own SQL gives, however members are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.compile.logs import counted, run_leaves
from tests.spark.compile.test_fused import logs_of, prepare_all
from tests.spark.compile.test_panes import (
    all_windows,
    drawn_log,
    leaves_between,
    prepared_group,
    rows_of,
    view_in_time,
)

from headgate.plan.fusion_template import template
from headgate.spark.compile.fused import Member, fuse
from headgate.spark.compile.fused.aggregates import FusedAggregates
from headgate.spark.compile.fused.joins import FusedJoins
from headgate.spark.compile.leaf_rows import Leaves
from headgate.spark.compile.panes.pane_sets import PaneSets
from headgate.spark.compile.panes.paned_aggregates import PanedAggregates
from headgate.spark.compile.prepared_query import PreparedQuery

MANY = 130  # more than two longs have bits
WINDOW = "window(ts, '4 seconds', '2 seconds')"
FUNCTIONS = ["count(*) AS n", "max(s) AS high, avg(v) AS mean", "sort_array(collect_set(s)) AS texts, stddev(v) AS dev"]
WHERE = [
    "",
    "WHERE v > {n}",
    "WHERE v = {n} AND id < 3",
    "WHERE w BETWEEN -{n} AND {n}",
    "WHERE s IN ('a', 'ab') OR v < {n}",
    "WHERE v % 3 = {n}",
    "WHERE d > {n} AND NOT id = {n}",
]


def aggregate_text(random: Random) -> str:
    where = random.choice(WHERE).format(n=random.randint(0, 3))
    form = random.choice(
        [
            f"SELECT window.start AS t, id, {random.choice(FUNCTIONS)} FROM a {where}",
            f"SELECT max(v) - min(v) AS width, id, window.end AS till FROM a {where}",
        ]
    )
    having = random.choice(["", "", " HAVING count(*) > 1"])
    return f"{form} GROUP BY {WINDOW}, id{having}"


def members_of(random: Random, distinct: Sequence[str]) -> list[str]:
    """Each text at least once, and as many as make a large group."""
    texts = [*distinct, *random.choices(distinct, k=MANY - len(distinct))]
    random.shuffle(texts)
    return texts


def grouped(
    spark: SparkSession, texts: Sequence[str], prepare: Callable[[SparkSession, Sequence[str]], Sequence[PreparedQuery]]
) -> tuple[list[Member], list[PreparedQuery]]:
    """The queries of a group. Spark prepares one of each text: that takes longer than all else here."""
    distinct = list(dict.fromkeys(texts))
    prepared = dict(zip(distinct, prepare(spark, distinct), strict=True))
    queries = [copy(prepared[text]) for text in texts]
    parts = [template(query.plan) for query in queries]
    return [Member(own, query) for own, query in zip(parts, queries, strict=True) if own is not None], queries


def aggregates_of(
    spark: SparkSession, texts: Sequence[str]
) -> tuple[list[PreparedQuery], FusedAggregates, PanedAggregates]:
    members, queries = grouped(spark, texts, lambda session, distinct: prepared_group(session, distinct)[0])
    group = FusedAggregates.of(queries[0].catalog, members)
    paned = PanedAggregates.of(group, PaneSets())
    assert paned is not None
    return queries, group, paned


@pytest.mark.parametrize(
    ("few", "alike"), [(0, False), (20_000, True), (20_000, False)], ids=["copied-apart", "found-alike", "found-apart"]
)
def test_windows_from_panes_are_those_of_the_sql(
    spark: SparkSession, few: int, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.spark.compile.panes.pane_set.FEW", few)
    monkeypatch.setattr("headgate.spark.compile.panes.pane_set.MOST_MERGED", 2_000)  # merged in several parts
    random = Random(few + alike)
    texts = members_of(random, list({aggregate_text(random): None for _ in range(20)}))
    queries, _, paned = aggregates_of(spark, texts)
    log = drawn_log(random)
    size = len(log.rows)
    cuts = [sorted(random.choices(range(size), k=2)) for _ in range(3)]
    chosen = [cuts[0] if alike else random.choice(cuts) for _ in texts]
    turns = [list(leaves_between(query, log, 0, [*own, size])) for query, own in zip(queries, chosen, strict=True)]
    found = all_windows(paned, log, turns)
    view_in_time(spark, log)
    wanted = {text: rows_of(spark.sql(text).toArrow()) for text in dict.fromkeys(texts)}
    assert sum(map(len, wanted.values()))
    for text, total in zip(texts, found, strict=True):
        assert total == wanted[text], text


def test_windows_from_the_log_are_those_from_panes(spark: SparkSession) -> None:
    """Without panes every sixty members have a job."""
    random = Random(4)
    texts = members_of(random, [aggregate_text(random) for _ in range(8)])
    queries, group, paned = aggregates_of(spark, texts)
    log = drawn_log(random)
    for leaves in zip(*(leaves_between(query, log, 0, [50, len(log.rows)]) for query in queries), strict=True):
        from_log, from_panes = group.run(leaves, {"a": log}), paned.run(leaves, {"a": log})
        for text, one, other in zip(texts, from_log, from_panes, strict=True):
            assert other is not None
            assert rows_of(one) == rows_of(other), text


JOIN = "FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 2 SECONDS"


def join_text(random: Random) -> str:
    outputs = random.choice(["x.id, x.v, y.w", "x.v + y.w AS total, x.ts", "y.id, upper(x.s) AS s", "x.id, y.ts"])
    n = random.randint(0, 3)
    tests = random.sample([f"x.v > {n}", f"y.w <= {n}", f"x.s LIKE 'a%{n}'", "x.v < y.w", f"x.id <> {n}"], k=2)
    return f"SELECT {outputs} {JOIN}" + random.choice([f" WHERE {tests[0]}", f" WHERE {' AND '.join(tests)}", ""])


def join_group(spark: SparkSession, texts: Sequence[str]) -> tuple[FusedJoins, list[PreparedQuery]]:
    members, queries = grouped(spark, texts, prepare_all)
    group = fuse(queries[0].catalog, members)
    assert isinstance(group, FusedJoins)
    return group, queries


@pytest.mark.parametrize(("seed", "alike"), [(1, True), (2, False)], ids=["alike", "apart"])
def test_pairs_of_many_joins_are_those_of_a_job_of_their_own(spark: SparkSession, seed: int, alike: bool) -> None:
    random = Random(seed)
    texts = members_of(random, list({join_text(random): None for _ in range(16)}))
    group, queries = join_group(spark, texts)
    logs = logs_of(seed)
    cuts = [[0.2, 0.3], [0.2, 0.5], [0.4, 0.45]]
    chosen = [cuts[0] if alike else random.choice(cuts) for _ in texts]
    turns: list[list[Leaves]] = [
        list(run_leaves(query.plan, logs, [[own[0], own[1]], [own[1], 0.9]]))
        for query, own in zip(queries, chosen, strict=True)
    ]
    compared = 0
    for number, leaves in enumerate(zip(*turns, strict=True)):
        alone: dict[tuple[str, float], Counter[Any]] = {}
        for text, query, own, own_cuts, rows in zip(
            texts, queries, leaves, chosen, group.run(leaves, logs), strict=True
        ):
            key = (text, own_cuts[1])
            if key not in alone:
                alone[key] = counted(query.run(own, logs).rows)
            assert counted(rows) == alone[key], (number, text)
            compared += rows.num_rows
    assert compared


def test_a_failing_pair_is_isolated_among_many_joins(spark: SparkSession) -> None:
    texts = [f"SELECT x.id, x.v {JOIN} WHERE x.v > {n % 3}" for n in range(70)]
    texts[65] = f"SELECT x.id, 1 DIV (x.v - x.v) AS v {JOIN}"
    group, queries = join_group(spark, texts)
    logs = logs_of(1)
    leaves = [next(iter(run_leaves(query.plan, logs, [[0.8, 0.8]]))) for query in queries]
    results = group.run_isolating(leaves, logs)
    assert [n for n, result in enumerate(results) if result.failures] == [65]
    assert results[0].rows.num_rows
