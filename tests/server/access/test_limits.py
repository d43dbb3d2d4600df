"""Requests that are too large, too slow, too deep or too many: cut off, while others are answered."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from tests.server.access.conftest import Door

from headgate.server.settings import Limits

SMALL = Limits(
    body=100_000,
    json_body=10_000,
    body_seconds=0.3,
    header_bytes=4096,
    header_seconds=0.3,
    url_bytes=1000,
    connections=5,
)
Doors = Callable[..., Door]


def answer(port: int, *parts: bytes, wait: float = 20.0) -> bytes:
    """Send bytes, and read until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        for part in parts:
            connection.sendall(part)
        return rest(connection)


def rest(connection: socket.socket) -> bytes:
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return received


def head(port: int, start: str = "GET /v1/health/live", *headers: str) -> bytes:
    lines = [f"{start} HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture
def small(doors: Doors) -> Door:
    return doors(SMALL)


def alive(door: Door) -> bool:
    return door.http.get("/v1/health/live").status == 200


@pytest.mark.parametrize("sent", [b"", b"GET /v1/hea", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_headers_that_do_not_come_are_given_up(small: Door, sent: bytes) -> None:
    received = answer(small.http.port, sent)
    assert received.startswith(b"HTTP/1.1 408 Request Timeout")
    assert b"the headers did not come within 0.3 s" in received
    assert alive(small)


def test_headers_of_a_second_request_have_their_time_too(small: Door) -> None:
    received = answer(small.http.port, head(small.http.port) + b"GET /v1/he")
    assert [received.count(b"HTTP/1.1 200"), received.count(b"HTTP/1.1 408")] == [1, 1]


def test_large_headers_are_refused(small: Door) -> None:
    port = small.http.port
    many = [f"X-{n}: {'v' * 100}" for n in range(60)]
    assert answer(port, head(port, "GET /v1/health/live", *many)).startswith(b"HTTP/1.1 431")
    assert answer(port, b"GET / HTTP/1.1\r\nX: ", b"v" * 20_000).startswith(b"HTTP/1.1 431")
    assert alive(small)


def test_a_long_address_is_refused(small: Door) -> None:
    assert small.http.get("/v1/health/live?q=" + "x" * 900).status == 200
    refused = small.http.get("/v1/health/live?q=" + "x" * 1000)
    assert (refused.status, refused.headers["content-type"]) == (414, "application/problem+json")
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_a_large_body_is_refused_by_its_length_and_by_its_bytes(small: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.server.protocol.GRACE", 0.1)
    port = small.http.port
    declared = answer(port, head(port, "POST /v1/login", "Content-Length: 10001"))
    assert declared.startswith(b"HTTP/1.1 413")
    chunk = b"800\r\n" + b" " * 0x800 + b"\r\n"
    kind = "Content-Type: application/json"
    chunked = answer(port, head(port, "POST /v1/login", kind, "Transfer-Encoding: chunked"), *[chunk] * 6)
    assert chunked.startswith(b"HTTP/1.1 413")
    assert alive(small)


def test_who_sends_a_large_body_gets_to_read_the_answer(small: Door) -> None:
    refused = small.http.post("/v1/login", b" " * 5_000_000)
    assert (refused.status, refused.json["detail"]) == (
        413, "the body has more than 10000 bytes; send it in several requests, a part in each",
    )  # fmt: skip


def test_a_slow_body_is_cut_off(small: Door) -> None:
    port = small.http.port
    slow = answer(port, head(port, "POST /v1/login", "Content-Length: 100", "Content-Type: application/json"), b'{"tok')
    assert slow.startswith(b"HTTP/1.1 408")
    assert b"the body did not come within 0.3 s" in slow
    assert alive(small)


def test_a_body_that_nobody_reads_does_not_keep_a_connection(small: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.server.protocol.GRACE", 0.0)
    port = small.http.port
    refused = answer(port, head(port, "POST /v1/nothing", "Content-Length: 100"), b"x")
    assert refused.startswith(b"HTTP/1.1 404")


def test_connections_are_counted(small: Door) -> None:
    port = small.http.port
    with ExitStack() as stack:
        for _ in range(SMALL.connections):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        refused = answer(port, b"")
        assert refused.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in refused


@pytest.mark.parametrize(
    "text", ["[" * 4000, '{"token":' * 1000, "[" * 4000 + "]" * 4000, '{"a":' * 1000 + "1" + "}" * 1000]
)
def test_deep_json_is_refused(small: Door, text: str) -> None:
    assert small.http.post("/v1/login", text).status in (400, 422)
    assert alive(small)


@pytest.mark.parametrize(
    "request_text",
    [
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}",
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /v1/login HTTP/1.1\r\nHost: {host}\r\nContent-Length : 2\r\n\r\n{{}}",
        "GET /v1/health/live HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\nConnection: close\r\n\r\n",
        "GET /v1/health/live HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET /v1/health/live HTTP/9.9\r\nHost: {host}\r\n\r\n",
        "GET /v1/h\x01 HTTP/1.1\r\nHost: {host}\r\n\r\n",
        "GET http://[ HTTP/1.1\r\nHost: {host}\r\n\r\n",
        "\x16\x03\x01\x02\x00",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_requests_that_two_servers_could_read_in_two_ways_are_refused(small: Door, request_text: str) -> None:
    sent = request_text.format(host=f"127.0.0.1:{small.http.port}").encode("latin-1")
    received = answer(small.http.port, sent)
    assert received.startswith((b"HTTP/1.1 400", b"HTTP/1.1 408")), received[:200]
    assert received.count(b"HTTP/1.1 ") == 1
    body = json.loads(received.partition(b"\r\n\r\n")[2])
    assert body["status"] in (400, 408)
    assert alive(small)
