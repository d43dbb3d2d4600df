"""Live events over HTTP: the state, and patches that lead to what GET /v1/status shows."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Http

from headgate.server.merge_patch import applied

CLOCKS = ("at", "seconds", "oldest_wait", "rate", "share_met", "share", "share_of_time", "load", "free")


def settled(value: Any) -> Any:
    """A status without what changes with time alone."""
    if isinstance(value, dict):
        return {name: settled(member) for name, member in value.items() if name not in CLOCKS}
    return value


def has_null(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and any(map(has_null, value.values())))


def test_patches_lead_to_the_status(http: Http) -> None:
    with http.events("/v1/events") as events:
        first = next(events)
        assert first.kind == "state"
        state = first.data
        http.post("/v1/streams", {"name": "e_readings", "schema": "id bigint"})
        http.post("/v1/classes", {"name": "e.class", "priority": 3})
        http.post("/v1/queries", {"name": "e.one", "sql": "SELECT id FROM e_readings", "class": "e.class"})
        http.post("/v1/queries", {"name": "e.two", "sql": "SELECT id FROM e_readings WHERE id > 5"})
        http.lines("e_readings", [{"id": number} for number in range(10)])
        http.post("/v1/queries/e.two/pause")
        http.delete("/v1/queries/e.two")
        lines: list[Any] = []
        deadline = time.monotonic() + 60
        same = False
        while not same or ("e.two", "paused") not in lines:
            assert time.monotonic() < deadline, (state, lines)
            event = next(events)
            if event.kind == "journal":
                lines.append((event.data["query"], event.data["to"]))
                continue
            assert event.kind == "changes"
            state = applied(event.data, state)
            done = state["queries"].get("e.one", {}).get("tuples_out") == 10 and "e.two" not in state["queries"]
            same = done and settled(state) == settled(http.get("/v1/status").json)
    assert state["streams"]["e_readings"]["tuples"] == 10
    assert state["classes"]["e.class"]["tuples_out"] == 10
    assert len(state["workers"]) == 2
    assert not has_null(state)


def test_lines_of_the_journal_that_were_missed_come_again(http: Http) -> None:
    http.post("/v1/streams", {"name": "e_missed", "schema": "id bigint"})
    http.post("/v1/queries", {"name": "e.missed", "sql": "SELECT id FROM e_missed"})
    with http.events("/v1/events") as events:
        next(events)
        http.post("/v1/queries/e.missed/pause")
        paused = next(event for event in events if event.kind == "journal" and event.data["to"] == "paused")
    http.post("/v1/queries/e.missed/resume")
    with http.events("/v1/events", headers={"Last-Event-ID": paused.id}) as events:
        assert next(events).kind == "state"
        line = next(event for event in events if event.kind == "journal")
        assert (line.data["query"], line.data["from"]) == ("e.missed", "paused")


def test_streams_of_events_end_politely_with_the_server(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serve.once(directory=tmp_path_factory.mktemp("ended") / "data") as http:
        http.post("/v1/streams", {"name": "e_ended", "schema": "id bigint"})
        http.post("/v1/queries", {"name": "e.ended", "sql": "SELECT id FROM e_ended"})
        listening = http.events("/v1/events")
        results = http.events("/v1/queries/e.ended/results/stream")
        events, rows = listening.__enter__(), results.__enter__()
        next(events), next(rows)
    assert [event.kind for event in rows] == []  # the end, and not an error
    assert {event.kind for event in events} <= {"changes", "journal"}
    listening.__exit__(None, None, None)
    results.__exit__(None, None, None)


def test_changes_come_at_the_pace_that_was_asked_for(http: Http) -> None:
    with http.events("/v1/events?each=0.5") as events:
        assert next(events).kind == "state"
        http.post("/v1/streams", {"name": "e_paced", "schema": "id bigint"})
        changes = next(event for event in events if event.kind == "changes" and "streams" in event.data)
        assert "e_paced" in changes.data["streams"]


@pytest.mark.parametrize("each", ["0.1", "61", "often", "nan"])
def test_a_pace_that_is_none_is_refused_in_one_line(http: Http, each: str) -> None:
    refused = http.get(f"/v1/events?each={each}")
    assert refused.status == 422
    assert "query each" in refused.json["detail"]
    assert "\n" not in refused.json["detail"]
