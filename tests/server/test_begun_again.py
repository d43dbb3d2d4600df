"""Streams and queries that are removed and declared again under their names, and requests that must leave nothing."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
from tests.server.conftest import Serve
from tests.server.http_client import Http, until

from headgate.server.access.roles import LOCAL
from headgate.server.hosting import EngineHost
from headgate.server.problems import NotFoundError
from headgate.server.pushing import push
from headgate.server.workspace import Workspace


def test_rows_with_a_former_key_are_in_a_stream_that_was_declared_again(http: Http) -> None:
    stream, key = {"name": "again.s", "schema": "id bigint"}, {"Idempotency-Key": "again-1"}
    http.post("/v1/streams", stream)
    for _ in range(2):
        assert http.lines("again.s", [{"id": 1}], headers=key).json == {"accepted": 1, "rejected": 0}
    assert http.get("/v1/streams/again.s").json["tuples"] == 1
    assert http.delete("/v1/streams/again.s").status == 200
    http.post("/v1/streams", stream)
    for _ in range(2):
        assert http.lines("again.s", [{"id": 1}], headers=key).json == {"accepted": 1, "rejected": 0}
    assert http.get("/v1/streams/again.s").json["tuples"] == 1


def test_a_push_to_a_stream_that_has_gone_since_it_was_found_is_answered_with_404(serve: Serve) -> None:
    hosts: list[EngineHost] = []
    serve(hosts=hosts)
    asked = Workspace(hosts[0], LOCAL)
    with pytest.raises(NotFoundError, match="unknown stream 'gone'"):
        push(asked, "gone", "application/x-ndjson", b'{"id": 1}', None)
    with pytest.raises(NotFoundError, match="unknown stream 'gone'"):
        asked.streams.log("gone")


@pytest.mark.parametrize("watermark", [1e308, 1e15])
def test_a_stream_that_is_refused_leaves_its_name_free(http: Http, watermark: float) -> None:
    stream = {"name": "again.spans", "schema": "id bigint, ts timestamp", "event_time": "ts"}
    refused = http.post("/v1/streams", {**stream, "watermark": watermark})
    assert (refused.status, "100 years" in refused.json["detail"]) == (422, True)
    assert http.post("/v1/streams", {**stream, "ahead": watermark}).status == 201
    assert http.lines("again.spans", [{"id": 1, "ts": "2026-01-01T00:00:00Z"}]).json["accepted"] == 1
    assert http.delete("/v1/streams/again.spans").status == 200


@pytest.mark.parametrize("sink", ["parquet", "jsonl"])
def test_a_query_begun_again_has_the_columns_of_the_results_that_are_there(http: Http, sink: str) -> None:
    stream, name = f"again.{sink}.s", f"again.{sink}.q"
    http.post("/v1/streams", {"name": stream, "schema": "id bigint, v double"})
    query = {"name": name, "sql": f"SELECT id FROM `{stream}`", "sink": sink}
    expected = []
    for number in range(2):
        assert http.post("/v1/queries", query).status == 201
        http.lines(stream, [{"id": number, "v": 0.5}])
        expected.append({"id": number})
        results = until(
            lambda: http.get(f"/v1/queries/{name}/results"), lambda reply: len(reply.json["rows"]) >= len(expected)
        )
        assert results.json["rows"] == expected
        until(lambda: http.get(f"/v1/queries/{name}"), lambda reply: reply.json["undelivered"] == 0)
        assert http.delete(f"/v1/queries/{name}").status == 200
    for other in ("v", "CAST(id AS string) AS id", "id, v", "CAST(id AS double) AS id"):
        asked = {**query, "sql": f"SELECT {other} FROM `{stream}`"}
        for path in ("/v1/queries?dry_run=true", "/v1/queries"):
            refused = http.post(path, asked)
            assert (refused.status, "a former query of that name" in refused.json["detail"]) == (409, True), (
                refused.json
            )
    assert http.get(f"/v1/queries/{name}/results").json["rows"] == expected


def test_a_compressed_body_is_refused(http: Http) -> None:
    http.post("/v1/streams", {"name": "again.gzip", "schema": "id bigint"})
    path, kind = "/v1/streams/again.gzip/rows", "application/x-ndjson"
    refused = http.post(path, gzip.compress(b'{"id": 1}'), kind=kind, headers={"Content-Encoding": "gzip"})
    assert (refused.status, "uncompressed" in refused.json["detail"]) == (415, True)
    plain = http.post(path, b'{"id": 1}', kind=kind, headers={"Content-Encoding": "identity"})
    assert plain.json == {"accepted": 1, "rejected": 0}


@pytest.mark.parametrize("arrival", [10**400, 1e300, float("inf"), float("nan")])
def test_a_cursor_of_dead_letters_that_somebody_made_is_refused(http: Http, arrival: float) -> None:
    http.post("/v1/streams", {"name": "again.letters", "schema": "id bigint"})
    cursor = base64.urlsafe_b64encode(json.dumps(["dead letters", arrival, 1]).encode()).decode().rstrip("=")
    assert http.get(f"/v1/streams/again.letters/dead-letters?cursor={cursor}").status == 422
