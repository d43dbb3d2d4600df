"""Requests made up from the OpenAPI document: no server error, and answers as they are declared."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.http_client import Http

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ENDLESS = ("/v1/events", "/results/stream")  # streams of events never end by themselves
EXAMPLES = 12  # of each operation


def test_the_document_is_openapi_3_1(http: Http) -> None:
    document = http.get("/v1/openapi.json").json
    assert document["openapi"].startswith("3.1")
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert all(operation["x-headgate-role"] in ("public", "view", "submit", "operate") for operation in operations)


@pytest.mark.filterwarnings("default")  # of the libraries that make requests up
def test_answers_are_as_declared(http: Http) -> None:
    for name in ("s", "0"):  # so that some requests meet something
        http.post("/v1/streams", {"name": name, "schema": "id bigint, v double"})
        http.post("/v1/queries", {"name": name, "sql": "SELECT id FROM s"})
    document = http.get("/v1/openapi.json").json
    schema = schemathesis.openapi.from_dict(document)
    checked = 0
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]
        if not operation.path.endswith(ENDLESS):
            _check(operation, f"http://127.0.0.1:{http.port}")
            checked += 1
    assert checked > 10
    assert http.get("/v1/health/ready").status == 200


def _check(operation: Any, address: str) -> None:
    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any) -> None:
        case.call_and_validate(base_url=address, checks=CHECKS, timeout=60)

    ask()
