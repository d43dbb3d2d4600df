"""Logging in with a token, what a role may not do, and what a tenant does not see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.server.conftest import Serve
from tests.server.dashboard import plant
from tests.server.dashboard.conftest import OpenPage
from tests.server.http_client import Http

from headgate.server.access.access import Access
from headgate.server.access.roles import Role
from headgate.server.access.token_file import TokenFile
from headgate.server.routes.pages import PANES

CHANGES = ("Pause", "Stop", "Move", "Resume", "New query", "Use it", "Adopt", "Finish", "Drop")
BY_HAND = """async ([method, path, body]) => {
    const headers = { "Content-Type": "application/json" };
    const me = await (await fetch("/v1/me")).json();
    if (me.csrf) headers["X-CSRF-Token"] = me.csrf;
    return (await fetch(path, { method, headers, body: body ? JSON.stringify(body) : undefined })).status;
}"""


@dataclass
class Guarded:
    """A server that asks for tokens, and its file of tokens."""

    http: Http
    tokens: TokenFile

    def token(self, name: str, role: Role, tenant: str = "") -> str:
        return self.tokens.add(name, role, tenant, None)[1]

    def as_(self, token: str) -> Http:
        return Http(self.http.port, {"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def guarded(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    folder: Path = tmp_path_factory.mktemp("guarded")
    tokens = TokenFile(folder)
    http = serve(access=Access(tokens, open_without_tokens=False))
    server = Guarded(http, tokens)
    plant.build(server.as_(server.token("builder", Role.OPERATE)))
    return server


def log_in(page: Page, token: str) -> Page:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Headgate")
    return page


def test_a_wrong_token_is_refused_and_a_right_one_lets_in(guarded: Guarded, open_page: OpenPage) -> None:
    page = open_page(guarded.http, "/queries/hot")
    page.get_by_label("Token").fill("hg_wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    log_in(page, guarded.token("viewer-1", Role.VIEW))
    expect(page.get_by_role("heading", level=1)).to_contain_text("hot")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("hot")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_revoked_token_ends_the_page(guarded: Guarded, open_page: OpenPage) -> None:
    page = log_in(open_page(guarded.http, "/queries"), guarded.token("short", Role.VIEW))
    guarded.tokens.revoke("short")
    expect(page.get_by_text("log in again", exact=False)).to_be_visible()


@pytest.mark.parametrize("place", ["/", "/queries", "/queries/hot", "/streams/readings", "/classes", "/policies/hnr"])
def test_what_a_viewer_may_not_do_is_not_offered(guarded: Guarded, open_page: OpenPage, place: str) -> None:
    page = log_in(
        open_page(guarded.http, place),
        guarded.token(f"viewer of {place.strip('/') or 'all'}".replace("/", " "), Role.VIEW),
    )
    page.wait_for_timeout(700)
    offered = [name for name in page.get_by_role("button").all_inner_texts() if name in CHANGES]
    assert offered == []
    assert page.get_by_role("link", name="New query").count() == 0


def test_what_an_operator_may_do_is_offered(guarded: Guarded, open_page: OpenPage) -> None:
    """Else the test above would pass on a page that offers nothing to anybody."""
    page = log_in(open_page(guarded.http, "/queries/hot"), guarded.token("operator", Role.OPERATE))
    for name in ("Pause", "Stop"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="New query").first).to_be_visible()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/queries/hot/pause", None),
        ("DELETE", "/v1/queries/hot", None),
        ("POST", "/v1/queries", {"name": "x", "sql": "SELECT * FROM readings"}),
        ("PATCH", "/v1/classes/critical", {"priority": 1}),
        ("PUT", "/v1/policy", {"policy": "fcfs"}),
        ("POST", "/v1/streams/readings/finish", None),
    ],
)
def test_a_viewer_cannot_do_it_by_hand_either(
    guarded: Guarded, open_page: OpenPage, method: str, path: str, body: object
) -> None:
    name = f"by hand {method} {path.strip('/').replace('/', ' ')}"
    page = log_in(open_page(guarded.http, "/"), guarded.token(name, Role.VIEW))
    assert page.evaluate(BY_HAND, [method, path, body]) == 403


def test_a_tenant_sees_its_own_and_no_word_of_others(guarded: Guarded, open_page: OpenPage) -> None:
    own = guarded.token("acme", Role.SUBMIT, "acme")
    asked = guarded.as_(own)
    assert asked.post("/v1/streams", {"name": "parts", "schema": "id bigint"}).status == 201
    assert asked.post("/v1/queries", {"name": "mine", "sql": "SELECT id FROM parts", "class": "normal"}).status == 201
    page = log_in(open_page(guarded.http, "/queries"), own)
    expect(page.get_by_role("link", name="mine", exact=True)).to_be_visible()
    for pane in ("", *PANES):
        page.goto(f"/{pane}")
        page.wait_for_timeout(500)
        words = page.locator("body").inner_text()
        assert "readings" not in words, pane
        assert "hot" not in words.split(), pane
