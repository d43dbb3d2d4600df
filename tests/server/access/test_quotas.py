"""Limits of tenants: queries, classes, waiting tuples, bytes pushed, result rows kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.server.access.conftest import Clock
from tests.server.http_client import Http

from headgate.server.access.access import Access
from headgate.server.access.roles import Role
from headgate.server.access.tenants import TenantFile, TenantLimits
from headgate.server.access.token_file import TokenFile
from headgate.server.hosting import EngineHost
from headgate.server.problems import TooLargeError, TooManyError
from headgate.server.workspace.quotas import Quotas


def test_bytes_are_given_back_within_a_minute() -> None:
    clock = Clock()
    quotas = Quotas(lambda tenant: TenantLimits(bytes_per_minute=6000), clock)
    session: Any = engine_with(waiting=0)
    quotas.push(session, "acme", 4000)
    quotas.push(session, "rival", 6000)
    with pytest.raises(TooManyError) as refused:
        quotas.push(session, "acme", 4000)
    assert refused.value.headers == {"Retry-After": "20"}
    clock.now += 20
    quotas.push(session, "acme", 4000)
    with pytest.raises(TooLargeError):
        quotas.push(session, "acme", 6001)
    quotas.push(session, "", 10**9)


def test_pushes_wait_while_too_many_tuples_do() -> None:
    clock = Clock()
    quotas = Quotas(lambda tenant: TenantLimits(waiting=100), clock)
    quotas.push(engine_with(waiting=99), "acme", 1)
    clock.now += 1
    with pytest.raises(TooManyError, match="100 tuples wait for queries of the tenant, and 100 may"):
        quotas.push(engine_with(waiting=100), "acme", 1)
    quotas.push(engine_with(waiting=100), "rival", 1)


def engine_with(waiting: int) -> Any:
    view = SimpleNamespace(query=SimpleNamespace(name="acme..q"), waiting=waiting)
    return SimpleNamespace(engine=SimpleNamespace(overview=lambda: SimpleNamespace(queries=(view,))))


@pytest.fixture(scope="module")
def shared(serve: Callable[..., Http], tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A server with an operator and two tenants, of which one has limits of its own."""
    directory: Path = tmp_path_factory.mktemp("quotas") / "data"
    tokens, tenants = TokenFile(directory), TenantFile(directory)
    quotas = Quotas(tenants.limits)
    texts = {
        name: tokens.add(name, role, tenant)[1]
        for name, role, tenant in (
            ("boss", Role.OPERATE, ""),
            ("ann", Role.SUBMIT, "acme"),
            ("bob", Role.SUBMIT, "rival"),
        )
    }
    hosts: list[EngineHost] = []
    http = serve(access=Access(tokens), directory=directory, quotas=quotas, hosts=hosts)
    who = {name: Http(http.port, {"Authorization": f"Bearer {text}"}) for name, text in texts.items()}
    for made in ("normal", "critical"):
        assert who["boss"].post("/v1/classes", {"name": made, "priority": 5}).status == 201
    return SimpleNamespace(tenants=tenants, quotas=quotas, session=hosts[0].session(), **who)


def declare(http: Http, stream: str) -> None:
    assert http.post("/v1/streams", {"name": stream, "schema": "id bigint"}).status == 201


def query(http: Http, name: str, stream: str, **more: Any) -> Any:
    return http.post("/v1/queries", {"name": name, "sql": f"SELECT id FROM {stream} WHERE id > 0", **more})


def test_classes_that_a_tenant_may_not_use_do_not_exist_for_it(shared: SimpleNamespace) -> None:
    shared.tenants.set("acme", classes=("normal",))
    declare(shared.ann, "c")
    assert [item["name"] for item in shared.ann.get("/v1/classes").json["items"]] == ["normal"]
    assert shared.ann.get("/v1/classes/critical").status == 404
    refused = query(shared.ann, "c1", "c", **{"class": "critical"})
    assert (refused.status, refused.json["detail"]) == (422, "unknown class 'critical'; known: normal")
    assert "name one that the tenant may use: normal" in query(shared.ann, "c1", "c").json["detail"]
    assert query(shared.ann, "c1", "c", **{"class": "normal"}).status == 201
    assert shared.ann.post("/v1/queries/c1/move", {"class": "critical"}).status == 422
    assert shared.ann.get("/v1/me").json["limits"]["classes"] == ["normal"]


def test_a_tenant_has_so_many_queries(shared: SimpleNamespace) -> None:
    shared.tenants.set("rival", queries=2)
    declare(shared.bob, "n")
    assert [query(shared.bob, name, "n").status for name in ("n1", "n2", "n3")] == [201, 201, 403]
    assert shared.bob.get("/v1/queries/n3").status == 404
    asked = {"name": "n3", "sql": "SELECT id FROM n"}
    assert shared.bob.post("/v1/queries?dry_run=true", asked).status == 403
    assert shared.bob.post("/v1/queries?dry_run=true", {**asked, "sink": "table, name=x"}).status == 403
    assert shared.bob.delete("/v1/queries/n1").status == 200
    assert query(shared.bob, "n3", "n").status == 201
    for name in ("n2", "n3"):
        shared.bob.delete(f"/v1/queries/{name}")


def test_queries_of_a_tenant_that_keeps_too_many_rows_are_paused(shared: SimpleNamespace) -> None:
    shared.tenants.set("rival", queries=20, rows=3)
    declare(shared.bob, "r")
    assert query(shared.bob, "r1", "r", sink="jsonl, behind=0").status == 201
    lines = "".join(f'{{"id": {n}}}\n' for n in range(1, 6))
    assert shared.bob.post("/v1/streams/r/rows", lines, kind="application/x-ndjson").status == 200
    session = shared.session
    wait_until(lambda: shared.quotas.rows_kept(session, "rival") == 5)
    assert shared.quotas.pause_those_over(session) == ["rival..r1"]
    described = shared.bob.get("/v1/queries/r1").json
    assert described["state"] == "paused"
    assert described["error"] == "the tenant may keep 3 rows of results, and keeps more"
    refused = query(shared.bob, "r2", "r")
    assert (refused.status, refused.json["detail"].partition(";")[0]) == (
        403, "the tenant keeps 5 rows of results, and may keep 3",
    )  # fmt: skip
    assert query(shared.bob, "r3", "r", sink="memory, rows=1000000").status == 403
    assert shared.quotas.pause_those_over(session) == []
    assert shared.bob.post("/v1/queries/r1/resume").status == 403
    assert shared.bob.get("/v1/queries/r1").json["state"] == "paused"
    shared.tenants.set("rival", rows=100)
    assert shared.bob.post("/v1/queries/r1/resume").status == 200


def test_bytes_pushed_are_counted_for_each_tenant(shared: SimpleNamespace) -> None:
    shared.tenants.set("acme", bytes_per_minute=40, classes=("normal",))
    declare(shared.ann, "b")
    push = [shared.ann.post("/v1/streams/b/rows", '{"id": 1}\n' * 3, kind="application/x-ndjson") for _ in range(2)]
    assert [reply.status for reply in push] == [200, 429]
    assert int(push[1].headers["retry-after"]) > 0
    assert shared.ann.post("/v1/streams/b/rows", '{"id": 1}\n' * 5, kind="application/x-ndjson").status == 413
    shared.tenants.set("acme", bytes_per_minute=10**6, waiting=0)
    assert shared.ann.post("/v1/streams/b/rows", '{"id": 1}\n', kind="application/x-ndjson").status == 429
    declare(shared.boss, "b")
    assert shared.boss.post("/v1/streams/b/rows", '{"id": 1}\n' * 9, kind="application/x-ndjson").status == 200


def wait_until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
