"""Names that a server answers to, pages that may ask it, and headers of every answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from tests.server.access.conftest import Door
from tests.server.http_client import Reply

from headgate.model import HeadgateError
from headgate.server.hosts import Hosts
from headgate.server.settings import Address

LOCAL = Hosts.of(Address("127.0.0.1", 8440))
LIVE = "/v1/health/live"


def live(door: Door, **headers: str) -> Reply:
    return door.http.get(LIVE, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("host", ["localhost:{}", "127.0.0.1:{}", "[::1]:{}", "LOCALHOST:{}"])
def test_loopback_names_with_the_port_are_ours(door: Door, host: str) -> None:
    assert live(door, Host=host.format(door.http.port)).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost", "127.0.0.1:1", "localhost.evil.example:{}", "127.0.0.1.nip.io:{}", "x:{}", "@"],
)
def test_other_names_are_refused_on_loopback(door: Door, host: str) -> None:
    refused = live(door, Host=host.format(door.http.port))
    assert (refused.status, refused.headers["content-type"]) == (421, "application/problem+json")


def test_names_can_be_allowed(doors: Callable[..., Door]) -> None:
    door = doors(hosts=["hg.example", "other.example:80"])
    port = door.http.port
    names = ["hg.example", f"hg.example:{port}", "other.example:80", f"127.0.0.1:{port}", "other.example"]
    assert [live(door, Host=name).status for name in names] == [200, 200, 200, 200, 421]


def test_elsewhere_every_name_is_ours_unless_some_are_allowed() -> None:
    everywhere = Address("0.0.0.0", 8440)
    assert Hosts.of(everywhere).names is None
    assert "hg.example" in (Hosts.of(everywhere, ["HG.example"]).names or ())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:{}"}, 403),
        ({"Origin": "http://127.0.0.1:{}"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_only_our_own_pages_may_ask(door: Door, headers: dict[str, str], status: int) -> None:
    sent = {name: value.format(door.http.port) for name, value in headers.items()}
    assert door.http.get(LIVE, headers=sent).status == status


def test_no_answer_opens_the_server_to_other_sites(door: Door) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    own = {"Origin": f"http://127.0.0.1:{door.http.port}", "Access-Control-Request-Method": "POST"}
    replies = [door.http("OPTIONS", "/v1/queries", headers=headers) for headers in (asked, own)]
    assert [reply.status for reply in replies] == [403, 405]
    assert not [name for reply in replies for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", [LIVE, "/v1/nothing", "/v1/status", "/v1/openapi.json"])
def test_every_answer_has_the_headers_for_browsers(door: Door, path: str) -> None:
    headers = door.http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert {"default-src 'self'", "frame-ancestors 'none'"} <= set(headers["content-security-policy"].split("; "))
    assert "server" not in headers
    assert "strict-transport-security" not in headers


@given(st.text(alphabet=st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=40))
def test_a_page_of_another_host_is_never_ours(name: str) -> None:
    if name.lower() not in ("localhost:8440", "127.0.0.1:8440", "[::1]:8440"):
        with pytest.raises(HeadgateError):
            LOCAL.check(Headers({"host": name}))
        with pytest.raises(HeadgateError):
            LOCAL.check(Headers({"host": "localhost:8440", "origin": f"http://{name}"}))
