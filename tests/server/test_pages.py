"""The files of the dashboard: who may have them, how they are kept by browsers, and that they are of the sources."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator

import pytest
from tests.server.conftest import no_engine, serving
from tests.server.http_client import Http

from headgate.server.access.open import OpenAccess
from headgate.server.routes.pages import PANES
from headgate.server.settings import Limits

LINKED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture(scope="module")
def bare() -> Iterator[Http]:
    with serving(no_engine(), OpenAccess(), Limits()) as http:
        yield http


def test_every_address_of_a_pane_is_the_page(bare: Http) -> None:
    page = bare("GET", "/")
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache"
    for path in (*PANES, "queries/a%20b", "queries/a/b", "streams/x"):
        assert bare("GET", f"/{path}").body == page.body


def test_the_page_loads_nothing_but_own_files_that_browsers_may_keep(bare: Http) -> None:
    page = bare("GET", "/")
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert linked
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert "<script>" not in page.body.decode()
    assert "style=" not in page.body.decode()
    for path in linked:
        assert path.startswith("/")
        file = bare("GET", path)
        assert file.status == 200, path
        if path.startswith("/assets/"):
            assert "immutable" in file.headers["cache-control"]


@pytest.mark.parametrize("path", ["/nowhere", "/assets/none.js", "/assets/../built.json", "/index.htm", "/built.json"])
def test_what_is_not_there_is_told(bare: Http, path: str) -> None:
    reply = bare("GET", path)
    assert reply.status == 404
    assert json.loads(reply.body)["detail"]


def test_a_link_on_another_site_leads_to_the_page_but_to_no_data(bare: Http) -> None:
    assert bare("GET", "/queries/hot", headers=LINKED).status == 200
    assert bare("GET", "/v1/status", headers=LINKED).status == 403
    assert bare("GET", "/metrics", headers=LINKED).status == 403
    for name, other in (("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "iframe")):
        assert bare("GET", "/", headers=LINKED | {name: other}).status == 403


def test_files_are_compressed_for_those_who_take_that(bare: Http) -> None:
    plain, packed = bare("GET", "/"), bare("GET", "/", headers={"Accept-Encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
