"""Targets on Spark: what the status says of them, and what the journal keeps."""

from __future__ import annotations

import json
import time

import pytest
from tests.spark.conftest import Open

from headgate.model import HeadgateError
from headgate.spark.store.journal import read_journal

PATIENCE = 120.0  # seconds
WINDOWED = "SELECT count(*) AS n FROM timed GROUP BY window(ts, '1 hour')"


def test_met_missed_and_no_results(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    session.stream("timed", "id bigint, ts timestamp", event_time="ts")
    session.create_class("patient", 10, target="p50 10 min")
    session.query("met", "SELECT id FROM s", query_class="patient")
    session.query("missed", "SELECT id + 1 AS id FROM s", target="p99 51 ms")
    session.query("silent", "SELECT id FROM s WHERE id < 0", target=0.06)
    session.query("held", WINDOWED, target="60 ms")
    session.query("without", "SELECT id + 2 AS id FROM s")
    session.append("timed", [{"id": 1, "ts": "2026-01-01T12:00:00Z"}])
    session.append("s", [{"id": number} for number in range(5)])
    assert session.drain(PATIENCE)
    time.sleep(0.3)  # what the open window holds has waited for longer than is wanted of its results
    status = session.status()
    lines = {line.name: line for line in status.queries}
    states = {name: None if line.target is None else str(line.target.state) for name, line in lines.items()}
    assert states == {"met": "met", "missed": "missed", "silent": "no results", "held": "no results", "without": None}
    target = lines["missed"].target
    assert target is not None
    assert (target.share, str(target.target)) == (0.0, "p99 51 ms")
    assert target.since is not None
    assert target.since <= status.now
    assert target.reached == lines["missed"].recent.max
    assert lines["missed"].is_late
    assert not lines["met"].is_late
    assert lines["missed"].latency["last_minute"].count == 5
    assert status.total().latency["last_10_minutes"].count == 15
    assert {line.name: (line.targets.met, line.targets.missed) for line in status.classes} == {
        "patient": (1, 0),
        "default": (0, 1),
    }
    tree = json.loads(json.dumps(status.to_json()))
    assert tree["queries"]["missed"]["target"]["state"] == "missed"
    assert tree["classes"]["patient"]["targets"]["share"] == 1.0
    assert tree["queries"]["met"]["latency"]["last_10_s"]["p99"] > 0
    assert session.report(equal_inverts=True).value("classes.patient.targets.share") == 1.0
    session.close()
    told = [entry for entry in read_journal(session.directory, "missed") if entry.after.startswith("target")]
    assert [(entry.before, entry.after) for entry in told] == [("target met", "target missed")]
    assert told[0].reason.startswith(
        "target p99 51 ms: "
    )  # that a tuple waits for too long is noticed before it is done


def test_a_graph_that_contradicts_the_target_of_the_class_is_refused(opened: Open) -> None:
    session = opened()
    session.stream("s", "id bigint")
    session.create_class("fast", 10, target="500 ms")
    graph = [(0, 1.0), (2, 1.0), (3, 0.0)]
    with pytest.raises(HeadgateError, match="target p95 500 ms of class 'fast' contradicts the qos of query 'q'"):
        session.query("q", "SELECT id FROM s", query_class="fast", qos=graph)
    session.query("q", "SELECT id FROM s", query_class="fast", qos=graph, target="2 s")
    with pytest.raises(HeadgateError, match="class 'new': target p95 20 ms cannot be met: a Spark job takes 50 ms"):
        session.create_class("new", 1, target="20 ms")
