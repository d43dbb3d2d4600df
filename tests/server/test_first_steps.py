"""A stream, a class, a query and rows, over HTTP."""

from __future__ import annotations

from tests.server.http_client import Http, until


def test_a_query_gets_the_rows_that_are_pushed(http: Http) -> None:
    made = http.post("/v1/streams", {"name": "readings", "schema": "id bigint, v double"})
    assert (made.status, made.json["schema"]) == (201, "id bigint, v double")
    assert http.post("/v1/classes", {"name": "critical", "priority": 60}).status == 201
    asked = {"name": "high", "sql": "SELECT id FROM readings WHERE v > 1", "class": "critical"}
    assert http.post("/v1/queries", asked).status == 201
    lines = '{"id": 1, "v": 2.5}\n{"id": 2, "v": 0.5}\n{"id": "x"}\n'
    pushed = http.post("/v1/streams/readings/rows", lines, kind="application/x-ndjson")
    assert (pushed.status, pushed.json) == (200, {"accepted": 2, "rejected": 1})
    described = until(lambda: http.get("/v1/queries/high"), lambda reply: reply.json["tuples_out"] == 1)
    assert described.json["class"] == "critical"


def test_errors_say_what_to_do(http: Http) -> None:
    http.post("/v1/streams", {"name": "known", "schema": "id bigint"})
    missing = http.get("/v1/streams/knwon")
    assert (missing.status, missing.json["detail"]) == (404, "unknown stream 'knwon'; did you mean 'known'?")
    assert missing.headers["content-type"] == "application/problem+json"
    wrong = http.post("/v1/queries", {"name": "q", "sql": "SELECT nope FROM known"})
    assert (wrong.status, wrong.json["where"]) == (422, "line 1, column 8")
    assert http.post("/v1/streams", {"name": "x", "schema": "id bigint", "colour": "red"}).status == 422
    assert http.get("/v1/nothing").status == 404
