"""Results over HTTP: by cursor, as Arrow, and as events that resume anywhere without a gap or a double."""

from __future__ import annotations

import datetime
import threading
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Event, Http, until

from headgate.server.json_rows import json_rows
from headgate.spark.store.json_lines import line


def prepare(http: Http, name: str, *, sink: str = "parquet") -> None:
    http.post("/v1/streams", {"name": name, "schema": "id bigint, v double"})
    made = http.post("/v1/queries", {"name": name, "sql": f"SELECT id, v FROM {name} WHERE v >= 0", "sink": sink})
    assert made.status == 201, made.body


def push(http: Http, name: str, first: int, last: int) -> None:
    assert http.lines(name, [{"id": number, "v": 0.5} for number in range(first, last)]).status == 200


def committed(http: Http, name: str, rows: int) -> list[Any]:
    path = f"/v1/queries/{name}/results?limit=100000"
    found: list[Any] = until(lambda: http.get(path), lambda reply: len(reply.json["rows"]) == rows).json["rows"]
    return found


def test_rows_are_read_by_cursor(http: Http) -> None:
    prepare(http, "r_pages")
    for first in range(0, 30, 10):
        push(http, "r_pages", first, first + 10)
        committed(http, "r_pages", first + 10)
    found, after = [], ""
    while True:
        page = http.get(f"/v1/queries/r_pages/results?limit=7{after}").json
        if not page["rows"]:
            break
        found += [row["id"] for row in page["rows"]]
        after = f"&cursor={page['next']}"
    assert found == list(range(30))
    assert http.get("/v1/queries/r_pages/results?cursor=28").json["rows"] == [
        {"id": 28, "v": 0.5},
        {"id": 29, "v": 0.5},
    ]
    assert len(http.get("/v1/queries/r_pages/results?cursor=").json["rows"]) == 30
    push(http, "r_pages", 30, 31)
    more = until(lambda: http.get(f"/v1/queries/r_pages/results?{after}"), lambda reply: bool(reply.json["rows"]))
    assert more.json["rows"] == [{"id": 30, "v": 0.5}]


def test_rows_as_an_arrow_stream(http: Http) -> None:
    prepare(http, "r_arrow")
    push(http, "r_arrow", 0, 3)
    committed(http, "r_arrow", 3)
    reply = http.get("/v1/queries/r_arrow/results?limit=2", headers={"Accept": "application/vnd.apache.arrow.stream"})
    assert reply.headers["content-type"] == "application/vnd.apache.arrow.stream"
    assert pa.ipc.open_stream(reply.body).read_all()["id"].to_pylist() == [0, 1]
    after = reply.headers["x-next-cursor"]
    assert http.get(f"/v1/queries/r_arrow/results?cursor={after}").json["rows"] == [{"id": 2, "v": 0.5}]


def test_wrong_cursors_are_refused(http: Http) -> None:
    prepare(http, "r_wrong")
    prepare(http, "r_other")
    other = http.get("/v1/queries/r_other/results").json["next"]
    for cursor in ("x", "5", "W10", other):
        assert http.get(f"/v1/queries/r_wrong/results?cursor={cursor}").status == 422
    for begin in ("later", other):
        assert http.get(f"/v1/queries/r_wrong/results/stream?from={begin}").status == 422
    assert http.get("/v1/queries/r_nothing/results").status == 404
    assert http.get("/v1/queries/r_nothing/results/stream").status == 404
    assert http.get("/v1/queries/..%2f..%2fetc/results").status == 404
    assert http.get("/v1/queries/r_wrong/results?limit=100001").status == 422


def test_a_sink_that_keeps_nothing_has_no_results(http: Http) -> None:
    prepare(http, "r_black", sink="blackhole")
    assert http.get("/v1/queries/r_black/results").status == 409


def test_results_stay_when_the_query_goes(http: Http) -> None:
    prepare(http, "r_gone")
    push(http, "r_gone", 0, 3)
    committed(http, "r_gone", 3)
    until(lambda: http.get("/v1/queries/r_gone"), lambda reply: reply.json["undelivered"] == 0)
    http.delete("/v1/queries/r_gone")
    assert len(http.get("/v1/queries/r_gone/results").json["rows"]) == 3
    with http.events("/v1/queries/r_gone/results/stream?from=start") as events:
        assert [event.kind for event in events] == ["begin", "rows", "end"]


def rows_until(events: Any, wanted: int) -> list[Event]:
    """Events until so many rows have come."""
    found: list[Event] = []
    rows = 0
    while rows < wanted:
        event = next(events)
        found.append(event)
        rows += len(event.data.get("rows", ()))
    return found


def ids(events: list[Event]) -> list[int]:
    return [row["id"] for event in events for row in event.data.get("rows", ())]


def test_events_resume_at_every_place_while_files_are_merged(http: Http) -> None:
    name, total = "r_resumed", 24
    prepare(http, name)
    with http.events(f"/v1/queries/{name}/results/stream?from=start") as live:
        first = next(live)
        events = [first]
        for number in range(total):  # a commit each, so that files are merged meanwhile
            push(http, name, number, number + 1)
            events += rows_until(live, 1)
    assert ids(events) == list(range(total))
    for place in range(len(events)):
        had = ids(events[: place + 1])
        with http.events(
            f"/v1/queries/{name}/results/stream?from=now", headers={"Last-Event-ID": events[place].id}
        ) as rest:
            assert next(rest).kind == "begin"
            later = rows_until(rest, total - len(had))
        assert had + ids(later) == list(range(total))


def test_from_now_and_from_a_cursor(http: Http) -> None:
    name = "r_from"
    prepare(http, name)
    push(http, name, 0, 5)
    committed(http, name, 5)
    cursor = http.get(f"/v1/queries/{name}/results?limit=3").json["next"]
    with (
        http.events(f"/v1/queries/{name}/results/stream") as now,
        http.events(f"/v1/queries/{name}/results/stream?from={quote(cursor)}") as later,
    ):
        begin = next(now)
        assert (begin.kind, begin.id) == ("begin", begin.data["next"])
        push(http, name, 5, 7)
        assert ids(rows_until(now, 2)) == [5, 6]
        assert ids(rows_until(later, 4)) == [3, 4, 5, 6]


def test_from_the_last_rows(http: Http) -> None:
    name = "r_last"
    prepare(http, name)
    push(http, name, 0, 5)
    committed(http, name, 5)
    for begin, expected in (("-2", [3, 4]), ("-5", [0, 1, 2, 3, 4]), ("-9", [0, 1, 2, 3, 4])):
        with http.events(f"/v1/queries/{name}/results/stream?from={begin}") as events:
            next(events)
            assert ids(rows_until(events, len(expected))) == expected


def test_many_listeners_get_the_same(http: Http) -> None:
    name, count, total = "r_many", 50, 40
    prepare(http, name)
    found: list[list[int]] = []

    def listen() -> None:
        with http.events(f"/v1/queries/{name}/results/stream?from=start") as events:
            found.append(ids(rows_until(events, total)))

    threads = [threading.Thread(target=listen, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for first in range(0, total, 8):
        push(http, name, first, first + 8)
    for thread in threads:
        thread.join(60)
    assert found == [list(range(total))] * count


def test_a_query_that_ends_ends_its_events(http: Http) -> None:
    http.post("/v1/streams", {"name": "r_once", "schema": "id bigint"})
    http.lines("r_once", [{"id": number} for number in range(3)])
    http.post("/v1/queries", {"name": "r.once", "sql": "SELECT id FROM r_once", "once": True})
    with http.events("/v1/queries/r.once/results/stream?from=start") as events:
        found = list(events)
    assert ids(found) == [0, 1, 2]
    assert found[-1].kind == "end"


def test_a_removed_query_ends_its_events(http: Http) -> None:
    prepare(http, "r_removed")
    with http.events("/v1/queries/r_removed/results/stream") as events:
        next(events)
        http.delete("/v1/queries/r_removed")
        assert next(events).kind == "end"


def test_events_go_on_after_a_restart_of_the_server(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("restarted") / "data"
    with serve.once(directory=directory) as http:
        prepare(http, "r_back")
        push(http, "r_back", 0, 4)
        with http.events("/v1/queries/r_back/results/stream?from=start") as events:
            had = rows_until(events, 4)
    again = {"Last-Event-ID": had[-1].id}
    with (
        serve.once(directory=directory) as http,
        http.events("/v1/queries/r_back/results/stream", headers=again) as events,
    ):
        push(http, "r_back", 4, 6)
        assert ids(had + rows_until(events, 2)) == list(range(6))


def test_the_quick_way_writes_the_same_json() -> None:
    tables = [
        pa.table({"a": [1, None], "b": ["x\n\u2028é", None], "c": [True, None], "d": [0.1, 1e300]}),
        pa.table({"t": [datetime.datetime(2026, 1, 1, 12, 0, 0, 5), None], "d": [datetime.date(2026, 1, 1), None]}),
        pa.table({"t": pa.array([0, 1], pa.timestamp("us", "UTC"))}),
        pa.table({"f": [float("nan"), float("inf")]}),
        pa.table({"l": [[1, 2], None], "s": [{"x": 1.5}, None], "b": [b"\x00", None]}),
        pa.table({"a": pa.array([], pa.int64())}),
        pa.table({'100 % "x"\n': [1, 2], "%s": [True, False]}),
    ]
    for table in tables:
        assert json_rows(table) == [line(row) for row in table.to_pylist()]
