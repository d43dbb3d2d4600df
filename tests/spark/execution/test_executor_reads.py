"""Large trains: executors read sealed segments themselves, and the rows are those that the log gives."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from math import inf
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.compile.logs import counted
from tests.spark.conftest import Open
from tests.spark.engine.internals import still
from tests.spark.engine.workload import CASES, PATIENCE, STREAMS, batches, declare, expected, results_of, start

from headgate.model import Stream
from headgate.spark.compile import executor_reads as sealed
from headgate.spark.compile.fused import executor_writes as fused_writes
from headgate.spark.compile.schemas import ARRIVAL, LATE, OFFSET, arrow_schema
from headgate.spark.compile.time_spans import ALWAYS, Span
from headgate.spark.store.log import segments
from headgate.spark.store.log.stream_log import StreamLog

KINDS = (
    *("filter", "expressions", "table join", "union", "tumbling", "sliding", "aggregate of an aggregate"),
    *("except of sliding windows", "join", "self-join", "three streams", "stream joined with its aggregate"),
)
EVERY = Stream(
    name="every kind",
    schema=(
        *(("b", "boolean"), ("i", "tinyint"), ("s", "smallint"), ("n", "int"), ("l", "bigint"), ("f", "float")),
        *(("d", "double"), ("t", "string"), ("x", "binary"), ("day", "date"), ("p", "decimal(9,2)")),
        *(("q", "decimal(30,4)"), ("a", "array<int>"), ("m", "map<string,bigint>"), ("r", "struct<u:int,v:string>")),
        ("ts", "timestamp"),
    ),
    event_time="ts",
)


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "LARGE", 1)
    monkeypatch.setattr(sealed, "VAST", 1)


def whole_loads(monkeypatch: pytest.MonkeyPatch) -> list[segments.LogSegment]:
    """Sealed segments whose rows the driver reads from now on."""
    seen: list[segments.LogSegment] = []
    load = segments.load

    def counting(segment: segments.LogSegment) -> pa.Table:
        if segment.sealed:
            seen.append(segment)
        return load(segment)

    monkeypatch.setattr(segments, "load", counting)
    return seen


def log_of_everything(folder: Path, rows: int, behind: int = 0) -> StreamLog:
    """Three in ten rows are so many microseconds behind."""
    log = StreamLog.open(folder, EVERY, arrow_schema(EVERY))
    for first in range(0, rows, 10):
        ids = range(first, first + 10)
        columns: dict[str, list[Any]] = {
            **{name: [n % 5 if n % 7 else None for n in ids] for name in ("i", "s", "n", "l", "f", "d")},
            **{name: [Decimal(n) / 4 for n in ids] for name in ("p", "q")},
            "b": [n % 2 == 0 for n in ids],
            "t": [f"ü{n}" if n % 3 else None for n in ids],
            "x": [bytes([n % 256]) for n in ids],
            "day": [date(2020, 1, 1 + n % 28) for n in ids],
            "a": [[n, None] if n % 4 else None for n in ids],
            "m": [[("k", n)] for n in ids],
            "r": [{"u": n, "v": None} if n % 5 else None for n in ids],
            "ts": [n * 1_000 - behind * (n % 10 > 6) for n in ids],
        }
        arrays = [pa.array(columns[column.name], column.type) for column in log.schema]
        log.append(pa.Table.from_arrays(arrays, schema=log.schema), first / 10)
        if first in (30, 70):
            log.seal()
    return log


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize(
    ("first", "last", "span"),
    [
        (0, 120, ALWAYS),
        (13, 97, ALWAYS),
        (3, 51, Span(17_000, 44_000)),
        (0, 120, Span(-inf, 44_000)),
        (0, 120, Span(39_000, inf)),
        (45, 78, Span(0, 200_000)),
    ],
)
def test_files_give_what_the_log_gives(spark: SparkSession, tmp_path: Path, first: int, last: int, span: Span) -> None:
    """What windows read, and what is read where there are none."""
    log = log_of_everything(tmp_path / "a [b]{c}", 120, behind=15_000)
    wanted = log.read_window(first, last, span.low, span.high)
    assert not any(wanted[LATE].to_pylist())
    check_files(spark, sealed.sealed_rows(log, first, last, "ts", span), wanted)
    if span == ALWAYS:
        every = log.read(first, last)
        assert any(every[LATE].to_pylist())
        check_files(spark, sealed.sealed_rows(log, first, last, "ts", late=True), every)


def check_files(spark: SparkSession, files: sealed.SealedRows | None, wanted: pa.Table) -> None:
    assert files is not None
    read = files.frame(spark, wanted.schema).toArrow()
    rest = wanted.filter(pa.compute.greater_equal(wanted[OFFSET], files.end))
    assert read.num_rows + rest.num_rows == wanted.num_rows
    together = pa.concat_tables([read.cast(wanted.schema), rest]).sort_by(OFFSET)
    assert together.equals(wanted.sort_by(OFFSET))
    assert ARRIVAL in together.column_names


def test_little_stays_with_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    log = log_of_everything(tmp_path / "log", 120)
    assert sealed.sealed_rows(log, 0, 120, "ts") is None
    assert sealed.train_span(log, 0, 120) is None


@pytest.mark.usefixtures("all_large")
def test_results_from_sealed_segments_equal_the_batch(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(policy="fcfs")
    declare(session)
    random = Random(5)
    for stream, rows in batches(random, STREAMS):
        session.append(stream, rows)
        if random.random() < 0.2:
            session.engine.logs[stream].seal()
    for stream in STREAMS:
        session.finish(stream)
    session.engine.logs["a"].seal()  # of the others some rows lie in files and some do not
    seen = whole_loads(monkeypatch)
    cases = [CASES[name] for name in KINDS]
    handles = start(session, cases, since="start")
    assert session.drain(PATIENCE)
    assert not seen
    for case in cases:
        assert results_of(handles[case.name]) == expected(session, case), case.name
    assert sum(counted(handle.read()).total() for handle in handles.values())


def every_row(folder: Path) -> pa.Table:
    """Rows of all types, out of a log that is not needed otherwise."""
    log = log_of_everything(folder, 120)
    rows = log.read(0, log.end).drop_columns([OFFSET, ARRIVAL, LATE])
    log.close()
    return rows


@pytest.mark.usefixtures("all_large")
def test_executors_write_what_the_driver_would(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = every_row(tmp_path / "made")
    session = opened()
    session.add_stream(EVERY)
    sql = "SELECT * FROM `every kind` WHERE l > 0"
    large, lines = session.query("large", sql), session.query("lines", sql, sink="jsonl")
    seen = large.results(timeout=PATIENCE)
    session.append(EVERY.name, rows)
    assert session.drain(PATIENCE)
    wanted = rows.filter(pa.compute.greater(rows["l"], 0))
    folder = session.engine.directory.result("large")
    (commit,) = (commit for _, commit in session.engine.commits.commits() if "large" in commit.outputs)
    assert commit.outputs["large"].files
    (inline,) = (commit for _, commit in session.engine.commits.commits() if "lines" in commit.outputs)
    assert not inline.outputs["lines"].files
    assert large.read().schema.equals(large.schema)
    assert large.read().sort_by("ts").equals(wanted)
    assert counted(lines.read()) == counted(wanted)
    assert all(pa.parquet.read_schema(path).names == wanted.schema.names for path in folder.glob("*.parquet"))
    assert not [*session.engine.directory.aside.iterdir()]
    assert next(seen).num_rows
    assert large.status.tuples_out == wanted.num_rows
    assert large.status.response_time.mean is not None
    monkeypatch.setattr(sealed, "VAST", 1_000)  # small and large results of one query go together
    session.append(EVERY.name, rows.slice(118, 1).set_column(15, "ts", pa.array([10**9], pa.timestamp("us", "UTC"))))
    assert session.drain(PATIENCE)
    assert large.read().num_rows == wanted.num_rows + 1


@pytest.mark.usefixtures("all_large")
def test_a_row_that_fails_in_a_large_train(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    query = session.query("q", "SELECT 12 DIV id AS share FROM s")
    session.append("s", pa.table({"id": [0, 1, 2, 3]}))
    assert session.drain(PATIENCE)
    assert query.status.state == "running"
    assert sorted(query.read()["share"].to_pylist(), key=str) == [12, 4, 6]
    assert session.status().dead_letters == {"s": 1}
    assert not [*session.engine.directory.aside.iterdir()]


@pytest.mark.usefixtures("all_large")
def test_no_result_of_a_large_train(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    query = session.query("q", "SELECT id FROM s WHERE id < 0")
    session.append("s", pa.table({"id": [1, 2, 3]}))
    assert session.drain(PATIENCE)
    assert query.read().num_rows == 0
    assert not [*session.engine.directory.aside.iterdir()]


@pytest.mark.parametrize("many", [1, 1_000], ids=["files", "few results"])
def test_a_group_reads_and_writes_large_trains_in_one_job(
    opened: Open, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Members of different columns, one that began later, one that wants nothing; in one job until a row fails."""
    monkeypatch.setattr(sealed, "VAST", 1)
    monkeypatch.setattr(fused_writes, "MANY", many)
    monkeypatch.setattr(sealed, "LARGE", 1)
    session = opened(fuse="class")
    session.stream("s", "id bigint, v int")
    first = pa.table({"id": [1, 2, 3], "v": pa.array([1, 2, 3], pa.int32())})
    texts = {
        "all": "SELECT * FROM s",
        "odd": "SELECT id * 10 AS ten, v FROM s WHERE id % 2 = 1",
        "share": "SELECT 12 DIV v AS part FROM s WHERE v > 0",
        "none": "SELECT id FROM s WHERE id > 1000",
    }
    with still(session):  # nothing runs until all is there
        session.append("s", first)
        session.engine.logs["s"].seal()
        queries = {name: session.query(name, text, since="start") for name, text in texts.items()}
        queries["late"] = session.query("late", "SELECT v FROM s")
        session.append("s", pa.table({"id": [4, 5, 6], "v": pa.array([0, 5, 6], pa.int32())}))
        session.engine.logs["s"].seal()
        session.append("s", pa.table({"id": [7], "v": pa.array([7], pa.int32())}))
    assert session.drain(PATIENCE)
    commits = [commit for _, commit in session.engine.commits.commits() if commit.outputs]
    assert [sorted(commit.outputs) for commit in commits] == [["all", "late", "odd", "share"]]
    assert {bool(output.files) for output in commits[0].outputs.values()} == {many == 1}
    assert queries["all"].read().sort_by("id")["id"].to_pylist() == [1, 2, 3, 4, 5, 6, 7]
    assert sorted(queries["odd"].read()["ten"].to_pylist()) == [10, 30, 50, 70]
    assert sorted(queries["share"].read()["part"].to_pylist()) == [1, 2, 2, 4, 6, 12]
    assert sorted(queries["late"].read()["v"].to_pylist()) == [0, 5, 6, 7]
    assert queries["none"].read().num_rows == 0
    assert not [*session.engine.directory.aside.iterdir()]


def test_a_group_has_one_job_for_a_large_train_of_which_nothing_is_sealed(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed, "VAST", 1)
    session = opened(fuse="class")
    session.stream("s", "id bigint")
    queries = [session.query(f"q{number}", f"SELECT id FROM s WHERE id % 5 = {number}") for number in range(5)]
    session.append("s", pa.table({"id": range(100)}))
    assert session.drain(PATIENCE)
    assert session.status().spark_jobs == 1
    assert [sorted(query.read()["id"].to_pylist()) for query in queries] == [[*range(n, 100, 5)] for n in range(5)]


@pytest.mark.parametrize(
    ("first", "last", "span", "rows"),
    [
        (0, 100, ALWAYS, 100),  # all of the segment
        (40, 100, ALWAYS, 60),  # what was taken before is not read again
        (0, 10, ALWAYS, 10),  # a short train out of a long segment
        (0, 100, Span(0, 500), 50),  # a window that covers half of its time
        (50, 100, Span(900, 2000), 5),
    ],
)
def test_how_many_rows_of_a_segment_are_wanted(first: int, last: int, span: Span, rows: float) -> None:
    segment: Any = SimpleNamespace(first=0, end=100, low=0, high=1000)
    assert sealed._wanted(segment, first, last, span) == rows
