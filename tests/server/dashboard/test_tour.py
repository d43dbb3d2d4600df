"""Every pane with the demo plant of examples/plant.toml behind it: what it is for can be seen there.

It takes the pictures of docs/dashboard.md; `make pictures` keeps them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect
from tests.server.conftest import Serve, no_engine, serving
from tests.server.dashboard.album import Album, for_the_documentation
from tests.server.dashboard.conftest import NARROW, WIDE, OpenPage
from tests.server.http_client import Http, until

from headgate.server.access.access import Access
from headgate.server.access.token_file import TokenFile
from headgate.server.settings import Limits

pytestmark = pytest.mark.long

PLANT = Path(__file__).parents[3] / "examples" / "plant.toml"
LONG = 180_000  # milliseconds; what waits for Spark, which may be cold and the machine busy
WANTED = {"fire": "1 s", "alarm-in-heat": "1 s", "mean-by-location": "5 s", "extremes": "30 s"}  # targets
LATE = {"location": "oven", "temperature": "very", "humidity": 1, "ts": "2020-01-01T00:00:00Z"}  # a dead letter


@pytest.fixture(scope="module")
def served_plant(serve: Serve) -> Http:
    """The plant, after each of its queries has run."""
    http, declared = serve(), tomllib.loads(PLANT.read_text())
    for stream in declared["stream"]:
        asked = {key: stream[key] for key in ("name", "schema", "event_time", "watermark", "source")}
        assert http.post("/v1/streams", asked).status == 201
    for declared_class in declared["class"]:
        assert http.post("/v1/classes", declared_class).status == 201
    for query in declared["query"]:
        target = WANTED.get(query["name"])
        assert http.post("/v1/queries", {**query, **({"target": target} if target else {})}).status == 201
    http.lines("readings", [LATE])
    until(lambda: http.get("/v1/status"), lambda reply: all(_outputs(reply.json)), seconds=LONG / 1000)
    return http


def _outputs(status: dict[str, Any]) -> list[int]:
    return [query["tuples_out"] for query in status["queries"].values()]


@pytest.fixture(scope="module")
def album(tmp_path_factory: pytest.TempPathFactory) -> Album:
    return Album.of("dashboard", tmp_path_factory.mktemp("pictures"))


Look = Callable[[Page], None]


def says(*texts: str) -> Look:
    """What a pane shows when it has what it needs."""

    def look(page: Page) -> None:
        for text in texts:
            expect(page.get_by_role("main")).to_contain_text(text, timeout=LONG)

    return look


def has_run(page: Page) -> None:
    """The timeline has runs, of which the newest is chosen by keyboard."""
    board = page.get_by_role("application", name="Timeline of runs")
    expect(board).to_be_visible(timeout=LONG)
    board.press("Enter")
    expect(page).to_have_url(re.compile("run="))
    expect(page.get_by_role("main")).not_to_contain_text("No run is chosen", timeout=LONG)


def is_asked(page: Page) -> None:
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="In numbers")).to_be_visible(timeout=LONG)


def is_checked(page: Page) -> None:
    expect(page.get_by_role("heading", name="Columns of its results")).to_be_visible(timeout=LONG)
    expect(page.get_by_role("main")).not_to_contain_text("Computing it", timeout=LONG)


def is_previewed(page: Page) -> None:
    """The slider is moved, and who would gain is told; nothing is applied."""
    page.get_by_role("slider", name="Priority of class background").fill("40")
    expect(page.get_by_role("columnheader", name="Change")).to_be_visible(timeout=LONG)


def is_drawn(page: Page) -> None:
    says("What was declared", "Recent tuples", "boiler")(page)
    expect(page.locator("main canvas").first).to_be_visible(timeout=LONG)


NEW = (
    "/new?name=warm-doors&class=normal&sql=SELECT%20location%2C%20temperature%2C%20ts%0AFROM%20readings"
    "%0AWHERE%20location%20%3D%20%27dock%27%20AND%20temperature%20%3E%2025"
)
PLACES: dict[str, tuple[str, Look, int]] = {
    "overview": ("/", says("What is wrong", "critical", "readings", "Workers"), 1000),
    "timeline": ("/timeline", has_run, 860),
    "queries": ("/queries", says("fire", "archive"), 860),
    "query": ("/queries/mean-by-location", says("p95", "aggregate", "Where its time goes"), 1300),
    "why": ("/queries/mean-by-location?tab=why", says("Causes", "Runs that were in the way"), 1100),
    "results": ("/queries/fire?tab=results", says("temperature", "live"), 560),
    "priority": ("/queries/archive?tab=priority", is_previewed, 760),
    "new-query": (NEW, is_checked, 1100),
    "streams": ("/streams", says("readings", "alarms"), 700),
    "stream": ("/streams/readings", is_drawn, 900),
    "network": ("/network", says("readings", "alarms", "join"), 1000),
    "classes": ("/classes", says("critical", "60"), 1000),
    "policies": ("/policies", says("express"), 860),
    "policy": ("/policies/hnr", says("What it does"), 860),
    "what-if": ("/what-if?policy=fcfs&policy=hnr", is_asked, 1560),
}
ALSO: dict[str, tuple[str, ...]] = {  # in the dark, and on narrow screens
    "dark": ("overview", "timeline", "query", "network"),
    "narrow": ("overview", "queries", "query", "timeline"),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_pane_with_the_plant_behind_it(served_plant: Http, open_page: OpenPage, album: Album, name: str) -> None:
    show(open_page(served_plant, PLACES[name][0]), album, name, WIDE)
    assert name in album.taken()


@pytest.mark.parametrize("name", ALSO["dark"])
def test_a_pane_in_the_dark(served_plant: Http, open_page: OpenPage, album: Album, name: str) -> None:
    page = open_page(served_plant, PLACES[name][0], color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    show(page, album, name, WIDE, "-dark")


@pytest.mark.parametrize("name", ALSO["narrow"])
def test_a_pane_on_a_narrow_screen(served_plant: Http, open_page: OpenPage, album: Album, name: str) -> None:
    page = open_page(served_plant, PLACES[name][0], viewport=NARROW)
    show(page, album, name, NARROW, "-narrow")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def show(page: Page, album: Album, name: str, size: ViewportSize, ending: str = "") -> None:
    """Wait until a pane has what it needs, and take its picture."""
    _, look, height = PLACES[name]
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    look(page)
    album.take(page, name + ending, height=height)


def test_inversions(served_plant: Http, open_page: OpenPage, album: Album) -> None:
    """For the documentation, a policy that knows no classes decides until there is something to see."""
    page = open_page(served_plant, "/inversions")
    expect(page.get_by_role("heading", name="Starving queries")).to_be_visible(timeout=LONG)
    if for_the_documentation():
        assert page.request.put("/v1/policy", data={"policy": "hnr"}).ok
        expect(page.get_by_role("main")).not_to_contain_text("No inversion", timeout=LONG)
    album.take(page, "inversions", height=900)


def test_the_login(open_page: OpenPage, album: Album, tmp_path: Path) -> None:
    with serving(no_engine(), Access(TokenFile(tmp_path), open_without_tokens=False), Limits()) as http:
        page = open_page(http)
        expect(page.get_by_label("Token")).to_be_visible()
        album.take(page, "login", height=480)
