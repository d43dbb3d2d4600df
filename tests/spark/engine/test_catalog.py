"""A session on an existing directory comes back with everything that was declared, and waits for what is missing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import eventually
from tests.spark.engine.workload import PATIENCE
from tests.spark.store import format_2

from headgate.model import HeadgateError, Target
from headgate.spark.engine.stored_settings import DEFAULT_POLICY
from headgate.spark.session import Handle, Session

COPY = "SELECT id FROM s"
MINE = """
from headgate.policies.baseline.fcfs import FirstComeFirstServed

class Mine(FirstComeFirstServed):
    "The unit whose head tuple is the oldest."
"""


def rows(first: int, count: int = 5) -> list[dict[str, object]]:
    return [{"id": number} for number in range(first, first + count)]


def ids(handle: Handle) -> list[int]:
    found: list[int] = sorted(handle.read()["id"].to_pylist())
    return found


def states(session: Session) -> dict[str, str]:
    return {line.name: line.state for line in session.status().queries}


def reopened(opened: Open) -> Session:
    """With nothing but the path."""
    return opened(policy=None, fuse=None)


def test_everything_comes_back(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("id,room\n1,hall\n3,attic\n")
    session = opened(policy="hnr, train=50", fuse="all", seed=7)
    session.stream("s", "id bigint", ahead="2 h")
    session.table("rooms", tmp_path / "rooms.csv")
    session.create_class("high", 50, lag="wait, tuples=100000", target="p99 2 s")
    session.create_class("low", 1)
    wanted_within = "p90 3 s ± 12.5 %"
    graph = ((0.0, 1.0), (2.0, 0.0))
    session.query("files", COPY, query_class="high", qos=graph, lag="wait, tuples=5000", target=wanted_within)
    session.query("lines", COPY, query_class="low", sink="jsonl", end="1 h")
    session.query("named", "SELECT s.id, rooms.room FROM s JOIN rooms ON s.id = CAST(rooms.id AS BIGINT)")
    session.query("later", COPY, query_class="low", start="1 h")
    session.append("s", rows(0))
    session.query("once", COPY, once=True)
    assert session.drain(PATIENCE)
    session["lines"].pause()
    session["files"].move("low")
    session.set_priority("low", 3.0)
    session.append("s", rows(5))
    ends = session.engine.commits.state.queries["lines"]["ends"]
    session.close()

    session = reopened(opened)
    overview = session.engine.overview()
    assert overview.policy == "hnr, train=50"
    assert {name: (found.priority, found.lag, found.target) for name, found in overview.classes.items()} == {
        "high": (50.0, "wait, tuples=100000", Target(2.0, 99.0)),
        "low": (3.0, None, None),
        "default": (1.0, None, None),
    }
    assert session.streams["s"].ahead == 7200.0
    wanted = {"files": "running", "lines": "paused", "named": "running", "later": "scheduled", "once": "done"}
    assert states(session) == wanted
    files = session.engine.query("files").query
    assert (files.query_class, files.lag, None if files.qos is None else files.qos.points) == (
        "low",
        "wait, tuples=5000",
        graph,
    )
    assert files.target == Target.parse(wanted_within)
    assert session.engine.commits.state.queries["lines"]["ends"] == ends
    assert session.engine.settings.seed == 7
    assert session.drain(PATIENCE)
    assert ids(session["files"]) == list(range(10))
    assert session["named"].read()["room"].to_pylist() == ["hall", "attic"]
    assert ids(session["lines"]) == list(range(5))
    session["lines"].resume()
    session["later"].resume()
    session.append("s", rows(10))
    assert session.drain(PATIENCE)
    assert (ids(session["lines"]), ids(session["later"])) == (list(range(15)), list(range(10, 15)))
    session["named"].stop()
    session.close()

    session = reopened(opened)
    assert states(session) == {"files": "running", "lines": "running", "later": "running", "once": "done"}


def test_the_same_again_is_fine_and_something_else_shows_both(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("id\n1\n")

    def declare(session: Session) -> None:
        session.stream("s", "id bigint", watermark=0)
        session.table("rooms", tmp_path / "rooms.csv")
        session.create_class("low", 1)
        session.query("q", COPY, query_class="low")

    session = opened()
    declare(session)
    session.close()
    session = reopened(opened)
    declare(session)
    session.stream("s", "id LONG")  # the same type in another word
    for call, both in (
        (lambda: session.stream("s", "id int"), r"schema \(id bigint\), declared now with schema \(id int\)"),
        (lambda: session.stream("s", "id bigint", source="poisson, rate=1"), "ahead 3600, source none, .* 'poisson"),
        (lambda: session.create_class("low", 2), "priority 1, declared now with priority 2"),
        (lambda: session.table("rooms", tmp_path / "halls.csv"), r"path '.*rooms.csv', .* path '.*halls.csv'"),
        (lambda: session.query("q", COPY), "class 'low', declared now with class 'default'"),
        (lambda: session.query("q", "SELECT 1 AS id FROM s", query_class="low"), "sql 'SELECT id .* 'SELECT 1"),
    ):
        with pytest.raises(HeadgateError, match=f"exists already with {both}"):
            call()
    session.append("s", rows(0))
    assert session.drain(PATIENCE)
    assert ids(session["q"]) == list(range(5))


def test_a_callback_waits_with_its_results_until_it_is_given_again(opened: Open) -> None:
    def refuse(table: pa.Table) -> None:
        raise RuntimeError("not now")

    session = opened()
    session.stream("s", "id bigint")
    session.query("called", COPY, callback=refuse)
    session.append("s", rows(0))
    assert eventually(lambda: session["called"].status.state == "suspended")
    session.close()
    for _ in range(2):  # however often
        session = reopened(opened)
        line = session["called"].status
        assert (line.state, line.error) == ("incomplete", "waits for its callback")
        session.append("s", rows(10, 3))
        assert session.drain(PATIENCE)
        assert session["called"].status.tuples_in == 0  # nothing of it runs
        assert repr(session.status()).endswith("1 query, 0 runs; incomplete: called>")
        assert "waits for its callback" in session["called"]._repr_html_()
        with pytest.raises(HeadgateError, match="'called' waits for its callback; declare that again"):
            session["called"].resume()
        with pytest.raises(HeadgateError, match="is incomplete: it cannot pause now; possible: resume, stop"):
            session["called"].pause()
        session.close()
    session = reopened(opened)
    taken: list[int] = []
    handle = session.query("called", COPY, callback=lambda table: taken.extend(table["id"].to_pylist()))
    assert session.drain(PATIENCE)
    assert sorted(taken) == sorted([*range(5), *range(10, 13), *range(10, 13)])
    assert handle.status.state == "running"
    handle.stop()
    session.close()
    assert states(reopened(opened)) == {}


def test_a_table_given_as_a_frame_is_waited_for(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    frame = session.spark.sql("SELECT 1L AS id, 'hall' AS room")
    session.table("rooms", frame)
    sql = "SELECT s.id, rooms.room FROM s JOIN rooms ON s.id = rooms.id"
    taken: list[Any] = []
    session.query("files", sql)
    session.query("both", sql, callback=lambda table: None)
    session.close()

    session = reopened(opened)
    session.append("s", rows(0))
    assert session.drain(PATIENCE)
    waits = {line.name: line.error for line in session.status().queries}
    table = "table 'rooms', which was given as a DataFrame in an earlier session"
    assert waits == {"files": f"waits for {table}", "both": f"waits for its callback and {table}"}
    session.query("both", sql, callback=lambda table: taken.extend(table["room"].to_pylist()))
    assert session["both"].status.error == f"waits for {table}"
    with pytest.raises(HeadgateError, match=r"columns \(id bigint, room string\), declared now with columns \(x int\)"):
        session.table("rooms", session.spark.sql("SELECT 1 AS x"))
    session.table("rooms", frame)
    assert eventually(lambda: set(states(session).values()) == {"running"})
    assert session.drain(PATIENCE)
    assert (session["files"].read()["room"].to_pylist(), taken) == (["hall"], ["hall"])


def test_sources_come_back_and_objects_are_waited_for(opened: Open, tmp_path: Path) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "1.jsonl").write_text('{"id": 1}\n')
    session = opened()
    session.stream("s", "id bigint", source=f"directory, path={incoming}")
    session.stream("t", "id bigint", source=[{"id": 7}])
    session.stream("u", "id bigint", source=iter([{"id": 7}] * 3))
    for name in "stu":
        session.query(name, f"SELECT id FROM {name}", since="start")
    assert eventually(lambda: ids(session["s"]) == [1])
    assert eventually(lambda: session.sources.ended("t"))
    session.close()

    (incoming / "2.jsonl").write_text('{"id": 2}\n')
    session = reopened(opened)
    assert eventually(lambda: ids(session["s"]) == [1, 2])
    notes = session.status().source_notes
    assert notes.keys() <= {"u"}  # the others are read again, or have ended
    session.stream("t", "id bigint", source=[{"id": 8}])  # it has ended: nothing more comes
    assert "it has ended" in session.status().source_notes["t"]
    assert session.drain(PATIENCE)
    assert ids(session["t"]) == [7]


def test_an_iterable_that_had_not_ended_is_waited_for(opened: Open) -> None:
    def endless() -> Any:
        yield {"id": 1}
        while True:
            time.sleep(0.01)

    session = opened()
    session.stream("s", "id bigint", source=endless())
    session.query("q", COPY, since="start")
    assert eventually(lambda: ids(session["q"]) == [1])
    session.close()
    session = reopened(opened)
    note = "it waits for its source, a Python iterable: declare the stream again with one"
    assert session.status().source_notes == {"s": note}
    session.stream("s", "id bigint", source=[{"id": 2}])
    assert eventually(lambda: ids(session["q"]) == [1, 2])
    assert session.status().source_notes == {}


def test_a_source_that_cannot_be_read_again_is_told_and_can_be_declared_again(opened: Open, tmp_path: Path) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    source = f"directory, path={incoming}"
    session = opened()
    session.stream("s", "id bigint", source=source)
    session.query("q", COPY, since="start")
    session.close()
    incoming.rmdir()
    session = reopened(opened)
    assert "there is no directory" in session.status().source_errors["s"]
    incoming.mkdir()
    (incoming / "1.jsonl").write_text('{"id": 1}\n')
    session.stream("s", "id bigint", source=source)
    assert eventually(lambda: ids(session["q"]) == [1])
    assert session.status().source_errors == {}


def test_a_policy_from_a_file_is_not_loaded_because_a_directory_names_it(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headgate.policies import registry

    (tmp_path / "mine.py").write_text(MINE)
    name = f"{tmp_path / 'mine.py'}:Mine"
    opened(policy=name).close()
    with monkeypatch.context() as other_process:
        other_process.delitem(registry._FROM_FILES, name)
        session = reopened(opened)
        status = session.status()
        assert status.policy == DEFAULT_POLICY
        assert "Mine" in status.policy_error
        assert "until it is given again" in status.policy_error
        session.close()
    assert opened(policy=name).status().policy == name


def test_a_session_that_is_held_runs_nothing_before_it_begins(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    session.query("q", COPY)
    session.close()
    session = opened(held=True)
    session.append("s", rows(0))
    assert not session.drain(0.5)
    assert session.status().runs == 0
    session["q"].replace("SELECT id + 100 AS id FROM s")
    session.begin()
    assert session.drain(PATIENCE)
    assert ids(session["q"]) == list(range(100, 105))


def test_a_directory_of_format_2_goes_on(opened: Open, tmp_path: Path) -> None:
    """With fragments, results that no sink has taken and sealed segments; see `format_2`."""
    directory = format_2.unpacked(tmp_path)
    session = opened(directory=directory, policy=None, fuse=None)
    waits = {line.name: line.error for line in session.status().queries if line.state == "incomplete"}
    assert waits["called"] == "waits for its callback"
    assert "unknown stream or table 'names'" in waits["named"]
    assert states(session).keys() == format_2.QUERIES
    frame = session.spark.createDataFrame([(n, f"name {n}") for n in range(5)], "v int, name string")
    session.table("names", frame)
    taken: list[int] = []
    sql = "SELECT id FROM s WHERE v = 0"
    session.query("called", sql, query_class="low", callback=lambda table: taken.extend(table["id"].to_pylist()))
    session.create_class("high", 10)  # whose priority was not stored
    session.append("s", format_2.rows(format_2.LAST, 60))
    session.finish("s")
    assert session.drain(PATIENCE)
    every = range(60)
    assert ids(session["kept"]) == [*(n for n in every if n % 5 > 1), format_2.LATE["id"]]
    assert ids(session["lines"]) == [n for n in every if n % 5 == 3]
    assert sorted(taken) == [n for n in every if n % 5 == 0]
    assert ids(session["named"]) == list(every)
    assert ids(session["once"]) == [n for n in range(37) if n % 5 == 4]
    assert ids(session["words"]) == list(range(9))
    counts = session["counts"].read().to_pylist()
    assert sum(row["n"] for row in counts) == 57
    assert len(counts) == 6 * 5
    assert session["pairs"].read().num_rows == 55
    assert session.engine.overview().classes["high"].priority == 10.0
    session.close()
    session = opened(directory=directory, policy=None, fuse=None)
    assert states(session) == dict.fromkeys(format_2.QUERIES, "running") | {
        "called": "incomplete",
        "named": "incomplete",
        "once": "done",
    }


def test_a_table_whose_file_has_other_columns_is_absent_until_it_is_right_again(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "rooms.jsonl"
    file.write_text('{"id": 1, "room": "hall"}\n')
    session = opened(policy="hnr, level=operator")
    session.stream("s", "id bigint")
    session.table("rooms", file)
    session.query("named", "SELECT s.id, rooms.room FROM s JOIN rooms ON s.id = rooms.id")
    session.query("other", COPY)
    session.close()
    file.write_text('{"id": 1, "room": 7}\n')
    session = reopened(opened)
    assert states(session) == {"named": "incomplete", "other": "running"}  # the other one does not read it
    assert "other columns than before, (id bigint, room bigint) and not" in session["named"].status.error
    session.append("s", rows(0))
    with pytest.raises(HeadgateError, match="'rooms' has other columns than before"):
        session.table("rooms", file)
    file.write_text('{"id": 1, "room": "attic", "floor": 2}\n')
    session.table("rooms", file)
    eventually(lambda: states(session)["named"] == "running")
    assert (states(session)["named"], session["named"].status.error) == ("running", "")
    assert session.drain(PATIENCE)
    assert (session["named"].read()["room"].to_pylist(), ids(session["other"])) == (["attic"], list(range(5)))


def test_another_policy_starts_queries_that_the_remembered_one_cannot_schedule(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    session.query("q", COPY)
    session.close()
    session = opened(policy="bucketing")  # which needs QoS graphs
    assert states(session) == {"q": "incomplete"}
    session.set_policy("fcfs")
    assert eventually(lambda: states(session) == {"q": "running"})


def test_a_directory_that_has_lost_its_commit_log_is_refused(opened: Open, tmp_path: Path) -> None:
    session = opened()
    session.stream("s", "id bigint")
    session.close()
    for file in (tmp_path / "data" / "commits").iterdir():
        file.unlink()
    with pytest.raises(HeadgateError, match=r"data/commits: the commit log is missing; restore the folder from a copy"):
        reopened(opened)
