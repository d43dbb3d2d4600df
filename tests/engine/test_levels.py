"""Queries in pieces: cut and put together again while they run, and over restarts, with the same results."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.engine.conftest import Open
from tests.engine.test_oracle import KINDS
from tests.engine.workload import CASES, PATIENCE, STREAMS, batches, declare, expected, found, start

from headgate.model import Level, Query
from headgate.plan.sql import plan_sql
from headgate.spark.cutting import cut_places

FINE, WHOLE, PATHS = "random, level=operator, train=6", "random, train=6", "path-capacity"


def test_levels_change_while_queries_run(opened: Open) -> None:
    random = Random(21)
    chosen = random.sample(sorted(KINDS), 6)
    session = opened(policy=WHOLE, workers=2, seed=2)
    declare(session)
    handles = start(session, [CASES[name] for name in chosen])
    pieces = batches(random, STREAMS)
    turns = [FINE, PATHS, FINE, WHOLE]
    for number, (stream, rows) in enumerate(pieces):
        session.append(stream, rows)
        if number % (len(pieces) // 4) == 3:
            session.set_policy(turns[number * 4 // len(pieces)])
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    assert [line.error for line in session.status().queries] == [""] * len(chosen)
    for name in chosen:
        assert found(handles[name]) == expected(session, CASES[name]), name


def test_rows_that_wait_inside_survive(opened: Open, tmp_path: Path) -> None:
    random = Random(34)
    chosen = ["aggregate over a join", "join of aggregates", "split", "sliding"]
    pieces = batches(random, STREAMS)
    half = len(pieces) // 3
    waited = 0
    for number, policy in enumerate((FINE, FINE, WHOLE)):
        session = opened(policy=policy, workers=1, seed=number)
        declare(session)
        handles = start(session, [CASES[name] for name in chosen])
        for stream, rows in pieces[number * half : (number + 1) * half if number < 2 else None]:
            session.append(stream, rows)
        if number < 2:
            session.drain(3.0)
            waited += sum(log.end for log in session.engine.rooms.open.values())
            session.close()  # with work left
    assert waited
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    for name in chosen:
        assert found(handles[name]) == expected(session, CASES[name]), name
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
