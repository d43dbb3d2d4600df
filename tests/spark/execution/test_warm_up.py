"""Warming up runs the jobs of real runs on made-up rows, and leaves nothing behind but a Spark that is warm."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.compile.test_fused import GROUPS
from tests.spark.compile.test_oracle import TABLES
from tests.spark.conftest import Open
from tests.spark.engine.internals import life, prepare_query
from tests.spark.engine.test_steering import eventually
from tests.spark.engine.workload import (
    CASES,
    PATIENCE,
    STREAMS,
    Case,
    batches,
    counted,
    declare,
    expected,
    results_of,
    start,
    table,
)

from headgate.model import HeadgateError, Stream
from headgate.plan.sql import plan_sql
from headgate.spark.compile import prepared_query
from headgate.spark.compile.prepared_query import Isolation
from headgate.spark.compile.read_sets import sources
from headgate.spark.compile.stored_tables import stored
from headgate.spark.execution import warm_up
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.execution.made_up_rows import MadeUpLog, Pace, Size
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.session import Session

ALONE = ("filter", "table join", "union", "tumbling", "sliding", "join", "except", "aggregate over a join")
GROUPED = [Case(f"{name} {number}", sql, sql) for name, texts in GROUPS.items() for number, sql in enumerate(texts[:2])]
JOINED = "FROM a x JOIN b y ON x.id > y.id AND y.ts BETWEEN x.ts - INTERVAL 3 SECONDS AND x.ts"
FAILING = {  # on made-up rows, but not on those of the test
    "division": "SELECT 100 DIV (v - 7) AS x FROM a",
    "cast": "SELECT cast(s AS int) AS x FROM a",
    "window": "SELECT sum(100 DIV (v - 7)) AS x FROM a GROUP BY window(ts, '4 seconds')",
    "join": f"SELECT x.v DIV (y.w - y.w DIV 8 * 8 - 3) AS x {JOINED}",
}


class Heard:
    """Takes the place of a logger, and keeps what it is told at the level of debugging."""

    def __init__(self) -> None:
        self.entries: list[Mapping[str, Any]] = []

    def debug(self, text: str, **fields: Any) -> None:
        self.entries.append({"text": text, **fields})


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """What warming up logs."""
    heard = Heard()
    monkeypatch.setattr(warm_up, "_log", heard)
    return heard


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The descriptions of jobs that warming up would have run; none is."""
    descriptions: list[str] = []

    def run_once(self: JobRunner, group: str, description: str, *others: object) -> None:
        descriptions.append(description)

    monkeypatch.setattr(JobRunner, "run_once", run_once)
    return descriptions


def kept(folder: Path) -> dict[str, bytes]:
    """All that a directory holds, except what is written for people only."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files if path.suffix != ".log" and "journal" not in path.parts}


def check_results(session: Session, cases: Sequence[Case], seed: int) -> None:
    """Feed rows, and compare the results of all queries with the batch."""
    random, produced = Random(seed), 0
    for stream, rows in batches(random, STREAMS):
        session.append(stream, rows)
        if random.random() < 0.3:
            session.drain(0.2)
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    for case in cases:
        wanted = expected(session, case)
        assert results_of(session[case.name]) == wanted, case.name
        produced += wanted.total()
    assert produced


@pytest.mark.parametrize(
    ("policy", "fuse", "cases"),
    [
        ("fcfs", "off", [CASES[name] for name in ALONE]),
        ("random", "all", GROUPED),
        ("random, level=operator", "off", [CASES[name] for name in ("filter", "tumbling", "join", "union")]),
    ],
    ids=["alone", "groups", "fragments"],
)
def test_nothing_is_left_and_results_equal_the_batch(
    opened: Open, heard: Heard, policy: str, fuse: str, cases: Sequence[Case]
) -> None:
    session = opened(policy=policy, fuse=fuse, seed=1, held=True)
    declare(session)
    start(session, cases)
    before, costs = kept(session.directory), session.engine.costs()
    steps: list[tuple[int, int]] = []
    warmed = session.warm(None, lambda done, jobs: steps.append((done, jobs)))
    assert heard.entries == []
    assert 0 < warmed <= len(cases)
    assert steps == [(done, 2 * warmed) for done in range(2 * warmed)]
    assert kept(session.directory) == before
    assert session.engine.costs() == costs
    status = session.status()
    assert (status.runs, status.spark_jobs, set(status.dead_letters.values())) == (0, 0, {0})
    assert {(line.state, line.runs, line.tuples_in, line.waiting) for line in status.queries} == {("running", 0, 0, 0)}
    assert all(set(life(session, case.name).positions.values()) == {0} for case in cases)
    session.begin()
    check_results(session, cases, 5)


def test_made_up_rows_that_fail_change_nothing_of_a_query(opened: Open, heard: Heard) -> None:
    session = opened(policy="fcfs", fuse="all", held=True)
    declare(session, ("a", "b"))
    for name, sql in FAILING.items():
        session.query(name, sql, query_class="low")
    session.query("with others", "SELECT v + 1 AS x FROM a", query_class="low")
    session.warm(None)
    assert len(heard.entries) >= len(FAILING) - 1  # division and cast share a job
    assert {entry["text"] for entry in heard.entries} == {"warming up failed"}
    for name in FAILING:
        assert prepare_query(session, name).isolation is Isolation.NONE
        assert (session[name].status.state, session[name].status.error) == ("running", "")
    session.begin()
    session.append("a", table("a", [(n, n, str(n), n * 1_000_000) for n in range(6)]))
    session.append("b", table("b", [(n, 8 * n, n * 1_000_000) for n in range(6)]))
    session.finish("a")
    session.finish("b")
    assert session.drain(PATIENCE)
    assert sorted(session["cast"].read()["x"].to_pylist()) == list(range(6))
    assert sorted(session["division"].read()["x"].to_pylist()) == [-50, -33, -25, -20, -16, -14]
    assert sorted(session["window"].read()["x"].to_pylist()) == [-83, -75]
    assert sorted(session["with others"].read()["x"].to_pylist()) == list(range(1, 7))
    assert set(session.status().dead_letters.values()) == {0}
    assert all(prepare_query(session, name).isolation is Isolation.NONE for name in FAILING)


@pytest.mark.parametrize("name", ALONE)
def test_windows_of_made_up_rows_close_and_their_joins_meet(spark: SparkSession, name: str) -> None:
    """Otherwise Spark would have nothing to do, and stay as cold as before."""
    rooms = spark.range(1000).selectExpr("id", "'x' AS label", "1 AS floor")
    plan = plan_sql(CASES[name].sql, STREAMS, TABLES)
    pace = Pace.of([plan], STREAMS.values())
    logs = {stream: MadeUpLog.of(STREAMS[stream], Size(400, 800), pace, 1.7e9) for stream in STREAMS}
    prepared = prepared_query.prepare_query(spark, plan, STREAMS, {"rooms": stored(rooms)})
    leaves = {place: logs[source.stream].leaf() for place, source in sources(plan)}
    assert prepared.run_once(leaves, logs).rows.num_rows > 0


def test_a_synthetic_source_says_what_is_in_the_columns() -> None:
    columns = (("colour", "string"), ("n", "int"), ("rate", "int"), ("day", "date"), ("ts", "timestamp"))
    source = "constant, rate=5, colour=[red], n=[-3, 0]"
    stream = Stream(name="s", schema=columns[:2] + columns[3:], event_time="ts", source=source)
    rows = MadeUpLog.of(stream, Size(10, 20), Pace(1.0, 2.0), 1.7e9).table
    assert set(rows["colour"].to_pylist()) == {"red"}
    assert set(rows["n"].to_pylist()) == {-3, -2, -1, 0}
    assert rows["ts"].to_pylist() == sorted(rows["ts"].to_pylist())
    assert rows["day"].null_count == 0
    taken = Stream(name="s", schema=columns, event_time="ts", source=source)  # rate is no setting of the column
    assert min(MadeUpLog.of(taken, Size(10, 20), Pace(1.0, 2.0), 1.7e9).table["rate"].to_pylist()) >= 1


def test_the_most_important_class_comes_first(opened: Open, asked: list[str]) -> None:
    session = opened(fuse="class", held=True)
    declare(session, ("a",))
    for name, query_class in (("p", "low"), ("q", "high"), ("r", "low"), ("s", "high")):
        session.query(name, "SELECT id FROM a", query_class=query_class)
    session["s"].pause()
    assert session.warm() == 2
    assert asked == ["warming up: q", "warming up: p, r"] * 2


def test_without_time_nothing_is_warmed(opened: Open, asked: list[str]) -> None:
    session = opened(held=True)
    declare(session, ("a",))
    session.query("q", "SELECT id FROM a", query_class="low")
    assert session.warm(0) == session.warm("0 s") == 0
    assert asked == []


def test_a_session_warms_up_the_queries_that_its_directory_remembers(opened: Open, asked: list[str]) -> None:
    session = opened(warm=True)
    declare(session, ("a",))
    session.query("q", "SELECT id FROM a", query_class="low")
    session.begin()
    session.close()
    assert asked == []
    opened().close()
    assert asked == []
    again = opened(warm="5 s", held=True)
    assert asked == []
    again.begin()
    again.begin()
    assert asked == ["warming up: q"] * 2


def test_closing_ends_a_warm_up(opened: Open, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()
    answers: list[object] = []
    session = opened(held=True)
    declare(session, ("a",))
    session.query("q", "SELECT id FROM a", query_class="low")
    monkeypatch.undo()  # real jobs from here on

    def progress(done: int, jobs: int) -> None:
        begun.set()
        release.wait(PATIENCE)

    def noted(act: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                answers.append(act())
            except HeadgateError as error:
                answers.append(str(error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    warming = noted(lambda: session.warm(None, progress))
    assert begun.wait(PATIENCE)
    closing = noted(session.close)
    assert eventually(lambda: any(session.engine.runner._runs.values()))
    release.set()
    for thread in (warming, closing):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert len(answers) == 2


def test_if_spark_dies_queries_go_on_as_after_any_task(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(held=True)
    declare(session, ("a",))
    session.query("q", "SELECT id FROM a", query_class="low")
    former = prepare_query(session, "q")

    def dies(*given: object) -> None:
        raise SparkGoneError("Spark has died")

    monkeypatch.setattr(JobRunner, "run_once", dies)
    assert session.warm() == 0
    assert eventually(lambda: prepare_query(session, "q") is not former and session["q"].status.state == "running")
    session.begin()
    session.append("a", table("a", [(1, 2, "x", 0)]))
    assert session.drain(PATIENCE)
    assert counted(session["q"].read()) == {(1,): 1}
