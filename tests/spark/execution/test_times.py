"""Queries whose results have times of other years than Python knows deliver them all, and go on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from tests.spark.conftest import Open
from tests.spark.engine.workload import PATIENCE

SQL = """SELECT id, date_add(d, 30000000) AS day, timestamp_seconds(id * 100000000000) AS at,
    array(date_add(d, -3000000)) AS days FROM s"""
ROWS = 12
BEGIN = 20_454  # 2026-01-01, in days since 1970


def expected(results: pa.Table) -> pa.Table:
    """All results, with the types of these."""
    columns = {
        "id": pa.array(range(ROWS), pa.int64()),
        "day": pa.array([BEGIN + 30_000_000] * ROWS, pa.int32()).cast(pa.date32()),
        "at": pa.array([number * 10**17 for number in range(ROWS)], pa.timestamp("us", "UTC")),
        "days": pa.array([[BEGIN - 3_000_000]] * ROWS, pa.list_(pa.int32())),
    }
    return pa.table([columns[name].cast(results.schema.field(name).type) for name in columns], schema=results.schema)


def test_all_results_of_other_years_are_delivered(opened: Open) -> None:
    session = opened(fuse="class")
    session.stream("s", "id bigint, d date")
    called: list[pa.Table] = []
    in_files = [session.query(kind, SQL, sink=kind) for kind in ("parquet", "jsonl")]
    queries = [*in_files, session.query("callback", SQL, sink="callback", callback=called.append)]
    for first in range(0, ROWS, 4):
        session.append("s", [{"id": number, "d": "2026-01-01"} for number in range(first, first + 4)])
        assert session.drain(PATIENCE)
    assert [(query.status.state, query.status.error) for query in queries] == [("running", "")] * 3
    for found in [*(query.read() for query in in_files), pa.concat_tables(called)]:
        assert found.sort_by("id").equals(expected(found))
    for query in queries:
        query.stop()  # returns when all results are in its files
    lines = [text for file in lines_of(session.directory / "results" / "jsonl") for text in file.splitlines()]
    assert len(lines) == ROWS
    assert all('"day":"+84163-03-19"' in text and '"days":["-6188-04-13"]' in text for text in lines)
    assert sum('"at":"+' in text for text in lines) == ROWS - 3  # those of the years 1970, 5138 and 8307
    assert session.status().dead_letters == {"s": 0}


def lines_of(folder: Path) -> list[str]:
    return [file.read_text() for file in sorted(folder.glob("*.jsonl"))]
