"""Streams, queries of every kind and rows for the engine's tests, and what the results must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from tests.spark.compile.logs import Row, batch_views, counted, read_by
from tests.spark.compile.test_oracle import (
    BASE,
    JOINS,
    MIXED,
    ROOMS,
    STATELESS,
    STREAMS,
    TABLES,
    WINDOWS,
    Case,
    drawn_rows,
)

from headgate.plan.sql import plan_sql
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.session import Handle, Session
from headgate.spark.status import NO_RESULTS, Status, StatusLine

__all__ = [
    "BASE",
    "CASES",
    "PATIENCE",
    "STREAMS",
    "Case",
    "Row",
    "Taken",
    "batches",
    "counted",
    "declare",
    "expected",
    "results_of",
    "small_logs",
    "start",
    "table",
]

CASES = {case.name: case for case in (*STATELESS, *WINDOWS, *JOINS, *MIXED)}
PATIENCE = 300.0  # seconds until a test gives up waiting


def table(stream: str, rows: Sequence[Row]) -> pa.Table:
    """Rows of (…, event time in microseconds) with a stream's types."""
    schema = arrow_schema(STREAMS[stream])
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.names)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def cut(random: Random, rows: Sequence[Row], most: int = 12) -> list[list[Row]]:
    """Rows in batches of random sizes."""
    batches, at = [], 0
    while at < len(rows):
        size = random.randint(1, most)
        batches.append(list(rows[at : at + size]))
        at += size
    return batches


def batches(random: Random, streams: Iterable[str]) -> list[tuple[str, pa.Table]]:
    """Drawn rows of some streams in batches, those of different streams mixed; the last of each is late."""
    fragments = {}
    for name in streams:
        rows = drawn_rows(random, name)
        late = [(*row[:-1], BASE - 10_000_000) for row in rows[:2]]
        fragments[name] = [table(name, fragment) for fragment in (*cut(random, rows), late)]
    turns = [name for name, parts in fragments.items() for _ in parts]
    random.shuffle(turns)
    return [(name, fragments[name].pop(0)) for name in turns]


def declare(session: Session, streams: Iterable[str] = STREAMS) -> None:
    """The streams, the table and two classes."""
    for name in streams:
        session.add_stream(STREAMS[name])
    session.table("rooms", session.spark.createDataFrame(ROOMS))
    session.create_class("high", 10.0)
    session.create_class("low", 1.0)


def start(session: Session, cases: Iterable[Case], *, since: str = "now") -> dict[str, Handle]:
    """The cases as queries, by turns of either class."""
    return {
        case.name: session.query(
            case.name,
            case.sql,
            query_class=("high", "low")[number % 2],
            since=since,
            qos=((0.0, 1.0), (1.0, 0.0)),
        )
        for number, case in enumerate(cases)
    }


def expected(session: Session, case: Case, taken: Mapping[str, pa.Table] | None = None) -> Counter[Row]:
    """The same SQL as one batch over what the logs took, or hold; late rows where no window is above them."""
    logs = taken or {name: log.read(log.start, log.end) for name, log in session.engine.logs.items()}
    views = batch_views(plan_sql(case.sql, STREAMS, TABLES), logs)
    for name, rows in read_by(case.batch, views).items():
        session.spark.createDataFrame(rows).createOrReplaceTempView(name)
    session.engine.tables["rooms"].createOrReplaceTempView("rooms")
    return counted(session.spark.sql(case.batch).toArrow())


class Taken(dict[str, pa.Table]):
    """The rows that streams have accepted, including those dropped from their logs."""

    def append(self, session: Session, stream: str, rows: pa.Table) -> None:
        log = session.engine.logs[stream]
        before = log.end
        session.append(stream, rows)
        new = log.read(before, log.end)  # the newest append is never dropped
        self[stream] = pa.concat_tables([self[stream], new]) if stream in self else new


@pytest.fixture
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs are sealed every few appends and dropped every few runs, so that one dropped too early is missed at once."""
    monkeypatch.setattr("headgate.spark.store.log.stream_log.SEAL_APPENDS", 2)
    monkeypatch.setattr("headgate.spark.machine.maintenance.EVERY", 3)


def results_of(handle: Handle) -> Counter[Row]:
    """A query's results with their multiplicity."""
    return counted(handle.read())


def lasting(status: Status) -> tuple[str, list[StatusLine]]:
    """A status without what is measured over the last seconds: that changes while nothing happens."""
    lines = (*status.classes, *status.queries)
    return status.policy, [replace(line, rate=0.0, load=0.0, recent=NO_RESULTS) for line in lines]
