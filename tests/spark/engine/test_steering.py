"""Pausing, resuming, moving, stopping and failing while work is under way lose and double nothing."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.internals import prepare_query
from tests.spark.engine.workload import BASE, PATIENCE, STREAMS, declare, table

from headgate.model import HeadgateError
from headgate.spark.compile.fused.filters import FusedFilters
from headgate.spark.compile.prepared_query import PreparedQuery, Result
from headgate.spark.session import Handle, Session
from headgate.spark.sinks.memory import MemorySink

COPY = "SELECT id, v FROM a"
SECONDS = 1_000_000


def rows(first: int, count: int = 5) -> pa.Table:
    return table("a", [(number, number % 4, "s", BASE + number * SECONDS) for number in range(first, first + count)])


def ids(handle: Handle) -> list[int]:
    return sorted(handle.read()["id"].to_pylist())


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


@pytest.fixture
def session(opened: Open) -> Session:
    session = opened(policy="fcfs, train=3", workers=2)
    declare(session, ("a", "b"))
    return session


class Slow:
    """Makes runs of one query wait for the test, or fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, handle: Handle) -> None:
        self.entered, self.go = threading.Event(), threading.Event()
        self.failures = 0
        plan, run = prepare_query(handle._session, handle.name), PreparedQuery.run

        def slowly(prepared: PreparedQuery, *read: Any) -> Result:
            if prepared is plan:
                self.entered.set()
                assert self.go.wait(PATIENCE)
                if self.failures:
                    self.failures -= 1
                    raise RuntimeError("the disk is on fire")
            return run(prepared, *read)

        monkeypatch.setattr(PreparedQuery, "run", slowly)


def test_steering_while_running_loses_and_doubles_nothing(session: Session) -> None:
    handles = [session.query(name, COPY, query_class="low") for name in ("p", "q")]
    window = session.query(
        "w", "SELECT window.start AS t, count(*) AS n FROM a GROUP BY window(ts, '4 seconds')", query_class="low"
    )
    for number in range(8):
        session.append("a", rows(number * 5))
        handles[0].pause()
        window.pause()
        session.set_policy(("hnr, train=2", "random", "rr, level=query")[number % 3])
        session.set_priority("low", 1.0 + number)
        handles[1].move(("high", "low")[number % 2])
        handles[0].resume()
        window.resume()
    session.finish("a")
    assert session.drain(PATIENCE)
    for handle in handles:
        assert ids(handle) == list(range(40))
    assert Counter(window.read()["n"].to_pylist()) == Counter({4: 10})
    assert handles[1].status.query_class == "low"


def test_resuming_waits_for_the_run_under_way(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = session.query("q", COPY)
    slow = Slow(monkeypatch, handle)
    session.append("a", rows(0))
    assert slow.entered.wait(PATIENCE)
    handle.pause()
    resuming = threading.Thread(target=handle.resume)
    resuming.start()
    session.append("a", rows(5))
    slow.go.set()
    resuming.join(PATIENCE)
    assert session.drain(PATIENCE)
    assert ids(handle) == list(range(10))


def test_a_paused_query_takes_nothing_until_it_goes_on(session: Session) -> None:
    handle = session.query("q", COPY)
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    handle.pause()
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    assert (ids(handle), handle.status.state) == (list(range(5)), "paused")
    handle.pause()
    handle.resume()
    handle.resume()
    assert session.drain(PATIENCE)
    assert (ids(handle), handle.status.state) == (list(range(10)), "running")


def test_a_query_moved_while_paused_stays_moved(session: Session) -> None:
    handle = session.query("q", COPY, query_class="low")
    handle.move("high")
    handle.pause()
    assert handle.status.query_class == "high"
    handle.move("low")
    handle.move("high")
    handle.resume()
    assert handle.status.query_class == "high"
    with pytest.raises(HeadgateError, match="unknown class"):
        handle.move("higher")


def test_a_stopped_query_keeps_its_results_and_its_name_can_start_anew(session: Session) -> None:
    handle = session.query("q", COPY)
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    handle.pause()
    handle.stop()
    assert ids(handle) == list(range(5))
    with pytest.raises(HeadgateError, match="unknown query"):
        session["q"].pause()
    session.append("a", rows(5))
    again = session.query("q", "SELECT id + 100 AS id, v FROM a")
    session.append("a", rows(10))
    assert session.drain(PATIENCE)
    assert ids(again) == [*range(5), *range(110, 115)]


def test_stopping_waits_for_the_run_under_way(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = session.query("q", COPY)
    slow = Slow(monkeypatch, handle)
    session.append("a", rows(0, 2))
    assert slow.entered.wait(PATIENCE)
    stopping = threading.Thread(target=handle.stop)
    stopping.start()
    slow.go.set()
    stopping.join(PATIENCE)
    assert ids(handle) == [0, 1]
    assert "q" not in session.engine.commits.state.positions


def test_the_same_query_again_is_the_same_query_and_another_is_refused(session: Session) -> None:
    session.query("q", COPY)
    assert session.query("q", COPY).name == "q"
    assert len(session.queries) == 1
    with pytest.raises(HeadgateError, match="query 'q' exists already with sink 'parquet', declared now with sink 'js"):
        session.query("q", COPY, sink="jsonl")


def test_old_rows_are_read_on_demand(session: Session) -> None:
    session.append("a", rows(0))
    new, old = session.query("new", COPY), session.query("old", COPY, since="start")
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    assert (ids(new), ids(old)) == (list(range(5, 10)), list(range(10)))


def test_results_come_to_callbacks_memory_and_followers(session: Session) -> None:
    called: list[int] = []
    session.query("call", COPY, callback=lambda results: called.extend(results["id"].to_pylist()))
    session.query("ring", COPY, sink="memory, rows=4")
    followed = session.query("followed", COPY, sink="blackhole")
    results = followed.results(timeout=PATIENCE)
    session.append("a", rows(0, 9))
    assert session.drain(PATIENCE)
    ring = session.engine.sinks.memory["ring"]
    assert isinstance(ring, MemorySink)
    newest = ring.tail(4)
    assert newest is not None
    assert newest["id"].to_pylist() == [5, 6, 7, 8]
    assert called == list(range(9))
    followed.stop()
    assert [number for batch in results for number in batch["id"].to_pylist()] == list(range(9))


def test_a_failing_query_is_suspended_while_the_others_go_on(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = session.query("bad", COPY), session.query("good", COPY)
    slow = Slow(monkeypatch, bad)
    slow.go.set()
    slow.failures = 1  # tried again at once
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert bad.status.state == "running"
    slow.failures = 2
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    session.append("a", rows(10))
    assert session.drain(PATIENCE)
    assert (bad.status.state, bad.status.error) == ("suspended", "the disk is on fire")
    assert ids(good) == list(range(15))
    assert ids(bad) == list(range(5))
    bad.resume()
    assert session.drain(PATIENCE)
    assert (bad.status.state, bad.status.error) == ("running", "")
    assert ids(bad) == list(range(15))


def test_a_failing_callback_suspends_its_query_alone(session: Session) -> None:
    wrong = [True]
    called: list[int] = []

    def call(results: pa.Table) -> None:
        if wrong[0]:
            raise RuntimeError("nobody is at home")
        called.extend(results["id"].to_pylist())

    good = session.query("good", COPY)
    bad = session.query("bad", COPY, callback=call)
    for number in range(3):
        session.append("a", rows(number * 5))
        assert session.drain(PATIENCE)
    assert (bad.status.state, good.status.state) == ("suspended", "running")
    assert "nobody is at home" in bad.status.error
    wrong[0] = False
    bad.resume()
    assert session.drain(PATIENCE)
    assert sorted(called) == list(range(15))
    assert ids(good) == list(range(15))


def test_a_run_that_takes_too_long_is_cancelled(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds of work in one Spark job, and a limit of half a second."""
    slow = session.query(
        "slow",
        "SELECT id, aggregate(sequence(1, 3000), 0L, (s, x) -> s + aggregate(sequence(1, 3000), 0L, "
        "(t, y) -> t + x * y)) AS n FROM a",
    )
    quick = session.query("quick", COPY)
    monkeypatch.setattr(session.engine.runner, "limit", 0.5)
    session.append("a", rows(0, 50))
    assert eventually(lambda: slow.status.state == "suspended")
    assert "took longer than 0.5 s" in slow.status.error
    assert quick.status.state in ("running", "suspended")


def test_rows_that_do_not_fit_are_dead_letters(session: Session) -> None:
    handle = session.query("q", COPY)
    taken = session.append("a", [{"id": 1, "v": 2, "s": "x", "ts": "2020-01-01 00:00:00"}, {"id": "one"}])
    assert taken == 1
    assert session.drain(PATIENCE)
    assert (ids(handle), session.status().dead_letters["a"]) == ([1], 1)
    with pytest.raises(HeadgateError, match="unknown stream"):
        session.append("aa", [])
    assert set(STREAMS) >= set(session.status().dead_letters)


def test_threads_append_to_one_stream(session: Session) -> None:
    handle = session.query("q", COPY)
    session.append("a", rows(1000, 1))
    taken: list[int] = []

    def append(first: int) -> None:
        for number in range(first, first + 10):
            late = rows(0, 1)
            taken.append(session.append("a", pa.concat_tables([rows(1000 + number, 2), late])))

    threads = [threading.Thread(target=append, args=(first,)) for first in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.drain(PATIENCE)
    log = session.engine.logs["a"]
    assert sum(taken) == log.end - 1 == 90
    assert ids(handle) == sorted(log.read(0, log.end)["id"].to_pylist())
    assert session.status().dead_letters["a"] == log.late(0, log.end) > 0


def test_a_query_that_comes_after_the_end_of_its_stream(session: Session) -> None:
    counts = "SELECT window.start AS t, count(*) AS n FROM a GROUP BY window(ts, '4 seconds')"
    before = session.query("before", counts)
    session.append("a", rows(0, 10))
    session.finish("a")
    session.finish("a")
    assert session.append("a", rows(20, 1)) == 1  # late, whatever its time
    after = session.query("after", counts, since="start")
    new = session.query("new", counts)
    assert session.drain(PATIENCE)
    assert sorted(before.read()["n"].to_pylist()) == sorted(after.read()["n"].to_pylist()) == [2, 4, 4]
    assert new.read().num_rows == 0
    assert new.read().schema == new.schema


def test_a_stream_that_ends_without_a_row(session: Session) -> None:
    window = session.query("w", "SELECT window.start AS t, count(*) AS n FROM b GROUP BY window(ts, '4 seconds')")
    session.finish("b")
    assert session.drain(PATIENCE)
    assert (window.read().num_rows, window.status.state) == (0, "running")


def test_a_source_feeds_a_stream(session: Session) -> None:
    with pytest.raises(HeadgateError):
        session.stream("s", "id bigint, ts timestamp", source="poisssson")
    session.set_policy("fcfs")  # whole queues: there will be many tuples
    session.stream("s", "id bigint, ts timestamp", source="poisson, rate=300", event_time="ts")
    handle = session.query("q", "SELECT id FROM s", since="start")
    assert eventually(lambda: handle.status.tuples_out > 50)
    session.sources.thread.close()
    assert session.sources.thread.errors == {}
    assert session.drain(PATIENCE)
    log = session.engine.logs["s"]
    assert Counter(handle.read()["id"].to_pylist()) == Counter(log.read(0, log.end)["id"].to_pylist())


def test_a_stopped_query_says_so(session: Session) -> None:
    handle = session.query("q", COPY)
    handle.stop()
    with pytest.raises(HeadgateError, match="unknown query"):
        _ = handle.status
    assert handle.read().num_rows == 0


def test_a_stream_that_a_query_reads_twice_is_read_from_where_it_stands(session: Session) -> None:
    session.append("a", rows(0))
    both = "WITH c AS (SELECT id, v FROM a WHERE id >= 0) SELECT id FROM c WHERE v = 1 UNION ALL SELECT id FROM c"
    handle = session.query("late", both)
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    assert handle.status.state == "running", handle.status.error
    assert ids(handle) == [5, 5, 6, 7, 8, 9, 9]
    assert handle.status.tuples_in == 5


def test_of_a_group_only_the_culprit_is_suspended(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every job that one query has part in fails: alone it is suspended, its group goes on."""
    session = opened(policy="fcfs", fuse="all")
    declare(session, ("a",))
    handles = {name: session.query(name, f"SELECT id, '{name}' AS q FROM a") for name in "pqrstu"}
    culprit, run = handles["s"].schema, FusedFilters.run

    def fail(group: FusedFilters, *given: Any) -> list[pa.Table]:
        if culprit in group.schemas and any("'s'" in text for own in group.outputs for text in own):
            raise RuntimeError("not with this one")
        return run(group, *given)

    monkeypatch.setattr(FusedFilters, "run", fail)
    plan, alone = prepare_query(session, "s"), PreparedQuery.run

    def fail_alone(prepared: PreparedQuery, *read: Any) -> Result:
        if prepared is plan:
            raise RuntimeError("not even alone")
        return alone(prepared, *read)

    monkeypatch.setattr(PreparedQuery, "run", fail_alone)
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert handles["s"].status.state == "suspended"
    assert "not even alone" in handles["s"].status.error
    for name in "pqrtu":
        assert ids(handles[name]) == list(range(5)), name
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    monkeypatch.undo()
    handles["s"].resume()
    assert session.drain(PATIENCE)
    assert all(ids(handle) == list(range(10)) for handle in handles.values())


def test_a_row_that_fails_for_one_member_is_its_dead_letter(opened: Open) -> None:
    session = opened(policy="fcfs", fuse="all")
    declare(session, ("a",))
    wrong = session.query("wrong", "SELECT id, 10 / (id - 3) AS n FROM a")
    right = session.query("right", "SELECT id, v FROM a")
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert ids(right) == list(range(5))
    assert wrong.status.dead_letters == 1
    assert right.status.dead_letters == 0
    assert wrong.read().num_rows == 4  # the one that failed gives none
