"""The page itself: its addresses, what it says of the connection and the engine, light and dark, and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.server.conftest import no_engine, serving
from tests.server.dashboard.conftest import OpenPage
from tests.server.http_client import Http

from headgate.server.access.open import OpenAccess
from headgate.server.routes.pages import PANES
from headgate.server.settings import Limits


def test_first_steps_are_told_where_nothing_is_yet(http: Http, open_page: OpenPage) -> None:
    page = open_page(http)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_text("There is no stream yet")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    expect(page.get_by_text("Europe/Berlin")).to_be_visible()


@pytest.mark.parametrize("pane", ["", *PANES])
def test_every_pane_has_an_address_of_its_own_and_survives_a_reload(http: Http, open_page: OpenPage, pane: str) -> None:
    page = open_page(http, f"/{pane}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    title = page.title()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.title() == title
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_the_theme_follows_the_system_until_one_is_chosen(http: Http, open_page: OpenPage) -> None:
    page = open_page(http, color_scheme="dark")
    theme = page.locator("html")
    expect(theme).to_have_attribute("data-theme", "dark")
    page.get_by_label("Theme").select_option("light")
    expect(theme).to_have_attribute("data-theme", "light")
    page.reload()
    expect(theme).to_have_attribute("data-theme", "light")


def test_an_unknown_address_of_a_pane_leads_back(http: Http, open_page: OpenPage) -> None:
    reply = http("GET", "/nowhere")
    assert reply.status == 404
    page = open_page(http, "/queries/there-is-none")
    expect(page.get_by_role("main")).to_contain_text("there-is-none")


def test_an_engine_that_did_not_start_is_told(open_page: OpenPage) -> None:
    with serving(no_engine(), OpenAccess(), Limits()) as http:
        page = open_page(http)
        expect(page.get_by_role("main")).to_contain_text("The engine could not be started")
        expect(page.get_by_role("main")).to_contain_text("there is no engine in this test")
