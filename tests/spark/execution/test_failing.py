"""What expressions fail on, in the engine: fragments, groups, windows that overlap, changes of level and restarts."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pyarrow as pa
from tests.spark.conftest import Open
from tests.spark.engine.workload import PATIENCE, Row, counted, small_logs

from headgate.spark.session import Session

__all__ = ["small_logs"]

SCHEMA = "id bigint, k int, s string, ts timestamp"
SLIDING = "GROUP BY window(ts, '6 seconds', '2 seconds')"
JOINED = "FROM a x JOIN b y ON x.id = y.id AND y.ts BETWEEN x.ts - INTERVAL 2 SECONDS AND x.ts + INTERVAL 2 SECONDS"


class Failing(NamedTuple):
    """A query, the same over what it does not fail on, and the offsets of its letters as a query."""

    sql: str
    good: str
    dead: str


def over(sql: str, dead: str) -> Failing:
    """A query over one stream, and a condition that holds for the tuples on which it fails."""
    letters = f"SELECT a._offset AS x, a._offset AS y FROM a WHERE {dead}"
    return Failing(sql, sql.replace("FROM a", f"FROM (SELECT * FROM a WHERE NOT coalesce({dead}, FALSE))"), letters)


QUERIES = {
    "filter": over("SELECT id FROM a WHERE 100 / k > 3", "k = 0"),
    "projection": over("SELECT id, CAST(s AS int) AS n FROM a", "s = 'x'"),
    "chain": over(
        "SELECT q + 1 AS r FROM (SELECT 100 / k AS q, CAST(s AS int) AS n FROM a) WHERE n > 1",
        "s = 'x' OR k = 0 AND s IN ('7', '2')",
    ),
    "sliding": over(f"SELECT window.start AS t, sum(100 / k) AS n, count(*) AS m FROM a {SLIDING}", "k = 0"),
    "filtered": over(f"SELECT window.end AS t, count(*) AS m FROM a WHERE CAST(s AS int) > 1 {SLIDING}", "s = 'x'"),
    "pairs": Failing(
        f"SELECT x.id, 100 / (x.k - y.k) AS q {JOINED}",
        f"SELECT x.id, 100 / (x.k - y.k) AS q {JOINED} AND NOT coalesce(x.k = y.k, FALSE)",
        f"SELECT x._offset AS x, y._offset AS y {JOINED} WHERE x.k = y.k",
    ),
}
LEVELS = ("hnr", "random, level=operator", "segment", "fcfs")


def rows(first: int, count: int = 6) -> list[dict[str, object]]:
    values = ("1", "x", "7", None, "2")
    return [
        {"id": n % 3, "k": (0, 1, 2, None, 0, 5, 4)[n % 7], "s": values[n % 5], "ts": f"2024-01-01T00:00:{n:02}Z"}
        for n in range(first, first + count)
    ]


def begin(session: Session) -> None:
    for name in "ab":
        session.stream(name, SCHEMA, event_time="ts")
    for name, query in QUERIES.items():
        session.query(name, query.sql, since="start")


def test_letters_and_results_whatever_happens_in_between(opened: Open, small_logs: None) -> None:
    taken: dict[str, list[pa.Table]] = {"a": [], "b": []}
    for life, fuse in enumerate(("off", "all")):
        session = opened(fuse=fuse, policy=LEVELS[0])
        begin(session)
        for step, policy in enumerate(LEVELS):
            for name in "ab":
                before = session.engine.logs[name].end
                session.append(name, rows(6 * (len(LEVELS) * life + step)))
                taken[name].append(session.engine.logs[name].read(before, before + 6))
            assert session.drain(PATIENCE)
            session.set_policy(policy)
        if life == 0:
            session.close()
    for name in "ab":
        session.finish(name)
    assert session.drain(PATIENCE)
    for name in "ab":
        session.spark.createDataFrame(pa.concat_tables(taken[name])).createOrReplaceTempView(name)
    letters = [
        (letter.query, letter.origins(name))
        for name in "ab"
        for letter in session.engine.ingest.letters[name].letters()
    ]
    assert {line.error for line in session.status().queries} == {""}
    for name, query in QUERIES.items():
        assert counted(session[name].read()) == batch(session, query.good), name
        reported = Counter(origins for owner, origins in letters if owner == name)
        pairs = session.spark.sql(query.dead).toArrow().to_pylist()
        joined = name == "pairs"
        wanted = {(("a", pair["x"]), ("b", pair["y"])) if joined else (("a", pair["x"]),) for pair in pairs}
        assert reported == Counter(wanted), name


def batch(session: Session, sql: str) -> Counter[Row]:
    return counted(session.spark.sql(sql).toArrow())


def test_a_run_with_bad_tuples_takes_no_more_jobs(opened: Open) -> None:
    """The first one is tried twice; from then on a group with failing rows is one job, as without."""
    session = opened(fuse="all")
    begin(session)
    for step in range(4):
        session.append("a", rows(6 * step))
        session.append("b", rows(6 * step))
        assert session.drain(PATIENCE)
        runs, jobs = session.engine.overview().runs, session.engine.runner.jobs
        if step == 1:
            before = runs, jobs
    assert jobs - before[1] <= runs - before[0]


def test_a_bad_tuple_among_many_windows_is_a_letter_of_the_queries_that_fail_on_it(opened: Open) -> None:
    """More members than a job of an isolating run has; the first run goes through panes."""
    texts = {
        f"q{n}": f"SELECT window.start AS t, count(*) AS m, max(id) AS high FROM a WHERE id >= {n % 3} {SLIDING}"
        for n in range(70)
    }
    failing = {name: texts[name].replace("max(id)", "sum(100 / k)") for name in ("q3", "q66")}
    session = opened(fuse="all")
    session.stream("a", SCHEMA, event_time="ts")
    session.add_queries([{"name": name, "sql": text} for name, text in (texts | failing).items()])
    taken = []
    for first in (1, 4, 10):  # the first three have nothing to fail on
        session.append("a", rows(first, 3))
        taken.append(session.engine.logs["a"].read(session.engine.logs["a"].end - 3, session.engine.logs["a"].end))
        assert session.drain(PATIENCE)
    session.finish("a")
    assert session.drain(PATIENCE)
    session.spark.createDataFrame(pa.concat_tables(taken)).createOrReplaceTempView("a")
    wanted = {text: batch(session, text) for text in texts.values()}
    for name, text in texts.items():
        if name not in failing:
            assert counted(session[name].read()) == wanted[text], name
    letters = {name: set[int]() for name in failing}
    for letter in session.engine.ingest.letters["a"].letters():
        ((_, offset),) = letter.origins("a")
        letters[str(letter.query)].add(offset)
    for name, text in failing.items():
        place = text.split("id >= ")[1][0]
        query = over(text, f"k = 0 AND id >= {place}")
        assert counted(session[name].read()) == batch(session, query.good), name
        assert letters[name] == {row["x"] for row in session.spark.sql(query.dead).toArrow().to_pylist()}
        assert letters[name]


def test_a_table_that_others_read_may_be_absent(opened: Open) -> None:
    """A DataFrame is not there in a later session: that is no matter for queries that do not read it."""
    session = opened()
    session.stream("a", SCHEMA, event_time="ts")
    session.table("rooms", session.spark.sql("SELECT 1 AS id"))
    session.query("q", "SELECT id, 100 / k AS n FROM a")
    session.close()
    session = opened()
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    status = session["q"].status
    assert (status.state, status.error, status.dead_letters) == ("running", "", 2)
    assert session["q"].read().num_rows == 4
