"""Queries that start later, end, run once, change their SQL, or fall too far behind."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.internals import names
from tests.spark.engine.test_steering import COPY, ids, rows
from tests.spark.engine.workload import CASES, PATIENCE, batches, declare, expected, results_of

from headgate.model import HeadgateError
from headgate.spark.session import Session


@pytest.fixture
def session(opened: Open) -> Session:
    session = opened(policy="fcfs", workers=2)
    declare(session, ("a", "b"))
    return session


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("policy", ["random, train=7", "random, level=operator, train=7"])
def test_once_reads_what_is_there_and_ends(opened: Open, policy: str) -> None:
    session = opened(policy=policy)
    declare(session, ("a", "b"))
    for stream, batch in batches(Random(4), ("a", "b")):
        session.append(stream, batch)
    cases = [CASES[name] for name in ("filter", "tumbling", "join", "aggregate over a join")]
    wanted = [expected(session, case) for case in cases]
    handles = [session.query(case.name, case.sql, once=True) for case in cases]
    for stream, batch in batches(Random(5), ("a", "b")):  # too late for them
        session.append(stream, batch)
    eventually(lambda: all(line.state == "done" for line in session.status().queries))
    for case, handle, rest in zip(cases, handles, wanted, strict=True):
        assert results_of(handle) == rest, case.name
    session.close()
    session = opened(policy=policy)
    declare(session, ("a", "b"))
    with pytest.raises(HeadgateError, match="exists already with since 'start', once yes, declared now with since"):
        session.query(cases[0].name, cases[0].sql)
    again = [session.query(case.name, case.sql, once=True) for case in cases]
    assert [handle.status.state for handle in again] == ["done"] * len(cases)
    for handle, rest in zip(again, wanted, strict=True):
        assert results_of(handle) == rest


def test_once_over_nothing_ends_at_once(session: Session) -> None:
    handle = session.query("q", COPY, once=True)
    assert handle.status.state == "done"
    assert handle.read().num_rows == 0


def test_start_and_end(session: Session) -> None:
    late = session.query("late", COPY, start=3.0, end=9.0)
    with pytest.raises(HeadgateError, match="is scheduled"):
        late.pause()
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert late.status.state == "scheduled"
    eventually(lambda: late.status.state == "running")
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    eventually(lambda: "late" not in names(session))
    assert ids(late) == list(range(5, 10))
    with pytest.raises(HeadgateError, match="let end be after start"):
        session.query("never", COPY, start=2.0, end=1.0)


def test_a_query_that_is_resumed_before_its_time_starts(session: Session) -> None:
    handle = session.query("q", COPY, start=1000.0)
    handle.resume()
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert ids(handle) == list(range(5))


def test_a_stopped_query_has_its_results_in_files(session: Session) -> None:
    """And nothing comes to them any more: a file that a reader removes stays away."""
    handle = session.query("q", COPY)
    session.append("a", rows(0, 20))
    handle.wait(rows=20, timeout=PATIENCE)  # committed; files come up to a second later, and draining would write them
    handle.stop()
    folder = session.engine.directory.result("q")
    written = pq.read_table(sorted(folder.glob("*.parquet")), partitioning=None)
    assert sorted(written["id"].to_pylist()) == list(range(20))
    shutil.rmtree(folder)
    session.query("r", COPY)
    session.append("a", rows(20, 20))
    assert session.drain(PATIENCE)
    assert not folder.exists()


@pytest.mark.parametrize("policy", ["fcfs", "fcfs, level=operator"])
def test_replace_goes_on_where_it_stands(opened: Open, policy: str) -> None:
    session = opened(policy=policy)
    declare(session, ("a",))
    handle = session.query("q", "SELECT id, v, ts FROM a WHERE v >= 0")
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    handle.replace("SELECT id + 100 AS id, v, ts FROM a WHERE v >= 0")
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    assert ids(handle) == [*range(5), *range(105, 110)]
    with pytest.raises(HeadgateError, match="the new SQL"):
        handle.replace("SELECT id FROM a")
    with pytest.raises(HeadgateError, match="WHERE"):
        handle.replace("SELECT id, v, ts FROM a WHERE")
    session.close()
    session = opened(policy=policy)
    declare(session, ("a",))
    handle = session.query("q", "SELECT id + 100 AS id, v, ts FROM a WHERE v >= 0")
    session.append("a", rows(10))
    assert session.drain(PATIENCE)
    assert ids(handle) == [*range(5), *range(105, 115)]


@pytest.mark.parametrize("policy", ["fcfs", "fcfs, level=operator"])
def test_a_query_that_lags_too_far_skips_and_says_so(opened: Open, policy: str) -> None:
    session = opened(policy=policy)
    declare(session, ("a",))
    slow = session.query("slow", COPY, lag="skip, tuples=12")
    other = session.query("other", COPY)
    slow.pause()
    for number in range(4):
        session.append("a", rows(5 * number))
    assert session.drain(PATIENCE)
    assert slow.status.skipped == 15
    assert session.status().to_json()["queries"]["slow"]["skipped"] == 15
    slow.resume()
    assert session.drain(PATIENCE)
    assert ids(slow) == list(range(15, 20))
    assert ids(other) == list(range(20))


def test_a_query_may_make_its_sources_wait(session: Session) -> None:
    session.create_class("patient", 1.0, lag="wait, tuples=10")
    slow = session.query("slow", COPY, query_class="patient")
    slow.pause()
    session.append("a", rows(0))
    session.append("a", rows(5))
    with pytest.raises(HeadgateError, match="query 'slow' is at its lag limit"):
        session.append("a", rows(10), timeout=0.1)
    session.append("b", pa.table({"id": [1], "w": [1], "ts": pa.array([0], pa.timestamp("us", "UTC"))}))
    slow.resume()
    session.append("a", rows(10), timeout=PATIENCE)
    assert session.drain(PATIENCE)
    assert ids(slow) == list(range(15))


def stands_still(number: Callable[[], int]) -> bool:
    """Whether a number stays the same for a while in which a source that runs would have put hundreds of tuples."""
    before = number()
    time.sleep(0.3)
    return number() == before


def test_a_source_waits_for_a_query_at_its_limit(session: Session) -> None:
    session.stream("s", "id bigint", source="constant, rate=2000")
    slow = session.query("slow", "SELECT id FROM s", lag="wait, tuples=200")
    slow.pause()
    eventually(lambda: session.engine.lagging_query("s") == "slow")
    eventually(lambda: stands_still(lambda: session.engine.logs["s"].end))  # once the put under way is through
    end = session.engine.logs["s"].end
    slow.resume()
    eventually(lambda: session.engine.logs["s"].end > end)


@pytest.mark.parametrize("lag", ["drop, tuples=5", "skip", "skip, tuples=0", "wait, rows=5"])
def test_bad_limits_are_refused(session: Session, lag: str) -> None:
    with pytest.raises(HeadgateError):
        session.query("q", COPY, lag=lag)
    assert not session.status().queries


def test_the_default_class_can_be_named_before_it_is_there(session: Session) -> None:
    with pytest.raises(HeadgateError, match="unknown column 'idd'"):
        session.query("wrong", "SELECT idd FROM a", query_class="default")
    assert "default" not in session.engine.overview().classes
    moved = session.query("moved", COPY, query_class="low")
    moved.move("default")
    assert moved.status.query_class == "default"
    assert session.query("named", COPY, query_class="default").status.query_class == "default"
    session.add_queries([{"name": "one", "sql": COPY, "query_class": "default"}])
    assert session["one"].status.query_class == "default"
