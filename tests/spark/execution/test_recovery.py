"""A session on a directory that was used before continues exactly where the former one ended."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import COPY, ids, rows
from tests.spark.engine.workload import CASES, PATIENCE, batches, declare, expected, results_of, start

from headgate.model import HeadgateError
from headgate.spark.store.log.stream_log import Appended


def test_the_same_queries_go_on_exactly(opened: Open) -> None:
    random = Random(8)
    cases = [CASES[name] for name in ("filter", "sliding", "join")]
    fragments = batches(random, ("a", "b"))
    third = len(fragments) // 3
    for part in (fragments[:third], fragments[third : 2 * third], fragments[2 * third :]):
        session = opened(policy="random, train=5", workers=2)
        declare(session, ("a", "b"))
        handles = start(session, cases)
        for stream, batch in part:
            session.append(stream, batch)
        if part[-1] is fragments[-1]:
            break
        session.close()  # with work left
    for stream in ("a", "b"):
        session.finish(stream)
    assert session.drain(PATIENCE)
    for case in cases:
        assert results_of(handles[case.name]) == expected(session, case), case.name
    late = {stream: log.late(0, log.end) for stream, log in session.engine.logs.items()}
    assert session.status().dead_letters == late
    assert all(late.values())


def test_other_sql_under_a_known_name_is_refused(opened: Open) -> None:
    session = opened()
    declare(session, ("a",))
    session.query("q", COPY)
    session.close()
    session.close()  # twice does no harm
    session = opened()
    declare(session, ("a",))
    with pytest.raises(HeadgateError, match=r"exists already with sql .* declared now with sql"):
        session.query("q", "SELECT id FROM a")
    session.query("q", COPY)


def test_a_directory_in_use_is_refused(opened: Open, tmp_path: Path) -> None:
    opened()
    with pytest.raises(HeadgateError, match="use"):
        opened()
    opened(directory=tmp_path / "other")


def test_a_callback_gets_what_it_did_not_take(opened: Open) -> None:
    taken: list[int] = []

    def refuse(table: pa.Table) -> None:
        raise RuntimeError("not now")

    session = opened()
    declare(session, ("a",))
    session.query("q", COPY, callback=refuse)
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    assert session["q"].status.state == "suspended"
    session.close()
    session = opened()
    declare(session, ("a",))
    session.query("q", COPY, callback=lambda table: taken.extend(table["id"].to_pylist()))
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    assert taken == list(range(10))


def test_rows_are_kept_for_a_query_that_is_paused_over_a_restart(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.spark.machine.maintenance.EVERY", 1)
    session = opened()
    declare(session, ("a",))
    session.query("p", COPY)
    session.query("q", COPY).pause()
    session.append("a", rows(0))
    assert session.drain(PATIENCE)
    session.engine.logs["a"].seal()
    session.append("a", rows(5))
    assert session.drain(PATIENCE)
    session.close()
    session = opened()
    declare(session, ("a",))
    first = session.query("p", COPY)
    session.append("a", rows(10))
    assert session.drain(PATIENCE)
    late = session["q"]
    assert (late.status.state, ids(late)) == ("paused", [])
    late.resume()
    assert session.drain(PATIENCE)
    assert ids(first) == ids(late) == list(range(15))


def test_dead_letters_that_a_crash_prevented_are_kept_at_the_next_start(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(appended: Appended) -> int:
        raise KeyboardInterrupt

    session = opened()
    declare(session, ("a",))
    session.append("a", rows(100))
    monkeypatch.setattr(session.engine.ingest.letters["a"], "keep", crash)
    with pytest.raises(KeyboardInterrupt):
        session.append("a", rows(0))
    assert session.status().dead_letters == {"a": 0}
    session.close()
    session = opened()
    declare(session, ("a",))
    assert session.status().dead_letters == {"a": 5}


def test_a_finished_stream_is_finished_after_the_next_start(opened: Open) -> None:
    cases = [CASES["tumbling"], CASES["join"]]
    session = opened()
    declare(session, ("a", "b"))
    start(session, cases, since="start")
    for stream, batch in batches(Random(6), ("a", "b")):
        session.append(stream, batch)
    for stream in ("a", "b"):
        session.finish(stream)
    session.close()  # whatever has run until now
    session = opened()
    declare(session, ("a", "b"))
    handles = start(session, [*cases, CASES["sliding"]], since="start")
    assert session.drain(PATIENCE)
    for name, handle in handles.items():
        assert results_of(handle) == expected(session, CASES[name]), name
