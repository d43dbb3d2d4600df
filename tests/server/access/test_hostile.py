"""Hostile inputs: none is executed, none breaks the server, none is answered with an error of the server's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.server.access.hostile import Hostile, hostile_inputs
from tests.server.http_client import Http

from headgate.server.access.resources import Resources


@pytest.fixture(scope="module")
def attacked(serve: Callable[..., Http]) -> Http:
    """A server that is open: an operator without a tenant can do most. Nothing of the machine is allowed."""
    http = serve(resources=Resources())
    assert http.post("/v1/streams", {"name": "target", "schema": "id bigint"}).status == 201
    return http


def test_hostile_inputs_do_nothing(attacked: Http, spark: SparkSession, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    inputs = hostile_inputs(str(canary))
    assert len(inputs) >= 200
    wrong = {}
    for hostile in inputs:
        status = _status(attacked, hostile)
        if status not in hostile.statuses:
            wrong[str(hostile)] = status
    assert wrong == {}
    assert not canary.exists()
    assert spark.sparkContext._jvm.java.lang.System.getProperty("headgate.hacked") is None  # type: ignore[union-attr]
    assert sorted(item["name"] for item in attacked.get("/v1/streams").json["items"]) == ["target"]
    assert attacked.get("/v1/health/live").status == 200
    assert attacked.get("/v1/status").json["engine"]["state"] == "ready"


def _status(http: Http, hostile: Hostile) -> int:
    try:
        reply = http(hostile.method, hostile.path, hostile.body, kind=hostile.kind)
    except (OSError, ValueError) as error:
        pytest.fail(f"{hostile}: {error!r}")
    if reply.status == 201:  # so that the next one does not meet it
        http.delete(f"{hostile.path}/h")
    return reply.status


def test_the_server_still_works_afterwards(attacked: Http) -> None:
    pushed = attacked.post("/v1/streams/target/rows", '{"id": 1}\n', kind="application/x-ndjson")
    assert (pushed.status, pushed.json) == (200, {"accepted": 1, "rejected": 0})
    assert attacked.post("/v1/queries", {"name": "fine", "sql": "SELECT id FROM target"}).status == 201
