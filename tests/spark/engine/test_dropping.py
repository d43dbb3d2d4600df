"""Streams, tables and classes are dropped and changed while a session runs, and stay so when it is opened again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import PATIENCE

from headgate.model import ConflictError, HeadgateError, Target

COPY = "SELECT id FROM s"


def test_a_dropped_stream_leaves_nothing_to_a_new_one_of_its_name(opened: Open) -> None:
    session = opened()
    closed = threading.Event()

    def endless() -> Iterator[dict[str, object]]:
        try:
            for number in range(10**9):
                yield {"id": number}
        finally:
            closed.set()

    session.stream("s", "id bigint", source=endless())
    session.stream("t", "id bigint")
    handle = session.query("q", COPY, since="start")
    handle.wait(rows=3, timeout=PATIENCE)
    with pytest.raises(ConflictError, match="query 'q' reads it; stop it first"):
        session.drop_stream("s")
    assert "s" in session.sources.thread.readers
    handle.stop()
    session.drop_stream("s")
    assert "s" not in session.streams
    assert not session.sources.thread.readers
    assert not session.status().source_errors
    assert not session.engine.directory.stream("s").exists()
    with pytest.raises(HeadgateError, match="unknown stream 's'"):
        session.append("s", [{"id": 1}])
    with pytest.raises(HeadgateError, match="unknown stream or table 's'"):
        session.query("q", COPY)
    session.stream("s", "word string, n int")
    assert session.append("s", [{"word": "a", "n": 1}, {"word": "b", "n": "x"}]) == 1
    session.append("t", [{"id": 7}])
    words = session.query("words", "SELECT word, n FROM s", since="start")
    assert session.drain(PATIENCE)
    assert words.read().to_pylist() == [{"word": "a", "n": 1}]
    assert session.status().dead_letters == {"s": 1, "t": 0}
    words.stop()
    session.drop_stream("s")
    session.close()

    session = opened(policy=None, fuse=None)
    assert set(session.streams) == {"t"}
    assert not session.engine.directory.letters("s").exists()
    session.stream("s", "id bigint")
    session.append("s", [{"id": 5}])
    again = session.query("again", COPY, since="start")
    assert session.drain(PATIENCE)
    assert again.read()["id"].to_pylist() == [5]


def test_a_table_is_read_anew_and_dropped(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "rooms.csv"
    file.write_text("id,room\n1,hall\n2,attic\n")
    session = opened(fuse="all")
    session.stream("s", "id string")
    session.table("rooms", file)
    session.table("given", session.spark.sql("SELECT 1 AS id"))
    join = "SELECT rooms.room FROM s JOIN rooms ON s.id = rooms.id"
    handles = [session.query(name, join) for name in ("p", "q")]
    found: list[str] = []

    def rooms() -> list[str]:
        session.append("s", [{"id": "1"}])
        assert session.drain(PATIENCE)
        (first, second) = (handle.read()["room"].to_pylist() for handle in handles)
        assert first == second
        new = first[len(found) :]
        found.extend(new)
        return list(new)

    assert rooms() == ["hall"]
    file.write_text("id,room\n1,cellar\n")
    assert rooms() == ["hall"]
    session.refresh_table("rooms")
    assert rooms() == ["cellar"]
    file.write_text("room,id,more\nloft,1,x\n")
    session.refresh_table("rooms")
    assert rooms() == ["loft"]
    for content, why in (("id\n1\n", "other columns than before"), (None, "cannot be read")):
        if content is None:
            file.unlink()
        else:
            file.write_text(content)
        with pytest.raises(HeadgateError, match=why):
            session.refresh_table("rooms")
        assert rooms() == ["loft"]
    with pytest.raises(ConflictError, match=r"was given as a DataFrame.*declare it anew"):
        session.refresh_table("given")
    with pytest.raises(ConflictError, match="queries 'p' and 'q' read it"):
        session.drop_table("rooms")
    for handle in handles:
        handle.stop()
    session.drop_table("rooms")
    session.drop_table("given")
    with pytest.raises(HeadgateError, match="unknown table"):
        session.refresh_table("rooms")
    session.table("rooms", session.spark.sql("SELECT 1 AS id"))
    session.close()
    session = opened(policy=None, fuse=None)
    assert list(session.engine.tables) == ["rooms"]
    assert session.engine.tables.lost("rooms")


def test_a_class_changes_while_its_queries_run_and_is_dropped_without_them(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    session.create_class("low", 1, target="p95 5 s")
    session.create_class("other", 1)
    session.query("q", COPY, query_class="low")
    session.change_class("low", priority=3, lag="skip, tuples=100000")
    session.change_class("low", target=None)
    session.change_class("low")
    for wrong in ({"priority": 0}, {"lag": "never"}, {"target": "soon"}, {"target": "1 ms"}, {"priority": "high"}):
        with pytest.raises(HeadgateError):
            session.change_class("low", **wrong)
    with pytest.raises(HeadgateError, match="unknown class"):
        session.change_class("none", priority=1)
    session.append("s", [{"id": 1}])
    assert session.drain(PATIENCE)
    with pytest.raises(ConflictError, match="class 'low' cannot be dropped: query 'q' is in it; move or stop it first"):
        session.drop_class("low")
    session["q"].move("other")
    session.change_class("other", target="p90 2 s")
    session.append("s", [{"id": 2}])
    assert session.drain(PATIENCE)
    session.drop_class("low")
    assert session.report().classes.keys() >= {"other"}
    session.close()
    session = opened(policy=None, fuse=None)
    classes = session.engine.overview().classes
    assert list(classes) == ["other"]
    assert classes["other"].target == Target.parse("p90 2 s")
