"""SQL from strangers: whatever comes in is planned or refused in words, soon and without an error of another kind."""

from __future__ import annotations

import random

import pytest
from tests.plan.test_sql import PLANNED, REFUSED, plan

from headgate.model import HeadgateError
from headgate.plan.sql import bounds

LARGE = {
    "characters": "SELECT " + " " * 1_000_000 + "id FROM sensors",
    "text": f"SELECT '{'x' * 100_000}' AS x FROM sensors",
    "parentheses": f"SELECT {'(' * 10_000}id{')' * 10_000} AS x FROM sensors",
    "brackets": f"SELECT {'[' * 500}id{']' * 500} AS x FROM sensors",
    "calls": f"SELECT {'abs(' * 500}id{')' * 500} AS x FROM sensors",
    "lambdas": f"SELECT {'transform(tags, t -> ' * 300}t{')' * 300} AS x FROM events",
    "cases": f"SELECT {'CASE WHEN id = 1 THEN ' * 300}id{' END' * 300} AS x FROM sensors",
    "types": f"SELECT cast(id AS {'array<' * 300}int{'>' * 300}) AS x FROM sensors",
    "signs": f"SELECT {'- ' * 5_000}id AS x FROM sensors",
    "negations": f"SELECT id FROM sensors WHERE {'NOT ' * 5_000} id = 1",
    "sum": f"SELECT {' + '.join(['id'] * 1_000)} AS x FROM sensors",
    "casts": f"SELECT id{'::int' * 1_000} AS x FROM sensors",
    "fields": f"SELECT place{'.city' * 1_000} AS x FROM events",
    "subqueries": f"SELECT id FROM {'(SELECT id FROM ' * 90}sensors{')' * 90}",
    "IN": f"SELECT id FROM sensors WHERE id IN ({', '.join(map(str, range(50_000)))})",
    "IN of short ones": f"SELECT id FROM sensors WHERE id IN ({','.join('1' * 11_000)})",
    "columns": f"SELECT {', '.join(f'id AS c{n}' for n in range(2_000))} FROM sensors",
    "unions": " UNION ALL ".join(["SELECT id FROM sensors"] * 200),
    "joins": "SELECT t0.id FROM sensors t0" + "".join(f" JOIN rooms t{n} ON t0.room = t{n}.code" for n in range(1, 90)),
    "CTEs that double": "WITH c0 AS (SELECT id FROM sensors)"
    + "".join(f", c{n} AS (SELECT id FROM c{n - 1} UNION ALL SELECT id FROM c{n - 1})" for n in range(1, 60))
    + " SELECT id FROM c59",
    "joins that double": "WITH c0 AS (SELECT id, ts FROM sensors)"
    + "".join(f", c{n} AS (SELECT a.id, a.ts FROM c{n - 1} a JOIN c{n - 1} b ON a.ts = b.ts)" for n in range(1, 60))
    + " SELECT id FROM c59",
    "windows": "SELECT count(*) AS n FROM sensors GROUP BY window(ts, '10 seconds', '1 microsecond')",
    "hops": "SELECT count(*) AS n FROM HOP(sensors, ts, INTERVAL 1 SECOND, INTERVAL 1 DAY) GROUP BY window_start",
}


@pytest.mark.parametrize("what", LARGE)
def test_beyond_a_bound_is_refused_with_advice(what: str) -> None:
    with pytest.raises(HeadgateError) as caught:
        plan(LARGE[what])
    assert caught.value.hint
    assert len(str(caught.value)) < 400


NEAR = {
    "parentheses": f"SELECT {'(' * 90}id{')' * 90} AS x FROM sensors",
    "OR": f"SELECT id FROM sensors WHERE {' OR '.join(f'id = {n}' for n in range(500))}",
    "IN": f"SELECT id FROM sensors WHERE id IN ({', '.join(map(str, range(2_000)))})",
    "unions": " UNION ALL ".join(["SELECT id FROM sensors"] * bounds.LEAVES),
    "windows": "SELECT count(*) AS n FROM sensors GROUP BY window(ts, '400 seconds', '1 second')",
}


@pytest.mark.parametrize("what", NEAR)
def test_within_the_bounds_is_planned(what: str) -> None:
    assert plan(NEAR[what])


SCRAPS = ("(", ")", "'", "`", ",", " FROM ", " AS ", ".", "SELECT ", " USING 'x' ", "[", "->", "::", "*", ";", "?", "é")


def garbled(sql: str, draw: random.Random) -> str:
    """A query with a part cut out, doubled, moved or replaced by a scrap."""
    for _ in range(draw.randint(1, 3)):
        low, high = sorted(draw.randrange(len(sql) + 1) for _ in range(2))
        part = draw.choice(("", draw.choice(SCRAPS), sql[low:high] * 2, draw.choice(SCRAPS) + sql[low:high]))
        sql = sql[:low] + part + sql[high if draw.random() < 0.7 else low :]
    return sql[:2_000]


@pytest.mark.parametrize("seed", range(4))
def test_garbled_sql_is_planned_or_refused(seed: int) -> None:
    draw = random.Random(seed)
    written = [case.sql for case in (*PLANNED, *REFUSED)]
    for _ in range(300):
        sql = garbled(draw.choice(written), draw)
        try:
            plan(sql)
        except HeadgateError:
            continue
        except Exception as error:
            pytest.fail(f"{type(error).__name__}: {error} of {sql!r}")
