"""Sinks that fail, and tables as sinks, under a running engine."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.conftest import Open
from tests.spark.engine.internals import names
from tests.spark.engine.test_steering import COPY, eventually, ids, rows
from tests.spark.engine.workload import PATIENCE, declare

from headgate.model import HeadgateError
from headgate.spark.execution.open_sinks import OpenSinks
from headgate.spark.session import Session
from headgate.spark.sinks import files as file_sinks
from headgate.spark.store.atomic_files import write_atomic


@pytest.fixture
def session(opened: Open) -> Session:
    session = opened()
    declare(session, ("a",))
    return session


def test_a_full_disk_suspends_the_query_whose_files_are_there(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = [True]

    def limited(path: Path, *given: Any, **more: Any) -> None:
        if full[0] and path.parent.name == "bad":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_atomic(path, *given, **more)

    monkeypatch.setattr(file_sinks, "write_atomic", limited)
    bad, good = (session.query(name, COPY, query_class="low") for name in ("bad", "good"))
    session.append("a", rows(0))
    assert eventually(lambda: bad.status.state == "suspended")
    assert bad.status.error == "[Errno 28] No space left on device"
    session.append("a", rows(5))
    assert session.engine.drain(PATIENCE)
    assert (ids(good), good.status.state) == (list(range(10)), "running")
    bad.resume()
    assert eventually(lambda: bad.status.state == "suspended")  # the disk is as full as before
    full[0] = False
    bad.resume()
    assert session.engine.drain(PATIENCE)
    assert (ids(bad), bad.status.state) == (list(range(10)), "running")


@pytest.fixture
def database(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    spark.sql(f"CREATE DATABASE sinks LOCATION '{tmp_path / 'sinks'}'")
    yield "sinks"
    spark.sql("DROP DATABASE sinks CASCADE")


def stored(session: Session, name: str) -> list[int]:
    return sorted(row.id for row in session.spark.table(name).collect())


def test_results_are_appended_to_a_table(opened: Open, database: str) -> None:
    session = opened()
    declare(session, ("a",))
    session.query("q", COPY, query_class="low", sink=f"table, name={database}.alerts")
    assert not session.spark.catalog.tableExists(f"{database}.alerts")
    session.append("a", rows(0))
    assert session.engine.drain(PATIENCE)
    assert stored(session, f"{database}.alerts") == list(range(5))
    assert session.spark.table(f"{database}.alerts").columns == ["id", "v"]
    with pytest.raises(HeadgateError, match=r"read the table with Spark: spark\.table\('sinks\.alerts'\)"):
        session["q"].read()
    session.close()
    again = opened()
    declare(again, ("a",))
    again.query("q", COPY, query_class="low", sink=f"table, name={database}.alerts")
    again.append("a", rows(5))
    assert again.engine.drain(PATIENCE)
    assert stored(again, f"{database}.alerts") == list(range(10))


def test_a_table_that_does_not_fit_is_refused_with_both_schemas(session: Session, database: str) -> None:
    session.spark.sql(f"CREATE TABLE {database}.other (id STRING, v BIGINT) USING parquet")
    says = r"'sinks\.other' do not fit: it has id string, v bigint, and the query gives id bigint, v int"
    with pytest.raises(HeadgateError, match=says):
        session.query("q", COPY, query_class="low", sink=f"table, name={database}.other")
    with pytest.raises(HeadgateError, match="there is no database 'nowhere' for the table"):
        session.query("q", COPY, query_class="low", sink="table, name=nowhere.t")
    with pytest.raises(HeadgateError, match="'a b' is not a name of a table"):
        session.query("q", COPY, query_class="low", sink="table, name=a b")
    assert names(session) == []


def test_results_wait_for_a_table_that_takes_none(session: Session, database: str) -> None:
    query = session.query("q", COPY, query_class="low", sink=f"table, name={database}.late")
    session.spark.sql(f"CREATE TABLE {database}.late (id STRING) USING parquet")
    session.append("a", rows(0))
    assert eventually(lambda: query.status.state == "suspended")
    assert "do not fit: it has id string" in query.status.error
    session.spark.sql(f"DROP TABLE {database}.late")
    query.resume()
    assert session.engine.drain(PATIENCE)
    assert stored(session, f"{database}.late") == list(range(5))


def test_a_table_that_a_crash_kept_rows_from_gets_them_at_the_next_start(
    opened: Open, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(sinks: OpenSinks, task: Any) -> None:
        raise RuntimeError("the power is gone")

    with monkeypatch.context() as crashing:
        crashing.setattr(OpenSinks, "deliver", crash)
        session = opened()
        declare(session, ("a",))
        session.query("q", COPY, query_class="low", sink=f"table, name={database}.kept")
        session.append("a", rows(0))
        assert session.engine.drain(PATIENCE)
        session.close()
    assert not session.spark.catalog.tableExists(f"{database}.kept")
    assert stored(opened(), f"{database}.kept") == list(range(5))
