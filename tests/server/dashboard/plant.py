"""A small plant for tests of the dashboard: a stream, three classes, and queries with results."""

from __future__ import annotations

from typing import Any

from tests.server.http_client import Http, until

SCRIPT = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
NDJSON = "application/x-ndjson"
CLASSES = {"critical": 60, "normal": 30, "background": 10}


def build(http: Http) -> None:
    """Declare it, push some rows, and wait for results."""
    stream = {"name": "readings", "schema": "machine string, temp double, ts timestamp", "event_time": "ts"}
    assert http.post("/v1/streams", stream).status == 201
    for name, priority in CLASSES.items():
        assert http.post("/v1/classes", {"name": name, "priority": priority}).status == 201
    for query in (
        {"name": "hot", "sql": "SELECT machine, temp FROM readings WHERE temp > 90", "class": "critical", "target": 30},
        {"name": "all", "sql": "SELECT machine, temp, ts FROM readings", "class": "normal"},
        {"name": "named", "sql": f"SELECT machine, {_quoted(SCRIPT)} AS note FROM readings", "class": "background"},
    ):
        assert http.post("/v1/queries", query).status == 201
    push(http, 40)
    until(lambda: http.get("/v1/status"), lambda reply: all(_results(reply.json)))


def push(http: Http, rows: int, first: int = 0) -> None:
    """Push some rows, one of them with a script in it, and a bad one with a script in it."""
    lines = [
        f'{{"machine": "m{n % 5}", "temp": {90 + n % 7}, "ts": "{_moment(n)}"}}' for n in range(first, first + rows)
    ]
    lines.append(f'{{"machine": "{_escaped(SCRIPT)}", "temp": 95, "ts": "{_moment(first + rows)}"}}')
    lines.append(f'{{"machine": "m1", "temp": "{_escaped(SCRIPT)}", "ts": "{_moment(first)}"}}')
    assert http.post("/v1/streams/readings/rows", "\n".join(lines), kind=NDJSON).status == 200


def _results(status: dict[str, Any]) -> list[int]:
    return [query["tuples_out"] for query in status["queries"].values()]


def _moment(number: int) -> str:
    return f"2026-01-01T12:{number // 60 % 60:02d}:{number % 60:02d}Z"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
