"""What goes wrong is told: failing queries and sources on top, a lost connection, a server that is started again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.server.conftest import Serve
from tests.server.dashboard import plant
from tests.server.dashboard.conftest import OpenPage
from tests.server.http_client import Http

from headgate.server.hosting import EngineHost


def faults(page: Page) -> Locator:
    return page.get_by_role("region", name="What is wrong")


def test_a_failing_query_and_a_failed_source_are_on_top(serve: Serve, open_page: OpenPage) -> None:
    hosts: list[EngineHost] = []
    http = serve(hosts=hosts)
    session = hosts[0].session()
    breaks = threading.Event()
    session.stream("feed", "id bigint", source=readings(breaks))
    session.query("alert", "SELECT id FROM feed", callback=failing)
    page = open_page(http)
    expect(faults(page)).to_contain_text("suspended: the pager does not answer")
    bubble = page.get_by_role("navigation", name="Panes").locator(".bubble")
    expect(bubble).to_have_text("1")
    breaks.set()
    expect(faults(page)).to_contain_text("the line is cut")
    expect(bubble).to_have_text("2")
    faults(page).get_by_role("link", name="alert").click()
    expect(page).to_have_url(f"http://127.0.0.1:{http.port}/queries/alert")
    expect(page.get_by_role("main")).to_contain_text("the pager does not answer")


def readings(breaks: threading.Event) -> Iterator[dict[str, int]]:
    """A row each moment, until the line is cut."""
    number = 0
    while not breaks.wait(0.05):
        yield {"id": number}
        number += 1
    raise OSError("the line is cut")


def failing(table: object) -> None:
    raise RuntimeError("the pager does not answer")


def test_a_lost_connection_is_told_and_mended_by_itself(http: Http, open_page: OpenPage) -> None:
    page = open_page(http)
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.route("**/v1/**", lambda route: route.abort())
    page.reload()
    expect(page.get_by_text("Asking the server who you are", exact=False)).to_be_visible()
    page.unroute("**/v1/**")
    expect(page.get_by_text("live", exact=True)).to_be_visible()


def test_a_server_that_is_started_again_is_taken_up_where_it_was(
    serve: Serve, open_page: OpenPage, tmp_path: Path
) -> None:
    with serve.once(directory=tmp_path / "data") as http:
        plant.build(http)
        page = open_page(http, "/queries")
        expect(page.get_by_role("link", name="hot", exact=True)).to_be_visible()
    expect(page.get_by_text("has not answered since", exact=False)).to_be_visible()
    expect(page.get_by_role("link", name="hot", exact=True)).to_be_visible()  # what was known stays
    with serve.once(directory=tmp_path / "data", port=http.port) as again:
        assert again.port == http.port
        expect(page.get_by_text("has not answered since", exact=False)).to_be_hidden()
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        page.get_by_role("link", name="hot", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("hot")


def test_a_query_whose_tuples_fail_is_told_though_it_runs(http: Http, open_page: OpenPage) -> None:
    assert http.post("/v1/streams", {"name": "orders", "schema": "id bigint, parts bigint"}).status == 201
    asked = {"name": "share", "sql": "SELECT id, id % parts AS rest FROM orders"}
    assert http.post("/v1/queries", asked).status == 201
    page = open_page(http)
    rows = '{"id": 1, "parts": 0}\n{"id": 2, "parts": 0}\n'
    assert http.post("/v1/streams/orders/rows", rows, kind=plant.NDJSON).status == 200
    expect(faults(page)).to_contain_text("share 2 tuples failed in the last minute")
