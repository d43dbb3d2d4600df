"""Every route and everybody who may ask: exactly the answer that the route declares. New routes are covered too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from tests.server.access.conftest import Door
from tests.server.conftest import no_engine
from tests.server.http_client import Http

from headgate.server import guard
from headgate.server.access.open import OpenAccess
from headgate.server.access.roles import ROLE, TENANTS, Role
from headgate.server.access.tokens import new_token
from headgate.server.app import ROUTERS, create_app
from headgate.server.guard import GuardedRoute
from headgate.server.routes.common import router

ROLES = (Role.VIEW, Role.SUBMIT, Role.OPERATE)
GUARDED = [route for routes in ROUTERS for route in routes.routes if isinstance(route, GuardedRoute)]
ASKED = [(method, route) for route in GUARDED for method in sorted(route.methods or ())]


def expected(route: GuardedRoute, role: Role | None, tenant: bool) -> int | None:
    """The status with which the guard answers; None if it lets the request pass."""
    if route.needed is Role.PUBLIC:
        return None
    if role is None:
        return 401
    return None if role.covers(route.needed) and (route.tenants or not tenant) else 403


def everybody(door: Door) -> Iterator[tuple[str, Http, Role | None, bool]]:
    yield "no token", door.http, None, False
    for role in ROLES:
        yield role.value, door.with_token(door.token(role.value, role)), role, False
        yield f"{role} of a tenant", door.with_token(door.token(f"t-{role}", role, "acme")), role, True


@pytest.fixture
def asking(door: Door) -> list[tuple[str, Http, Role | None, bool]]:
    return list(everybody(door))


def test_every_route_answers_everybody_as_it_declares(asking: list[tuple[str, Http, Role | None, bool]]) -> None:
    wrong = []
    for method, route in ASKED:
        for who, http, role, tenant in asking:
            status = http.status(method, _path(route))
            needed = expected(route, role, tenant)
            if (status != needed) if needed else (status in (401, 403)):
                wrong.append(f"{method} {route.path} by {who}: {status}, expected {needed or 'to pass'}")
    assert wrong == []


def test_every_route_refuses_tokens_that_are_wrong_expired_or_revoked(door: Door) -> None:
    texts = {"wrong": new_token("x", Role.OPERATE, now=0.0)[1], "expired": door.token("brief", Role.OPERATE, "", 1)}
    texts["revoked"] = door.token("gone", Role.OPERATE)
    texts["of another secret"] = door.token("known", Role.OPERATE)[:-1] + "*"
    door.tokens.revoke("gone")
    door.clock.now += 1
    asked = [(method, route, who) for method, route in ASKED for who in texts]
    refused = {f"{m} {r.path} {who}": door.with_token(texts[who]).status(m, _path(r)) for m, r, who in asked}
    assert {asked for asked, status in refused.items() if status != 401} == set()


def test_the_document_says_who_may_use_each_route() -> None:
    paths = create_app(no_engine(), OpenAccess()).openapi()["paths"]
    declared = [operation for path in paths.values() for operation in path.values()]
    assert len(declared) == len([route for _, route in ASKED if route.include_in_schema])
    assert all(ROLE in operation and TENANTS in operation for operation in declared)


def test_a_route_that_declares_nobody_fails_when_it_is_made() -> None:
    with pytest.raises(TypeError, match="/v1/secrets declares no role"):
        router("secrets").get("/secrets")(lambda: None)


def test_an_app_with_an_unguarded_route_fails() -> None:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.get("/secrets")(lambda: None)
    with pytest.raises(TypeError, match="/secrets declares no role"):
        guard.check_declared(app.routes)


def _path(route: GuardedRoute) -> str:
    return re.sub(r"\{[^}]*\}", "x", route.path)
