"""Windows made of panes are those that are read from the log, however the rows come and whoever asks for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from math import inf, isnan, nan
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.spark.compile.logs import MemoryLog, Row, of_stream

from headgate.model import HeadgateError, Stream
from headgate.plan.fusion_template import template
from headgate.plan.sql import plan_sql
from headgate.spark.compile.fused import Member
from headgate.spark.compile.fused.aggregates import FusedAggregates
from headgate.spark.compile.leaf_rows import Leaf, Leaves, Range
from headgate.spark.compile.panes.functions import Merge, Partial, UnfitError
from headgate.spark.compile.panes.merging import column_names, merge
from headgate.spark.compile.panes.pane_set import Contents
from headgate.spark.compile.panes.pane_sets import UNUSED, PaneSets
from headgate.spark.compile.panes.pane_tree import PaneTree, cover
from headgate.spark.compile.panes.paned_aggregates import PanedAggregates
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.compile.rows_read import counting_rows
from headgate.spark.compile.schemas import arrow_schema

STREAM = Stream(
    name="a",
    schema=(
        *(("id", "bigint"), ("f", "double"), ("s", "string"), ("v", "int"), ("w", "bigint"), ("d", "double")),
        *(
            ("r", "float"),
            ("p", "decimal(6,2)"),
            ("b", "boolean"),
            ("day", "date"),
            ("u", "bigint"),
            ("ts", "timestamp"),
        ),
    ),
    event_time="ts",
    watermark=3.0,
)
STREAMS = {"a": STREAM}
BEGIN = 1_577_836_800_000_000
FUNCTIONS = {
    "counts": "count(*) AS n, count(v) AS c, count(v, s) AS vs, count_if(v > 1) AS ci, count(DISTINCT s) AS ds, "
    "count(DISTINCT v) FILTER (WHERE w > 0) AS dv",
    "sums": "sum(v) AS sv, sum(w) AS sw, sum(d) AS sd, sum(r) AS sr, sum(p) AS sp, sum(v) FILTER (WHERE id = 1) AS sf, "
    "sum(v + w) AS svw",
    "means": "avg(v) AS av, avg(w) AS aw, mean(d) AS ad, avg(p) AS ap, avg(p) FILTER (WHERE v > 2) AS apf",
    "extremes": "min(v) AS nv, max(d) AS xd, min(d) AS nd, max(r) AS xr, min(s) AS ns, max(s) AS xs, max(p) AS xp, "
    "min(day) AS nday, max(b) AS xb, max(ts) AS xts, min(f) FILTER (WHERE v > 1) AS nf",
    "logic": "bool_and(b) AS ba, bool_or(v > 2) AS bo, every(b) AS ev, some(b) FILTER (WHERE v > 1) AS so",
    "spread": "stddev(v) AS a, stddev_pop(d) AS c, var_pop(w) AS e, variance(v) AS g, std(p) AS h, "
    "var_samp(r) FILTER (WHERE v > 1) AS i",
    "chosen": "max_by(s, u) AS bs, min_by(v, u) AS bv, max_by(d, u) FILTER (WHERE v > 1) AS bd, "
    "max_by(v, u + 0.5) AS bn",
    "lists": "sort_array(collect_list(v)) AS lv, sort_array(collect_set(s), false) AS ls, "
    "sort_array(collect_list(p)) AS lp",
    "computed": "max(d * 2) AS xd, avg(d * 2) AS ad, stddev(v + 1) AS sv, sum(w * 3) AS sw, max_by(s, u + 1) AS bs, "
    "max(100 / (v * v + 1)) FILTER (WHERE v <> 0) AS xv, count_if(isnan(d * 2)) AS nn, min(concat('$a0', s)) AS ns",
}
MEMBERS = (
    "SELECT {bounds}, {keys} {functions} FROM a GROUP BY {window} {group}",
    "SELECT {keys} {functions}, window.end AS till FROM a WHERE v > 1 GROUP BY {window} {group}",
    "SELECT window.start AS began, max(v) - min(v) AS width FROM a WHERE v > 1 GROUP BY {window} {group} "
    "HAVING count(*) > 1",
    "SELECT window AS span, sum(w) / count(*) AS mean FROM a WHERE id IS NOT NULL GROUP BY {window} {group}",
)


def drawn_log(random: Random, count: int = 120) -> MemoryLog:
    rows: list[Row] = []
    moment = BEGIN
    for number in range(count):
        moment += random.choice([0, 100_000, 400_000, 1_000_000, 1_000_000, 9_000_000 if number % 37 == 0 else 0])
        at = moment - random.choice([0, 0, 0, 1_500_000, 2_900_000, 7_000_000])
        rows.append(
            (
                random.choice([1, 2, 3, None]),
                random.choice([0.0, -0.0, nan, 1.5, None]),
                random.choice(["", "a", "ab", "é", None]),
                random.choice([0, 1, 2, 3, -4, None]),
                random.choice([0, 5, 1 << 40, -7, None]),
                random.choice([0.0, 2.0, -3.0, nan, inf, None] if random.random() < 0.3 else [1.0, 4.0, None]),
                random.choice([0.5, -1.0, nan, None] if random.random() < 0.2 else [0.25, 2.0]),
                random.choice([Decimal("1.05"), Decimal("-9999.99"), Decimal("0.01"), None]),
                random.choice([True, False, None]),
                random.choice([0, 18262, None]),
                random.choice([number, number, None]),
                at,
            )
        )
    return of_stream(STREAM, arrow_schema(STREAM), rows)


def prepared_group(spark: SparkSession, texts: Sequence[str]) -> tuple[list[PreparedQuery], FusedAggregates]:
    prepared = [prepare_query(spark, plan_sql(text, STREAMS, {}), STREAMS, {}) for text in texts]
    return prepared, FusedAggregates.of(prepared[0].catalog, list(map(_member, prepared)))


def _member(query: PreparedQuery) -> Member:
    parts = template(query.plan)
    assert parts is not None
    return Member(parts, query)


def texts_of(functions: str, window: str, keys: Sequence[str], members: Sequence[str] = MEMBERS) -> list[str]:
    return [
        text.format(
            bounds="window.start AS t, window.end AS e",
            keys="".join(f"{key}, " for key in keys),
            functions=functions,
            window=window,
            group="".join(f", {key}" for key in keys),
        )
        for text in members
    ]


def leaves_between(query: PreparedQuery, log: MemoryLog, start: int, cuts: Sequence[int]) -> Iterator[Leaves]:
    """The leaves of runs that begin at an offset of a log and end at each of the cuts."""
    parts = template(query.plan)
    assert parts is not None
    first = start
    for last in cuts:
        old = None if first == 0 else log.frontier_at(first)
        yield {parts.sides[0].place: Leaf("a", Range(first, last), old, log.frontier_at(last), start)}
        first = last


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return Counter(tuple(map(_plain, row)) for row in zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    """A value that equals itself, without the last digits of a number."""
    if isinstance(value, float):
        return "NaN" if isnan(value) else f"{value + 0.0:.9g}"
    if isinstance(value, dict | list):
        return tuple(map(_plain, value.values() if isinstance(value, dict) else value))
    return value


def check_runs(
    queries: Sequence[PreparedQuery],
    paned: PanedAggregates,
    log: MemoryLog,
    turns: Sequence[Sequence[Leaves]],
    served_at_least: float = 0.0,
) -> None:
    """Let members run in turns, from panes and from the log."""
    served = compared = 0
    for leaves in zip(*turns, strict=True):
        for query, own, rows in zip(queries, leaves, paned.run(leaves, {"a": log}), strict=True):
            alone = query.run(own, {"a": log}).rows
            if rows is not None:
                assert rows.schema == alone.schema
                assert rows_of(rows) == rows_of(alone)
                served += alone.num_rows
            compared += alone.num_rows
    assert compared
    assert served >= served_at_least * compared


def all_windows(
    paned: PanedAggregates, log: MemoryLog, turns: Sequence[Sequence[Leaves]]
) -> list[Counter[tuple[Any, ...]]]:
    """The windows of each member, over all of its turns; panes serve them all."""
    found: list[Counter[tuple[Any, ...]]] = [Counter() for _ in turns]
    for leaves in zip(*turns, strict=True):
        for total, rows in zip(found, paned.run(leaves, {"a": log}), strict=True):
            assert rows is not None
            total.update(rows_of(rows.drop_columns(["_arrival", "_closes"])))
    return found


def view_in_time(spark: SparkSession, log: MemoryLog) -> None:
    """Let SQL find the rows of the log that are not late under the name of the stream."""
    in_time = log.table.filter(pc.invert(log.table["_late"])).drop_columns(["_offset", "_arrival", "_late"])
    spark.createDataFrame(in_time).createOrReplaceTempView("a")


def cuts_of(random: Random, start: int, end: int, count: int) -> list[int]:
    return [*sorted(random.randint(start, end) for _ in range(count - 1)), end]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_gives_what_spark_gives(spark: SparkSession, name: str) -> None:
    random = Random(name)
    window = random.choice(
        ["window(ts, '6 seconds', '2 seconds')", "window(ts, '5 seconds', '3 seconds')", "window(ts, '4 seconds')"]
    )
    keys = random.choice([[], ["id"], ["s", "f"]])
    queries, group = prepared_group(spark, texts_of(FUNCTIONS[name], window, keys))
    paned = PanedAggregates.of(group, PaneSets())
    assert paned is not None
    log = drawn_log(random)
    turns = [list(leaves_between(query, log, 0, cuts_of(random, 0, len(log.rows), 4))) for query in queries]
    check_runs(queries, paned, log, turns, served_at_least=1.0)


@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_any_window_keys_and_cuts_give_one_batch(spark: SparkSession, data: st.DataObject) -> None:
    """Together the windows of all runs are the same SQL over all rows that are not late."""
    slide = data.draw(st.integers(1, 5), "slide")
    size = slide + data.draw(st.integers(0, 9), "size beyond that")
    keys = data.draw(st.sampled_from([[], ["id"], ["s", "f"], ["b", "p"], ["r"], ["day", "ts"]]), "keys")
    names = data.draw(st.lists(st.sampled_from(sorted(FUNCTIONS)), min_size=1, max_size=3, unique=True), "functions")
    window = f"window(ts, '{size} seconds', '{slide} seconds')"
    functions = ", ".join(FUNCTIONS[name] for name in names)
    texts = texts_of(functions, window, keys, MEMBERS[: data.draw(st.integers(1, 4), "members")])
    queries, paned = paned_group(spark, texts)
    log = drawn_log(Random(data.draw(st.integers(0, 1000), "rows")))
    cuts = [
        [*sorted(data.draw(st.lists(st.integers(0, len(log.rows)), min_size=3, max_size=3), "cuts")), len(log.rows)]
        for _ in queries
    ]
    turns = [list(leaves_between(query, log, 0, own)) for query, own in zip(queries, cuts, strict=True)]
    found = all_windows(paned, log, turns)
    view_in_time(spark, log)
    for text, total in zip(texts, found, strict=True):
        assert total == rows_of(spark.sql(text).toArrow()), text


SIMPLE = "count(*) AS n, sum(v) AS total, max(s) AS high"
HOP = "window(ts, '6 seconds', '2 seconds')"


def paned_group(
    spark: SparkSession, texts: Sequence[str], sets: PaneSets | None = None
) -> tuple[list[PreparedQuery], PanedAggregates]:
    queries, group = prepared_group(spark, texts)
    paned = PanedAggregates.of(group, sets or PaneSets())
    assert paned is not None
    return queries, paned


@pytest.mark.parametrize("seed", [1, 2])
def test_members_may_begin_anywhere_and_panes_be_forgotten_at_any_time(spark: SparkSession, seed: int) -> None:
    """Members that began later read rows from before that in their log, until panes hold none of these."""
    random = Random(seed)
    sets = PaneSets()
    queries, paned = paned_group(spark, texts_of(SIMPLE, HOP, ["id"]), sets)
    log = drawn_log(random, 160)
    turns = [
        list(leaves_between(query, log, start, cuts_of(random, start, len(log.rows), 6)))
        for query, start in zip(queries, [0, 0, random.randint(10, 60), random.randint(10, 60)], strict=True)
    ]
    check_runs(queries, paned, log, [turn[:3] for turn in turns])
    sets.keep_only([])
    check_runs(queries, paned, log, [turn[3:] for turn in turns], served_at_least=0.5)


def test_a_query_that_goes_back_gets_its_windows_again(spark: SparkSession) -> None:
    queries, paned = paned_group(spark, texts_of(SIMPLE, HOP, ["id"], MEMBERS[:1]))
    log = drawn_log(Random(5))
    once = list(leaves_between(queries[0], log, 0, [40, 80, 110]))
    check_runs(queries, paned, log, [once], served_at_least=1.0)
    later = list(leaves_between(queries[0], log, 30, [70, 120]))
    check_runs(queries, paned, log, [[once[1], *later]], served_at_least=0.5)


def test_rows_are_read_once_whoever_asks_and_however_long_the_window(spark: SparkSession) -> None:
    sets = PaneSets()
    texts = texts_of(SIMPLE, "window(ts, '8 seconds', '2 seconds')", ["id"], MEMBERS[:1])
    (first,), paned = paned_group(spark, texts, sets)
    (second,), longer = paned_group(
        spark, texts_of("sum(v) AS total", "window(ts, '24 seconds', '4 seconds')", ["id"], MEMBERS[:1]), sets
    )
    log = drawn_log(Random(3))
    cuts = [30, 60, 61, 100]
    rows = 0
    (other_first,), other_paned = paned_group(spark, texts)
    other_paned.run(
        [next(iter(leaves_between(other_first, log, 0, cuts)))], {"a": log}
    )  # a session's first job is tried
    runs = zip(leaves_between(first, log, 0, cuts), leaves_between(second, log, 0, cuts), strict=True)
    for turn, (own, other) in enumerate(runs):
        with counting_rows() as read:
            (result,) = paned.run([own], {"a": log})
        rows += read.rows
        with counting_rows() as again:
            (shared,) = longer.run([other], {"a": log})
        assert again.rows == 0 or not turn  # at first it needs rows that the shorter windows have let go
        assert result is not None
        assert rows_of(result) == rows_of(first.run(own, {"a": log}).rows)
        assert shared is not None
        assert rows_of(shared) == rows_of(second.run(other, {"a": log}).rows)
    assert rows == 100 - len([offset for offset in log.late if offset < 100])


def held(sets: PaneSets) -> list[int]:
    """How many panes each set keeps in memory."""
    return [len(entry.panes.tree.panes) for entry in sets._entries]


def test_rows_are_folded_into_one_of_the_sets_that_serve(spark: SparkSession) -> None:
    """Each of these groups makes a set of its own at first; after that the last one serves them all."""
    sets, log, cuts = PaneSets(), drawn_log(Random(8)), [20, 40, 60, 80, 100]
    groups = [paned_group(spark, texts_of(SIMPLE, HOP, ["id"], MEMBERS[:count]), sets) for count in (1, 2, 3)]
    turns = [[list(leaves_between(query, log, 0, cuts)) for query in queries] for queries, _ in groups]
    read = []
    for turn in range(len(cuts)):
        with counting_rows() as counted:
            for (_, paned), own in zip(groups, turns, strict=True):
                paned.run([leaves[turn] for leaves in own], {"a": log})
        read.append(counted.rows)
    assert len(held(sets)) == 3
    assert max(read[2:]) <= 20 + 20  # the rows, and windows that a member computes something of


def test_nothing_is_kept_for_queries_that_are_gone(spark: SparkSession) -> None:
    sets, log = PaneSets(), drawn_log(Random(7))
    (gone, stays), both = paned_group(spark, texts_of(SIMPLE, HOP, ["id"], MEMBERS[:2]), sets)
    runs = [list(leaves_between(query, log, 0, [20, 60, 90, 120])) for query in (gone, stays)]
    both.run([own[0] for own in runs], {"a": log})
    alone = PanedAggregates.of(FusedAggregates.of(stays.catalog, [_member(stays)]), sets)
    assert alone is not None
    for leaves in runs[1][1:]:
        alone.run([leaves], {"a": log})
    (before,) = held(sets)
    sets.keep_users({id(gone), id(stays)})
    assert held(sets) == [before]
    sets.keep_users({id(stays)})
    (after,) = held(sets)
    assert after < before
    sets.keep_users(())
    assert held(sets) == []


def test_a_set_keeps_nothing_for_queries_that_are_served_elsewhere(spark: SparkSession) -> None:
    now = 0.0
    sets, log = PaneSets(now=lambda: now), drawn_log(Random(7))
    (first, second), both = paned_group(spark, texts_of(SIMPLE, HOP, ["id"], MEMBERS[:2]), sets)
    alone = PanedAggregates.of(FusedAggregates.of(first.catalog, [_member(first)]), sets)
    assert alone is not None
    runs = [list(leaves_between(query, log, 0, [60, 61, 120])) for query in (first, second)]
    alone.run([runs[0][0]], {"a": log})
    for turn in (0, 1, 2):
        now += 1.0
        both.run([own[turn] for own in runs], {"a": log})
    own, shared = held(sets)
    sets.keep_users({id(first), id(second)})
    assert own > 0
    assert held(sets) == [0, shared]
    now = UNUSED + 2.0
    sets.keep_users({id(first), id(second)})
    assert held(sets) == [shared]


def test_beyond_the_budget_windows_are_read_from_the_log(spark: SparkSession) -> None:
    sets = PaneSets(budget=100)
    queries, paned = paned_group(spark, texts_of(SIMPLE, HOP, ["id"], MEMBERS[:1]), sets)
    log = drawn_log(Random(4))
    runs = [paned.run([leaves], {"a": log})[0] for leaves in leaves_between(queries[0], log, 0, [60, 80, 100])]
    assert runs[0] is not None
    assert runs[1:] == [None, None]


def test_a_row_that_fails_leaves_the_windows_to_the_log_for_a_while(spark: SparkSession) -> None:
    queries, paned = paned_group(
        spark, [f"SELECT window.start AS t, sum(10 / v) AS x FROM a WHERE w > 0 GROUP BY {HOP}"]
    )
    log = drawn_log(Random(6))
    rows = [
        (*row[:3], 0 if number == 50 else 2, 5, *row[5:-1], BEGIN + number * 500_000)
        for number, row in enumerate(log.rows)
    ]
    log = replace(log, rows=rows, late=())
    served = [
        paned.run([leaves], {"a": log})[0] is not None
        for leaves in leaves_between(queries[0], log, 0, [40, 60, 70, 80, 90])
    ]
    assert served == [True, False, False, True, True]  # by then no window that is to close holds the row


@pytest.mark.parametrize(
    "text",
    [
        "SELECT percentile(v, 0.5) AS p FROM a GROUP BY window(ts, '4 seconds')",
        "SELECT sum(DISTINCT v) AS p FROM a GROUP BY window(ts, '4 seconds')",
        "SELECT count(DISTINCT d) AS p FROM a GROUP BY window(ts, '4 seconds')",
        "SELECT count(*) AS p FROM a GROUP BY window(ts, '4 seconds'), array(v)",
        "SELECT max(array(v)) AS p FROM a GROUP BY window(ts, '4 seconds')",
        "SELECT count(*) AS p FROM a GROUP BY window(ts, '4 seconds'), s COLLATE UNICODE_CI",
        "SELECT count(*) AS p FROM a GROUP BY window(ts, '4.000001 seconds', '1 second')",
        "SELECT sum(CAST(v AS decimal(30, 2))) AS p FROM a GROUP BY window(ts, '4 seconds')",
    ],
)
def test_what_only_spark_computes_has_no_panes(spark: SparkSession, text: str) -> None:
    _, group = prepared_group(spark, [text])
    assert PanedAggregates.of(group, PaneSets()) is None


def test_a_sum_that_may_leave_64_bits_is_left_to_spark(spark: SparkSession) -> None:
    queries, paned = paned_group(
        spark, ["SELECT window.start AS t, sum(w) AS x FROM a GROUP BY window(ts, '4 seconds')"]
    )
    log = drawn_log(Random(7))
    rows = [
        (*row[:4], (1 << 62) * (-1) ** number, *row[5:-1], BEGIN + number * 3_900_000)
        for number, row in enumerate(log.rows)
    ]
    log = replace(log, rows=rows, late=())
    (whole,) = leaves_between(queries[0], log, 0, [100])
    assert paned.run([whole], {"a": log}) == [None]


def test_a_log_that_lacks_rows_of_a_closing_window_is_refused(spark: SparkSession) -> None:
    queries, paned = paned_group(spark, texts_of(SIMPLE, HOP, ["id"], MEMBERS[:1]))
    log = drawn_log(Random(8))
    begun, rest = leaves_between(queries[0], log, 0, [50, 100])
    paned.run([begun], {"a": log})
    with pytest.raises(HeadgateError, match="dropped"):
        paned.run([rest], {"a": replace(log, start=45)})


def brute(tables: Sequence[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for table in tables:
        total.update(table)
    return +total


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-20, 40), st.dictionaries(st.sampled_from("abc"), st.integers(1, 9)))),
    st.lists(st.tuples(st.integers(-25, 45), st.integers(0, 40)), max_size=8),
    st.integers(-30, 30),
)
def test_any_stretch_of_panes_is_the_sum_of_its_panes(
    adds: list[tuple[int, dict[str, int]]], asked: list[tuple[int, int]], dropped: int
) -> None:
    partials = [Partial(Merge.SUM, ("count(*)",))]
    tree = PaneTree(lambda table: merge(table, ["k"], partials))
    held: list[tuple[int, dict[str, int]]] = []

    def check() -> None:
        for first, length in asked:
            tables = tree.cover(first, first + length)
            found = brute(
                [dict(zip(*(table[name].to_pylist() for name in table.column_names), strict=True)) for table in tables]
            )
            assert found == brute([counts for pane, counts in held if first <= pane < first + length])
            assert len(list(cover(first, first + length))) <= 2 * max(1, length.bit_length())

    for number, (pane, counts) in enumerate(adds):
        table = pa.table(
            {"k": pa.array(list(counts), pa.string()), "_p0_0": pa.array(list(counts.values()), pa.int64())}
        )
        tree.add(pane, table, number)
        held.append((pane, counts))
        if number % 3 == 0:
            check()
    tree.drop_before(dropped)
    held = [(pane, counts) for pane, counts in held if pane >= dropped]
    asked = [(max(first, dropped), length) for first, length in asked]
    check()
    tree.drop_before(1 << 62)
    assert tree.size == 0


def test_values_that_are_all_equal_do_not_deviate() -> None:
    """Spark says exactly 0, and a query may look for that, though the means of panes are rounded."""
    partial = Partial(Merge.MOMENTS, ("count", "mean", "squares", "low", "high"))
    names = column_names(0, partial)
    for value in (97.3, 1e308, -0.1):
        rows = [[11.0, 6.0], [value, value * (1 + 1e-15)], [0.0, 0.0], [value, value], [value, value]]
        merged = merge(pa.table([pa.array([1, 1]), *map(pa.array, rows)], names=["k", *names]), ["k"], [partial])
        assert merged[names[2]].to_pylist() == [0.0]
    apart = [[1.0, 1.0], [1e308, -1e308], [0.0, 0.0], [1e308, -1e308], [1e308, -1e308]]
    with pytest.raises(UnfitError, match="so large"):
        merge(pa.table([pa.array([1, 1]), *map(pa.array, apart)], names=["k", *names]), ["k"], [partial])


def test_arguments_of_several_aggregates_are_computed_once() -> None:
    """But for plain columns, those used once, and those of aggregates with a filter, which may fail on other rows."""
    once, filtered, plain, twice = "sin(a)", "sin(b)", "v", "sin(c)"
    partials = (
        Partial(Merge.SUM, ("sum($a0)$where",), (once,)),
        Partial(Merge.MAX, ("max($a0)$where", "min($a0)$where"), (filtered,), " FILTER (WHERE b > 0)"),
        Partial(Merge.MAX, ("max($a0)$where", "min($a0)$where"), (plain,)),
        Partial(Merge.MAX, ("max($a0)$where",), (twice,)),
        Partial(Merge.SUM, ("count_if(isnan($a0))$where",), (twice,)),
    )
    contents = Contents("a", "ts", dict.fromkeys(("a", "b", "c", "v", "ts"), "double"), (), ((),), partials, 1_000_000)
    (name,) = contents.computed.values()
    assert contents.computed == {twice: name}
    assert partials[3].columns(contents.computed) == (f"max({name})",)
    assert partials[1].columns(contents.computed)[0] == "max(sin(b)) FILTER (WHERE b > 0)"
