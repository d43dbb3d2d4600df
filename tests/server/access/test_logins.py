"""Browsers: a cookie at login, a second secret for what changes something, and an end."""

from __future__ import annotations

from http.cookies import SimpleCookie
from typing import Any

import pytest
from tests.server.access.conftest import Door
from tests.server.http_client import Http, Reply

from headgate.server.access.logins import LONGEST, MOST_OF_TOKEN, Logins
from headgate.server.access.roles import Role

PATH = "/v1/queries/x/pause"  # changes something; there is no engine, so that 503 means that it was let pass


def logged_in(door: Door, role: Role = Role.SUBMIT, **more: Any) -> tuple[Http, str]:
    """A browser after its login, and its CSRF token."""
    reply = door.http.post("/v1/login", {"token": door.token("ann", role, **more)})
    assert reply.status == 200
    return Http(door.http.port, {"Cookie": _pair(reply)}), reply.json["csrf"]


def _pair(reply: Reply) -> str:
    return reply.headers["set-cookie"].partition(";")[0]


def test_the_cookie_of_a_login_is_for_this_server_alone(door: Door) -> None:
    reply = door.http.post("/v1/login", {"token": door.token("ann")})
    cookie = next(iter(SimpleCookie(reply.headers["set-cookie"]).values()))
    assert cookie.key == f"headgate-{door.http.port}"
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"], cookie["max-age"]) == (
        True, "strict", "/", "", str(int(LONGEST)),
    )  # fmt: skip
    assert cookie.value not in str(door.access.logins.__dict__), "a session id is kept as a hash"
    assert cookie.value not in reply.body.decode()


def test_a_login_reads_with_its_cookie_and_changes_with_its_csrf_token(door: Door) -> None:
    browser, csrf = logged_in(door)
    assert browser.get("/v1/me").json["name"] == "ann"
    assert browser.get("/v1/me").json["csrf"] == csrf
    assert [
        browser.post(PATH).status,
        browser.post(PATH, headers={"X-CSRF-Token": "wrong"}).status,
        browser.post(PATH, headers={"X-CSRF-Token": csrf}).status,
    ] == [403, 403, 503]


def test_a_login_has_the_role_of_its_token(door: Door) -> None:
    browser, csrf = logged_in(door, Role.VIEW)
    assert browser.post(PATH, headers={"X-CSRF-Token": csrf}).status == 403


def test_a_login_ends_at_logout(door: Door) -> None:
    browser, csrf = logged_in(door)
    assert browser.post("/v1/logout").status == 403
    reply = browser.post("/v1/logout", headers={"X-CSRF-Token": csrf})
    assert (reply.status, "Max-Age=0" in reply.headers["set-cookie"]) == (200, True)
    assert browser.get("/v1/me").status == 401


def test_a_login_ends_with_its_token(door: Door) -> None:
    browser, _ = logged_in(door)
    door.tokens.revoke("ann")
    ended = browser.get("/v1/me")
    assert (ended.status, ended.json["detail"]) == (401, "this login has ended; log in again")
    assert "Max-Age=0" in ended.headers["set-cookie"]


@pytest.mark.parametrize("lifetime", [None, 100.0])
def test_a_login_ends_after_twelve_hours_or_when_its_token_expires(door: Door, lifetime: float | None) -> None:
    browser, _ = logged_in(door, lifetime=lifetime)
    door.clock.now += min(LONGEST, lifetime or LONGEST) - 1
    assert browser.get("/v1/me").status == 200
    door.clock.now += 1
    assert browser.get("/v1/me").status == 401


def test_an_ended_login_does_not_keep_anybody_from_logging_in_again(door: Door) -> None:
    browser, _ = logged_in(door)
    door.clock.now += LONGEST
    assert browser.post("/v1/login", {"token": door.texts["ann"]}).status == 200


@pytest.mark.parametrize("body", [{"token": "hg_x"}, {"token": ""}, {"token": "hg_" + "0" * 12 + "_" + "0" * 43}])
def test_a_login_with_a_wrong_token_is_refused(door: Door, body: dict[str, str]) -> None:
    door.token("ann")
    refused = door.http.post("/v1/login", body)
    assert (refused.status, "set-cookie" in refused.headers) == (401, False)


def test_a_token_counts_more_than_a_cookie(door: Door) -> None:
    browser, _ = logged_in(door)
    bob = door.token("bob", Role.VIEW)
    assert browser.get("/v1/me", headers={"Authorization": f"Bearer {bob}"}).json["name"] == "bob"


def test_the_oldest_login_of_a_token_ends_when_there_are_too_many() -> None:
    logins = Logins(lambda: 0.0)
    sessions = [logins.begin("ann", None)[0] for _ in range(MOST_OF_TOKEN + 1)]
    other = logins.begin("bob", None)[0]
    assert [logins.find(session) is not None for session in sessions] == [False] + [True] * MOST_OF_TOKEN
    assert logins.find(other) is not None
