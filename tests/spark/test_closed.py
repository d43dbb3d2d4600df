"""Closed sessions, full disks, and what failing runs print."""

from __future__ import annotations

import errno
import inspect
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import COPY, eventually, ids, rows
from tests.spark.engine.workload import PATIENCE, STREAMS, declare

from headgate.model import HeadgateError, Query
from headgate.spark.session import Handle, Session
from headgate.spark.store import disk

CALLS: dict[str, Callable[[Session], object]] = {
    "begin": lambda hg: hg.begin(),
    "warm": lambda hg: hg.warm(),
    "stream": lambda hg: hg.stream("new", "id bigint"),
    "add_stream": lambda hg: hg.add_stream(STREAMS["b"]),
    "table": lambda hg: hg.table("new", hg.spark.range(1)),
    "create_class": lambda hg: hg.create_class("new", 1),
    "query": lambda hg: hg.query("new", COPY),
    "add_query": lambda hg: hg.add_query(Query(name="new", query_class="low", plan=None)),  # type: ignore[arg-type]
    "add_queries": lambda hg: hg.add_queries([{"name": "new", "sql": COPY}]),
    "plan": lambda hg: hg.plan(COPY),
    "__getitem__": lambda hg: hg["q"],
    "append": lambda hg: hg.append("a", rows(0)),
    "push": lambda hg: hg.push("a", rows(0), batch="one"),
    "replay": lambda hg: hg.replay("a"),
    "finish": lambda hg: hg.finish("a"),
    "drain": lambda hg: hg.drain(),
    "set_policy": lambda hg: hg.set_policy("hnr"),
    "set_priority": lambda hg: hg.set_priority("low", 5),
    "change_class": lambda hg: hg.change_class("low", priority=5),
    "drop_class": lambda hg: hg.drop_class("low"),
    "drop_stream": lambda hg: hg.drop_stream("b"),
    "drop_table": lambda hg: hg.drop_table("none"),
    "refresh_table": lambda hg: hg.refresh_table("none"),
    "queries": lambda hg: hg.queries,
    "streams": lambda hg: hg.streams,
    "status": lambda hg: hg.status(),
    "report": lambda hg: hg.report(),
}
OF_A_QUERY: dict[str, Callable[[Handle], object]] = {
    "status": lambda query: query.status,
    "results": lambda query: query.results(),
    "wait": lambda query: query.wait(),
    "pause": lambda query: query.pause(),
    "resume": lambda query: query.resume(),
    "stop": lambda query: query.stop(),
    "move": lambda query: query.move("low"),
    "replace": lambda query: query.replace(COPY),
}
CLOSED = "^the session is closed; open another one, on the same directory to go on there$"


def public(kind: type) -> set[str]:
    """The methods and properties that users may call."""
    calls = {name for name, member in vars(kind).items() if callable(member) or isinstance(member, property)}
    return {name for name in calls if not name.startswith("_") or name == "__getitem__"}


@pytest.fixture
def session(opened: Open) -> Session:
    session = opened()
    declare(session, ("a",))
    return session


# Its run is cancelled, or its results are committed and on their way to the sink: the next session goes on there.
CUT_SHORT = ([("running", "")], [("suspended", "its sink was left behind at the end, after 0 s")])


def test_what_is_cancelled_at_the_end_is_done_once_by_the_next_session(opened: Open) -> None:
    for first in range(0, 20, 5):
        session = opened()
        declare(session, ("a",))
        query = session.query("q", COPY, query_class="low")
        session.append("a", rows(first))
        ended = session.close(timeout=0.0)
        assert [(line.state, line.error) for line in ended.queries] in CUT_SHORT
    session = opened()
    declare(session, ("a",))
    query = session.query("q", COPY, query_class="low")
    assert session.drain(PATIENCE)
    assert ids(query) == list(range(20))


def test_a_wrong_timeout_closes_nothing(session: Session) -> None:
    with pytest.raises(HeadgateError, match="timeout"):
        session.close(timeout="soon")
    assert session.streams


def test_every_call_on_a_closed_session_is_refused(session: Session) -> None:
    query = session.query("q", COPY, query_class="low")
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    ended = session.close()
    assert public(Session) == CALLS.keys() | {"close"}
    assert public(Handle) == OF_A_QUERY.keys() | {"gate", "name", "schema", "read", "show", "to_pandas", "to_polars"}
    for name, call in CALLS.items():
        with pytest.raises(HeadgateError, match=CLOSED):
            call(session)
        member = getattr(Session, name)
        function: Any = member.fget if isinstance(member, property) else member
        assert inspect.unwrap(function) is not function
    for act in OF_A_QUERY.values():
        with pytest.raises(HeadgateError, match=CLOSED):
            act(query)
    with pytest.raises(HeadgateError, match=CLOSED):
        session.engine.append("a", rows(5))  # the log underneath refuses as well
    assert (ids(query), query.name, query.schema.names) == (list(range(5)), "q", ["id", "v"])
    assert session.close() is ended
    assert [line.tuples_out for line in ended.queries] == [5]


def test_results_of_a_query_that_is_done_end_at_once(session: Session) -> None:
    session.append("a", rows(0))
    query = session.query("q", COPY, query_class="low", once=True)
    assert session.drain(PATIENCE)
    assert eventually(lambda: query.status.state == "done")
    assert (list(query.results()), ids(query)) == ([], list(range(5)))


def test_results_in_a_temporary_directory_go_with_the_session(spark: SparkSession) -> None:
    with Session(spark=spark) as session:
        session.stream("s", "id bigint")
        query = session.query("q", "SELECT id FROM s")
    assert not session.directory.exists()
    with pytest.raises(HeadgateError, match="closed, and its results are gone with its temporary directory; give"):
        query.read()
    assert spark.range(2).count() == 2  # a Spark that was given goes on


def test_nobody_hangs_when_a_session_is_closed(session: Session) -> None:
    """Threads that wait in append, drain and results, and several that close."""
    query = session.query("q", COPY, query_class="low", lag="wait, tuples=5")
    query.pause()
    session.append("a", rows(0))
    answers: dict[str, object] = {}

    def noted(name: str, act: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                answers[name] = act()
            except HeadgateError as error:
                answers[name] = str(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    entered, release = threading.Event(), threading.Event()

    def slow(table: Any) -> None:
        entered.set()
        release.wait(PATIENCE)

    session.query("slow", COPY, query_class="low", callback=slow)
    waiting = [noted("append", lambda: session.append("a", rows(5))), noted("results", lambda: list(query.results()))]
    assert eventually(lambda: session.engine.followers.has("q"))
    query.resume()
    assert entered.wait(PATIENCE)
    waiting.append(noted("drain", session.drain))
    closing = [noted(f"close {n}", session.close) for n in range(3)]
    assert eventually(lambda: session.gate.closed)
    release.set()
    for thread in (*waiting, *closing):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert isinstance(answers["results"], list)
    assert answers["append"] == 5 or "the session is closed" in str(answers["append"])
    assert answers["drain"] is True or "the session is closed" in str(answers["drain"])
    assert len({id(answers[f"close {n}"]) for n in range(3)}) == 1


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    """Lets every disk be full, or have room again."""
    state = [False]
    sync = os.fsync

    def limited(descriptor: int) -> None:
        if state[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", limited)
    yield lambda on: state.__setitem__(0, on)
    state[0] = False


def test_a_full_disk_is_told_with_its_file_and_takes_nothing_that_was_acknowledged(
    opened: Open, full: Callable[[bool], None], tmp_path: Path
) -> None:
    session = opened()
    declare(session, ("a",))
    query = session.query("q", COPY, query_class="low")
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    full(True)
    space = r"cannot write: No space left on device; free space on the disk"
    with pytest.raises(HeadgateError, match=rf"streams/a/\d+\.tail: {space}"):
        session.append("a", rows(5))
    assert session.status().queries[0].tuples_out == 5
    assert session.drain(PATIENCE)
    for act in (
        lambda: session.stream("new", "id bigint"),
        lambda: session.query("new", COPY, query_class="low"),
        lambda: session.append("a", [{"id": "no number"}]),
    ):
        with pytest.raises(HeadgateError, match=r"No space left on device"):
            act()
    with pytest.raises(
        HeadgateError, match=rf"{tmp_path}.*: the session is closed, but not all of it: cannot"
    ) as raised:
        session.close()
    assert "what was acknowledged is safe; free space on the disk and open the directory again" in str(raised.value)
    full(False)
    again = opened()
    declare(again, ("a",))
    query = again.query("q", COPY, query_class="low")
    again.append("a", rows(10))
    assert again.drain(PATIENCE)
    assert set(ids(query)) >= {*range(5), *range(10, 15)}
    assert len(ids(query)) == len(set(ids(query)))


def test_letters_that_a_full_disk_refused_are_kept_before_anything_follows(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all = disk.write_all

    def half(descriptor: int, data: Any, position: int) -> None:
        if "deadletters" not in os.readlink(f"/proc/self/fd/{descriptor}"):
            write_all(descriptor, data, position)
            return
        write_all(descriptor, data[: len(data) // 2], position)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    session.append("a", rows(10))
    with monkeypatch.context() as full:
        full.setattr(disk, "write_all", half)
        assert session.append("a", rows(0)) == 5  # late: they are in the stream, and owed their letters
        for _ in range(2):
            with pytest.raises(HeadgateError, match=r"deadletters/a\.jsonl: cannot write: No space left"):
                session.append("a", rows(15))
    assert session.append("a", rows(15)) == 5
    letters = session.engine.ingest.letters["a"].letters()
    assert [letter.offset for letter in letters] == list(range(5, 10))


class Heard(logging.Handler):
    """What a logger lets through."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def test_failing_runs_print_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark still logs errors of other code in the program, but not those that Headgate reports itself."""
    heard, loggers = Heard(), ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
    for name in loggers:
        monkeypatch.setattr(PySparkLogger.getLogger(name), "handlers", [heard])
    session.query("q", "SELECT 100 DIV v AS x FROM a", query_class="low")
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert session.status().dead_letters["a"] > 0
    with pytest.raises(HeadgateError):
        session.query("wrong", "SELECT date_add(v, id) AS x FROM a", query_class="low")
    with pytest.raises(HeadgateError):
        session.table("wrong", session.spark.range(2).selectExpr("1 DIV id AS x"))
    assert heard.records == []
    with pytest.raises(PySparkException):
        session.spark.range(2).selectExpr("1 DIV id AS x").collect()
    assert len(heard.records) == 1
