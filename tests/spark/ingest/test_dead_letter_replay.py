"""A session replays the dead letters of a stream while it runs."""

from __future__ import annotations

import pytest
from tests.spark.conftest import Open
from tests.spark.engine.workload import BASE, PATIENCE, declare

from headgate.model import HeadgateError
from headgate.spark.ingest.dead_letter_replay import IN_THE_LOG
from headgate.spark.store.dead_letters import Letter


def test_replayed_tuples_reach_the_queries(opened: Open) -> None:
    session = opened()
    declare(session, ("a",))
    copy = session.query("copy", "SELECT id, v FROM a", query_class="low")
    shares = session.query("shares", "SELECT 10 div v AS share FROM a", query_class="low")
    session.append("a", [{"id": 1, "v": "none", "ts": BASE / 1e6}, {"id": 2, "v": 0, "ts": BASE / 1e6}])
    assert session.engine.drain(PATIENCE)
    texts = {letter.text for letter in session.engine.ingest.letters["a"].letters()}
    assert len(texts) == 2  # the one that cannot be read, and None for the one whose tuple is in the log
    session.engine.ingest.letters["a"].add([Letter("corrected", 0.0, text=f'{{"id": 1, "v": 5, "ts": {BASE / 1e6}}}')])
    done = session.replay("a")
    assert (done.taken, done.dead_again.total(), done.left) == (1, 1, {IN_THE_LOG: 1})
    assert session.engine.drain(PATIENCE)
    assert sorted(copy.read()["id"].to_pylist()) == [1, 2]
    assert sorted(shares.read()["share"].to_pylist(), key=str) == [2]
    with pytest.raises(HeadgateError, match="unknown stream 'b'"):
        session.replay("b")
