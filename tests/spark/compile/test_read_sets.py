"""What runs read, without Spark: reaches of joins, windows that close, and which tuples later runs may still need."""

from __future__ import annotations

from math import inf

import pytest

from headgate.model import EventTime, HeadgateError, Operator, Stream
from headgate.plan.places import Place
from headgate.plan.sql import plan_sql
from headgate.spark.compile.leaf_rows import Leaf, Range
from headgate.spark.compile.read_sets import Reading, Survey, check_leaves, sources
from headgate.spark.compile.time_spans import Span

SECOND = 1_000_000
SCHEMA = (("id", "bigint"), ("ts", "timestamp"))
STREAMS = {name: Stream(name=name, schema=SCHEMA, event_time="ts") for name in "abc"}
JOIN = (
    "SELECT x.id FROM a x JOIN b y ON x.id = y.id "
    "AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts + INTERVAL 2 SECONDS"
)
THREE = JOIN + " JOIN c z ON z.id = x.id AND z.ts BETWEEN y.ts - INTERVAL 1 SECOND AND y.ts + INTERVAL 3 SECONDS"
COUNT = "SELECT count(*) AS n FROM a GROUP BY window(ts, '10 seconds', '5 seconds')"


def seconds(span: Span) -> tuple[float, float]:
    return span.low / SECOND, span.high / SECOND


def leaves(
    plan: Operator,
    news: dict[str, tuple[int, int]],
    frontiers: tuple[EventTime | None, EventTime | None] = (None, None),
) -> dict[Place, Leaf]:
    return {place: Leaf(source.stream, Range(*news[source.stream]), *frontiers) for place, source in sources(plan)}


def read(reading: Reading) -> dict[str, tuple[tuple[int, int], tuple[float, float]]]:
    """For each stream the offsets and the seconds that are read."""
    if not reading.inputs:
        offsets_and_times = (reading.offsets.first, reading.offsets.last), seconds(reading.times.get(("ts",), Span()))
        return {str(reading.node): offsets_and_times}
    return {name: taken for input_reading in reading.inputs for name, taken in read(input_reading).items()}


def survey(
    sql: str, news: dict[str, tuple[int, int]], train: tuple[int, int], frontiers: tuple[EventTime, EventTime]
) -> Survey:
    plan = plan_sql(sql, STREAMS)
    return Survey(plan, STREAMS, leaves(plan, news, frontiers), lambda *_: Span(train[0] * SECOND, train[1] * SECOND))


def test_a_join_reads_the_other_side_in_reach_of_the_train() -> None:
    readings = survey(JOIN, {"a": (10, 20), "b": (30, 30)}, (100, 101), (0, 0)).readings()
    (only,) = map(read, readings)
    assert only["a"][0] == (10, 20)
    assert only["b"] == ((0, 30), (97.0, 103.0))


def test_news_on_both_sides_meet_once() -> None:
    first, second = map(read, survey(JOIN, {"a": (10, 20), "b": (30, 40)}, (100, 101), (0, 0)).readings())
    assert (first["a"][0], first["b"][0]) == ((10, 20), (0, 40))
    assert (second["a"][0], second["b"][0]) == ((0, 10), (30, 40))
    assert second["a"][1] == (98.0, 104.0)


def test_reach_goes_through_a_join() -> None:
    (only,) = map(read, survey(THREE, {"a": (9, 9), "b": (9, 9), "c": (5, 6)}, (100, 100), (0, 0)).readings())
    assert only["b"][1] == (97.0, 101.0)
    assert only["a"][1] == (95.0, 104.0)


@pytest.mark.parametrize(
    ("frontiers", "expected"), [((12, 14), None), ((12, 15), (5.0, 15.0)), ((12, 21), (5.0, 20.0)), ((21, 21), None)]
)
def test_an_aggregate_reads_the_windows_that_close(
    frontiers: tuple[int, int], expected: tuple[float, float] | None
) -> None:
    old, new = (moment * SECOND for moment in frontiers)
    readings = survey(COUNT, {"a": (5, 9)}, (0, 0), (old, new)).readings()
    assert [read(reading)["a"] for reading in readings] == (
        [] if expected is None else [((0, 9), (expected[0], expected[1] - 1 / SECOND))]
    )


def test_an_ended_stream_closes_all_windows_once() -> None:
    assert len(survey(COUNT, {"a": (9, 9)}, (0, 0), (12 * SECOND, inf)).readings()) == 1
    assert survey(COUNT, {"a": (9, 9)}, (0, 0), (inf, inf)).readings() == []


@pytest.mark.parametrize(
    ("time", "frontiers", "expected"),
    [("x.ts", (100, 100), 98), ("y.ts", (100, 100), 97), ("x.ts", (90, 100), 90), ("y.ts", (100, 90), 90)],
)
def test_the_frontier_of_a_join_waits_for_old_partners(time: str, frontiers: tuple[int, int], expected: int) -> None:
    plan = plan_sql(f"{JOIN.replace('x.id FROM', 'count(*) AS n FROM')} GROUP BY window({time}, '1 second')", STREAMS)
    at = dict(zip("ab", frontiers, strict=True))
    given = {
        place: Leaf(source.stream, Range(0, 1), None, at[source.stream] * SECOND) for place, source in sources(plan)
    }
    aggregate = plan.inputs[0]
    assert isinstance(aggregate, Operator)
    frontier = Survey(plan, STREAMS, given, lambda *_: Span()).frontier(
        aggregate.inputs[0], (0, 0), ("a" if time == "x.ts" else "b", "ts"), True
    )
    assert frontier == expected * SECOND


def test_what_runs_to_come_may_still_read() -> None:
    def kept(sql: str, upto: int) -> list[list[float]]:
        plan = plan_sql(sql, STREAMS)
        given = leaves(plan, dict.fromkeys("abc", (0, 9)), (0, upto * SECOND))
        of_leaves = Survey(plan, STREAMS, given, lambda *_: Span()).kept()
        return [[low / SECOND for lows in of_leaf for low in lows.values()] for of_leaf in of_leaves.values()]

    assert kept(JOIN, 100) == [[98], [97]]
    assert kept(COUNT, 103) == [[95]]
    assert kept("SELECT id FROM a WHERE id > 1", 100) == [[]]
    tumbled = "TUMBLE({}, ts, INTERVAL 60 SECONDS) {}"
    equal = f"SELECT x.id FROM {tumbled.format('a', 'x')} JOIN {tumbled.format('b', 'y')} ON {{}}"
    assert kept(equal.format("x.window_start = y.window_start"), 100) == [[60], [60]]


def test_a_run_names_every_leaf() -> None:
    plan = plan_sql(JOIN, STREAMS)
    with pytest.raises(HeadgateError, match="says nothing of leaf"):
        check_leaves(plan, {(0, 0): Leaf("a", Range(0, 1))})
