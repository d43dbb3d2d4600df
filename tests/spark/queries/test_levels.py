"""Fragmented queries: cut and joined while they run, and over restarts, with the same results."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import (
    CASES,
    PATIENCE,
    STREAMS,
    Taken,
    batches,
    declare,
    expected,
    results_of,
    small_logs,
    start,
)

from headgate.model import Level, Query
from headgate.plan.sql import plan_sql
from headgate.spark.queries.layout import cut_places

__all__ = ["small_logs"]
FINE, WHOLE, PATHS = "random, level=operator, train=6", "random, train=6", "path-capacity"
SEGMENTS, ADAPTIVE = "simplified-segment, train=6", "adaptive, candidates=[hr, chain, segment]"
CHOSEN = [
    "aggregate over a join",
    "except",
    "join of windows",
    "sliding",
    "split",
    "three streams",
]


@pytest.mark.usefixtures("small_logs")
def test_levels_change_while_queries_run_and_over_restarts(opened: Open, tmp_path: Path) -> None:
    random, taken = Random(21), Taken()
    turns = iter([FINE, PATHS, SEGMENTS, WHOLE, ADAPTIVE, FINE, SEGMENTS, WHOLE])
    fragments = batches(random, STREAMS)
    lives = 3
    waited = 0
    for life in range(lives):
        session = opened(policy=next(turns), workers=2, seed=life)
        declare(session)
        handles = start(session, [CASES[name] for name in CHOSEN])
        mine = fragments[life::lives]
        for number, (stream, rows) in enumerate(mine):
            taken.append(session, stream, rows)
            if number and number % (len(mine) // 2) == 0 and (policy := next(turns, None)):
                session.set_policy(policy)
        if life < lives - 1:
            session.drain(random.random())
            waited += sum(log.end for log in session.engine.fragment_logs.open.values())
            session.close()  # with work left
    assert waited
    session.set_policy(WHOLE)
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    assert [line.error for line in session.status().queries] == [""] * len(CHOSEN)
    for name in CHOSEN:
        assert results_of(handles[name]) == expected(session, CASES[name], taken), name
    assert not [log for query in (tmp_path / "data" / "waiting").iterdir() for log in query.iterdir()]


def test_a_query_that_is_stopped_leaves_nothing_inside(opened: Open, tmp_path: Path) -> None:
    session = opened(policy=FINE)
    declare(session, ("a",))
    handle = start(session, [CASES["tumbling"]])["tumbling"]
    folder = tmp_path / "data" / "waiting" / "tumbling"
    for stream, rows in batches(Random(3), ("a",)):
        session.append(stream, rows)
    assert session.drain(PATIENCE)
    assert list(folder.iterdir())
    handle.pause()
    handle.resume()
    handle.stop()
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("sql", "operators", "segments"),
    [
        ("SELECT id + 1 AS x FROM a WHERE v > 1", {(0,)}, set()),
        (
            "SELECT x.id FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 SECOND "
            "WHERE x.v > 1 AND y.w > 1",
            {(0,), (0, 0), (0, 1)},
            {(0, 0), (0, 1)},
        ),
    ],
)
def test_where_a_plan_is_cut(sql: str, operators: set[tuple[int, ...]], segments: set[tuple[int, ...]]) -> None:
    query = Query(name="q", query_class="c", plan=plan_sql(sql, STREAMS, {}), sql=sql)
    assert cut_places(query, STREAMS, Level.OPERATOR)[0] == operators
    assert cut_places(query, STREAMS, Level.SEGMENT)[0] == segments
    assert cut_places(query, STREAMS, Level.PATH)[0] == set()


def test_a_sub_plan_that_is_used_at_two_depths(opened: Open) -> None:
    """One side of the join filters what both use: the shared operator belongs to the fragment that makes its rows."""
    shared = "WITH h AS (SELECT id, v, ts FROM a WHERE v > 1) SELECT x.v AS p, y.v AS q FROM h x JOIN h y"
    session = opened(policy="hnr, level=operator")
    session.stream("a", "id bigint, v int, ts timestamp", event_time="ts", watermark="2 s")
    bounds = "y.ts BETWEEN x.ts - INTERVAL 5 SECONDS AND x.ts - INTERVAL 1 SECONDS"
    query = session.query("q", f"{shared} ON x.id = y.id AND {bounds} WHERE x.id IS NOT NULL")
    session.append(
        "a", [{"id": 1, "v": v, "ts": f"2026-01-01T00:00:0{s}Z"} for v, s in ((3, 1), (4, 3), (1, 4), (5, 5))]
    )
    session.finish("a")
    assert session.drain(60)
    assert sorted(map(tuple, map(dict.values, query.read().to_pylist()))) == [(4, 3), (5, 3), (5, 4)]
