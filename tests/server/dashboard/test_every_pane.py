"""What holds for every pane with real data: all can read it, it fits narrow screens, and runs no script of others."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.server.dashboard import plant
from tests.server.dashboard.conftest import NARROW, OpenPage
from tests.server.http_client import Http

from headgate.server.routes.pages import PANES

PLACES = (
    "/",
    *(f"/{pane}" for pane in PANES),
    "/queries/hot",
    "/queries/hot?tab=why",
    "/queries/named",
    "/streams/readings",
    "/policies/hnr",
)
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def plant_server(http: Http) -> Http:
    plant.build(http)
    return http


@pytest.mark.parametrize("place", PLACES)
def test_it_is_readable_fits_narrow_screens_and_runs_no_script_of_others(
    plant_server: Http, open_page: OpenPage, place: str
) -> None:
    page = open_page(plant_server, place)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_timeout(700)  # what it asks for has come
    assert serious_faults(page) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert serious_faults(page) == []
    page.set_viewport_size(NARROW)
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img[onerror]").count() == 0


def serious_faults(page: Page) -> list[str]:
    """What keeps people from reading or using a page, by the rules of axe."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found if one["impact"] in SERIOUS for node in one["nodes"]]


def test_a_script_in_the_sql_is_shown_as_text(plant_server: Http, open_page: OpenPage) -> None:
    page = open_page(plant_server, "/queries/named")
    expect(page.get_by_text("window.hacked", exact=False).first).to_be_visible()
