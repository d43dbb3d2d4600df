"""Streams, their rows and dead letters, over HTTP."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Http, until


def test_a_stream_is_declared_described_and_removed(http: Http) -> None:
    asked = {"name": "s.made", "schema": "id bigint, ts timestamp", "event_time": "ts", "watermark": "5 s"}
    made = http.post("/v1/streams", asked)
    assert (made.status, made.json["watermark"], made.json["tuples"]) == (201, 5.0, 0)
    again = http.post("/v1/streams", asked)
    assert (again.status, again.headers["etag"]) == (201, made.headers["etag"])
    other = http.post("/v1/streams", {**asked, "schema": "id string"})
    assert other.status == 409
    assert http.lines("s.made", [{"id": 1, "ts": "2026-01-01T00:00:00Z"}]).json == {"accepted": 1, "rejected": 0}
    described = http.get("/v1/streams/s.made")
    assert (described.json["tuples"], described.json["bytes"] > 0) == (1, True)
    assert described.headers["etag"] == made.headers["etag"]  # of what was declared, not of numbers
    assert http.delete("/v1/streams/s.made", headers={"If-Match": '"other"'}).status == 412
    assert http.delete("/v1/streams/s.made", headers={"If-Match": made.headers["etag"]}).status == 200
    assert http.get("/v1/streams/s.made").status == 404


def test_a_stream_that_is_read_is_not_removed(http: Http) -> None:
    http.post("/v1/streams", {"name": "s.read", "schema": "id bigint"})
    http.post("/v1/queries", {"name": "s.reader", "sql": "SELECT id FROM `s.read`"})
    refused = http.delete("/v1/streams/s.read")
    assert (refused.status, "s.reader" in refused.json["detail"]) == (409, True)
    assert http.delete("/v1/queries/s.reader").status == 200
    assert http.delete("/v1/streams/s.read").status == 200


def test_streams_are_listed_page_by_page(http: Http) -> None:
    names = [f"s.page-{number}" for number in range(5)]
    for name in names:
        http.post("/v1/streams", {"name": name, "schema": "id bigint"})
    found, after = [], ""
    while True:
        page = http.get(f"/v1/streams?limit=2{after}").json
        found += [item["name"] for item in page["items"]]
        if page["next"] is None:
            break
        after = f"&cursor={page['next']}"
    assert found == sorted(found)
    assert set(found) >= set(names)
    assert http.get("/v1/streams?cursor=nonsense").status == 422
    assert http.get("/v1/streams?limit=0").status == 422


def test_the_newest_rows_are_shown(http: Http) -> None:
    http.post("/v1/streams", {"name": "s.sample", "schema": "id bigint, at timestamp"})
    http.lines("s.sample", [{"id": number, "at": "2026-01-01T00:00:00Z"} for number in range(5)])
    rows = http.get("/v1/streams/s.sample/sample?limit=2").json["rows"]
    assert [(row["offset"], row["row"]["id"], row["late"]) for row in rows] == [(3, 3, False), (4, 4, False)]
    assert rows[0]["row"]["at"].startswith("2026-01-01T00:00:00")
    assert http.get("/v1/streams/nothing/sample").status == 404


def test_dead_letters_are_filtered_paged_and_replayed(http: Http) -> None:
    http.post("/v1/streams", {"name": "s.dead", "schema": "id bigint, v double"})
    pushed = http.lines("s.dead", [{"id": "one", "v": 1}, {"id": 2, "v": "two"}, {"id": 3, "v": 3}])
    assert pushed.json == {"accepted": 1, "rejected": 2}
    letters = http.get("/v1/streams/s.dead/dead-letters").json["items"]
    assert len(letters) == 2
    first = http.get("/v1/streams/s.dead/dead-letters?limit=1").json
    second = http.get(f"/v1/streams/s.dead/dead-letters?limit=1&cursor={first['next']}").json
    assert [*first["items"], *second["items"]] == letters
    assert second["next"] is None
    of_column = http.get("/v1/streams/s.dead/dead-letters?reason='v'").json["items"]
    assert [("'v'" in letter["reason"]) for letter in of_column] == [True]
    assert http.get("/v1/streams/s.dead/dead-letters?query=other").json["items"] == []
    replayed = http.post("/v1/streams/s.dead/dead-letters/replay", {"reason": "'v'"}).json
    assert (replayed["taken"], sum(replayed["dead_again"].values())) == (0, 1)
    assert http.post("/v1/streams/s.dead/dead-letters/replay").json["taken"] == 0
    assert http.get("/v1/streams/s.dead/dead-letters?cursor=x").status == 422


def test_dead_letters_of_a_query_say_which(http: Http) -> None:
    http.post("/v1/streams", {"name": "s_failing", "schema": "id bigint, text string"})
    http.post("/v1/queries", {"name": "s.failing", "sql": "SELECT CAST(text AS int) AS n FROM s_failing"})
    http.lines("s_failing", [{"id": 1, "text": "seven"}])
    found = until(
        lambda: http.get("/v1/streams/s_failing/dead-letters?query=s.failing"), lambda reply: bool(reply.json["items"])
    )
    assert found.json["items"][0]["query"] == "s.failing"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"name": "x", "schema": "id nothing"}, "has no type"),
        ({"name": "a..b", "schema": "id bigint"}, None),
        ({"name": "../x", "schema": "id bigint"}, None),
        ({"name": "x", "schema": "id bigint", "event_time": "id"}, None),
        ({"name": "x", "schema": "id bigint", "watermark": "soon"}, "watermark"),
        ({"name": "x"}, None),
        ({"name": 7, "schema": "id bigint"}, None),
        ([], None),
        ("{", None),
    ],
)
def test_wrong_streams_are_refused(http: Http, body: object, where: str | None) -> None:
    refused = http.post("/v1/streams", body)
    assert refused.status == 422, refused.body
    assert refused.headers["content-type"] == "application/problem+json"
    assert where is None or where in refused.body.decode()
    assert http.get("/v1/streams/x").status == 404


def test_an_idempotency_key_repeats_the_answer(http: Http) -> None:
    asked, key = {"name": "s.once", "schema": "id bigint"}, {"Idempotency-Key": "k-1"}
    first = http.post("/v1/streams", asked, headers=key)
    again = http.post("/v1/streams", asked, headers=key)
    assert (again.body, again.headers["idempotency-replayed"]) == (first.body, "true")
    assert http.post("/v1/streams", {**asked, "name": "s.twice"}, headers=key).status == 422
    assert http.get("/v1/streams/s.twice").status == 404


def test_rows_of_an_unknown_type_are_refused(http: Http) -> None:
    http.post("/v1/streams", {"name": "s.typed", "schema": "id bigint"})
    assert http.post("/v1/streams/s.typed/rows", "x", kind="text/plain").status == 415
    assert http.post("/v1/streams/none/rows", "{}", kind="application/x-ndjson").status == 404


def test_a_finished_stream_takes_windows_to_their_end(http: Http) -> None:
    http.post("/v1/streams", {"name": "s_windows", "schema": "id bigint, ts timestamp", "event_time": "ts"})
    sql = "SELECT count(*) AS n FROM s_windows GROUP BY window(ts, '1 minute')"
    http.post("/v1/queries", {"name": "s.windows", "sql": sql})
    http.lines("s_windows", [{"id": 1, "ts": "2026-01-01T00:00:01Z"}, {"id": 2, "ts": "2026-01-01T00:00:02Z"}])
    assert http.post("/v1/streams/s_windows/finish").json == {"done": True}
    assert http.get("/v1/streams/s_windows").json["finished"] is True
    found = until(lambda: http.get("/v1/queries/s.windows/results"), lambda reply: bool(reply.json["rows"]))
    assert found.json["rows"] == [{"n": 2}]


def test_rows_as_csv_and_as_an_arrow_stream(http: Http) -> None:
    http.post("/v1/streams", {"name": "s.kinds", "schema": "id bigint, v double"})
    csv = http.post("/v1/streams/s.kinds/rows", "id,v\n1,0.5\nx,1\n", kind="text/csv; charset=utf-8")
    assert csv.json == {"accepted": 1, "rejected": 1}
    target = pa.BufferOutputStream()
    table = pa.table({"id": [2, 3], "v": [1.5, None]})
    with pa.ipc.new_stream(target, table.schema) as stream:
        stream.write_table(table)
    data = target.getvalue().to_pybytes()
    arrow = http.post("/v1/streams/s.kinds/rows", data, kind="application/vnd.apache.arrow.stream")
    assert arrow.json == {"accepted": 2, "rejected": 0}
    rows = http.get("/v1/streams/s.kinds/sample").json["rows"]
    assert [row["row"] for row in rows] == [{"id": 1, "v": 0.5}, {"id": 2, "v": 1.5}, {"id": 3, "v": None}]
    broken = http.post("/v1/streams/s.kinds/rows", data[:40], kind="application/vnd.apache.arrow.stream")
    assert (broken.status, broken.json["title"]) == (422, "Unprocessable Entity")


def test_a_push_with_a_key_counts_once_also_after_a_restart(
    serve: Serve, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("pushed") / "data"
    rows: list[dict[str, Any]] = [{"id": 1}, {"id": "x"}, {"id": 2}]
    key = {"Idempotency-Key": "batch-1"}
    with serve.once(directory=directory) as http:
        http.post("/v1/streams", {"name": "s", "schema": "id bigint"})
        for _ in range(2):
            assert http.lines("s", rows, headers=key).json == {"accepted": 2, "rejected": 1}
        assert http.lines("s", [{"id": 3}], headers=key).status == 422
    with serve.once(directory=directory) as http:
        assert http.lines("s", rows, headers=key).json == {"accepted": 2, "rejected": 1}
        stream = http.get("/v1/streams/s").json
        assert (stream["tuples"], stream["dead_letters"]) == (2, 1)


def test_a_stream_that_takes_nothing_more_says_what_to_do(http: Http) -> None:
    http.post("/v1/streams", {"name": "s_full", "schema": "id bigint"})
    http.post("/v1/queries", {"name": "s.full", "sql": "SELECT id FROM s_full", "lag": "wait, tuples=2"})
    http.post("/v1/queries/s.full/pause")
    http.lines("s_full", [{"id": number} for number in range(5)])
    refused = http.lines("s_full", [{"id": 6}])
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert "s.full" in refused.json["detail"]
    http.post("/v1/queries/s.full/resume")
    assert until(lambda: http.lines("s_full", [{"id": 6}]), lambda reply: reply.status == 200)
