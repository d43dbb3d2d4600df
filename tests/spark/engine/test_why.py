"""A query that is made late on purpose, in five ways, is explained rightly each time."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.internals import prepare_query
from tests.spark.engine.test_steering import eventually, rows
from tests.spark.engine.workload import BASE, PATIENCE, declare, table

from headgate.history.ring import read_history
from headgate.insight.causes import Cause
from headgate.insight.why import Explainer, Explanation
from headgate.spark.compile.fused.filters import FusedFilters
from headgate.spark.compile.prepared_query import PreparedQuery, Result
from headgate.spark.session import Handle, Session

LONG = 2.0  # seconds: much longer than anything else in these tests takes


def rows_of_b(first: int, count: int = 5) -> pa.Table:
    return table("b", [(number, 1, BASE + number * 1_000_000) for number in range(first, first + count)])


def slow_down(monkeypatch: pytest.MonkeyPatch, handles: Iterable[Handle], seconds: float = LONG) -> list[str]:
    """Let runs of some queries take longer from now on; returns a list of those that have begun."""
    plans = {id(prepare_query(handle._session, handle.name)): handle.name for handle in handles}
    run, begun = PreparedQuery.run, list[str]()

    def slowly(prepared: PreparedQuery, *read: Any) -> Result:
        if id(prepared) in plans:
            begun.append(plans[id(prepared)])
            time.sleep(seconds)
        return run(prepared, *read)

    monkeypatch.setattr(PreparedQuery, "run", slowly)
    return begun


def warmed(opened: Open, **settings: Any) -> Session:
    session = opened(**{"workers": 1, **settings})
    declare(session, ("a", "b"))
    return session


def run_once(session: Session, first: int = 0) -> None:
    """Let every query run once: the first job of a kind takes long on Spark."""
    session.append("a", rows(first))
    session.append("b", rows_of_b(first))
    assert session.drain(PATIENCE)


def last_of(directory: Path, query: str) -> Explanation:
    told = Explainer(read_history(directory / "data")).pick(query, "last")
    assert sum(told.causes.values()) == pytest.approx(told.moments.total)
    return told


def test_a_long_run_before_it(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = warmed(opened)
    session.query("fire", "SELECT id FROM a", query_class="high")
    report = session.query("report", "SELECT id, w FROM b", query_class="low")
    run_once(session)
    begun = slow_down(monkeypatch, [report])
    session.append("b", rows_of_b(100))
    assert eventually(lambda: bool(begun))
    session.append("a", rows(100))
    assert session.drain(PATIENCE)
    told = last_of(tmp_path, "fire")
    assert told.cause is Cause.LONG_RUN, told.sentence
    assert "behind low's report (one run, 5 tuples)" in told.sentence


def test_a_lower_class_fused_with_it(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = warmed(opened, fuse="all")
    session.query("fire", "SELECT id FROM a", query_class="high")
    for least in range(3):
        session.query(f"low{least}", f"SELECT id FROM a WHERE v > {least}", query_class="low")
    run_once(session)
    run = FusedFilters.run

    def slowly(fused: FusedFilters, *given: Any) -> Any:
        time.sleep(LONG)
        return run(fused, *given)

    monkeypatch.setattr(FusedFilters, "run", slowly)
    session.append("a", rows(100))
    assert session.drain(PATIENCE)
    told = last_of(tmp_path, "fire")
    assert told.cause is Cause.FUSED, told.sentence
    assert "fused with 3 less important queries" in told.sentence


def test_its_class_is_overloaded(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = warmed(opened)
    queries = [
        session.query(f"fire{number}", f"SELECT id + {number} AS id FROM a", query_class="high") for number in range(4)
    ]
    run_once(session)
    slow_down(monkeypatch, queries, LONG / 4)
    for first in (100, 200):
        session.append("a", rows(first))
    assert session.drain(PATIENCE)
    told = [last_of(tmp_path, handle.name) for handle in queries]
    latest = max(told, key=lambda one: one.moments.total)
    assert latest.cause is Cause.OWN_CLASS, latest.sentence
    assert all(delay.run.query_class == "high" for delay in latest.delays)


def test_a_slow_sink(opened: Open, tmp_path: Path) -> None:
    session = warmed(opened)
    slow: list[int] = []

    def take(results: pa.Table) -> None:
        if slow:
            time.sleep(LONG)

    session.query("fire", "SELECT id FROM a", query_class="high", callback=take)
    run_once(session)
    slow.append(1)
    session.append("a", rows(100))
    assert session.drain(PATIENCE)
    session.close()
    told = last_of(tmp_path, "fire")
    assert told.cause is Cause.SINK, told.sentence
    assert "until its sink had it" in told.sentence


def test_a_window_that_waits(opened: Open, tmp_path: Path) -> None:
    session = warmed(opened)
    session.query("count", "SELECT count(*) AS n FROM a GROUP BY window(ts, '20 seconds')", query_class="high")
    session.append("a", rows(0, 50))
    assert session.drain(PATIENCE)
    time.sleep(LONG)
    session.append("a", rows(100, 5))
    assert session.drain(PATIENCE)
    session.close()
    told = last_of(tmp_path, "count")
    assert told.cause is Cause.WINDOW, told.sentence
    assert told.moments.parts["window"] >= LONG
