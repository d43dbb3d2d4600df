"""Requests that break, wait and are refused."""

from __future__ import annotations

import socket
import threading

import pytest
from tests.client.scripted import answer, events, problem, scripted

import headgate
from headgate.client import Client, client_on
from headgate.client.address import Address
from headgate.client.connection import Connection, Request
from headgate.client.following import Following
from headgate.model import BusyError, ConflictError, HeadgateError

PUSHED = {"accepted": 1, "rejected": 0}


def client(url: str, patience: float = 20.0, token: str | None = None) -> Client:
    return client_on(Connection(Address(url, token), patience))


def test_pushed_rows_are_sent_again_with_the_same_key_when_the_connection_breaks() -> None:
    with scripted(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", answer(200, PUSHED)) as server:
        assert client(server.url).append("s", [{"id": 1}]) == 1
    keys = {asked.headers["idempotency-key"] for asked in server.asked}
    assert (len(server.asked), len(keys)) == (3, 1)
    assert {asked.body for asked in server.asked} == {b'{"id":1}\n'}


def test_parts_of_rows_have_keys_of_their_own() -> None:
    with scripted(answer(200, PUSHED), answer(200, PUSHED)) as server:
        assert client(server.url).append("s", [{"id": "x" * (4 << 20)}, {"id": 2}]) == 2
    first, second = server.asked
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


@pytest.mark.parametrize("word", ["stream", "query", "create_class"])
def test_what_creates_is_sent_again_with_the_same_key(word: str) -> None:
    given = {"stream": ("s", "id int"), "query": ("q", "SELECT id FROM s"), "create_class": ("c", 3)}[word]
    with scripted(b"", answer(201, {"name": "s"})) as server:
        getattr(client(server.url), word)(*given)
    first, second = (asked.headers["idempotency-key"] for asked in server.asked)
    assert first == second


def test_what_has_no_key_is_not_sent_twice() -> None:
    with scripted(b"") as server, pytest.raises(HeadgateError, match=r"broke.*look whether it was carried out"):
        client(server.url).finish("s")
    assert len(server.asked) == 1


def test_reading_is_repeated() -> None:
    with scripted(b"", answer(200, {"engine": {"state": "ready"}})) as server:
        assert client(server.url).status().engine.state == "ready"


def test_a_server_that_is_not_there_is_one_line_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with pytest.raises(HeadgateError) as refused:
        client(url).status()
    assert str(refused.value) == (
        f"cannot reach {url}: connection refused; start one with headgate serve, or name another in HEADGATE_SERVER or "
        "a profile"
    )


def test_a_server_that_was_there_and_is_away_gets_a_while() -> None:
    with scripted(answer(200, {"items": [], "next": None})) as server:
        asking = client(server.url, patience=0.5)
        assert asking.streams == {}
    with pytest.raises(HeadgateError, match="cannot reach"):
        asking.append("s", [{"id": 1}])


def test_an_engine_that_starts_is_waited_for() -> None:
    starting = problem(503, "the engine is starting; ask again", hint="ask again")
    with scripted(starting, starting, answer(201, {"name": "s"})) as server:
        client(server.url).stream("s", "id int")
    assert len(server.asked) == 3


def test_an_engine_that_does_not_start_is_reported_in_its_words() -> None:
    starting = problem(503, "the engine is starting; ask again", hint="ask again")
    with scripted(starting) as server, pytest.raises(HeadgateError, match=r"^the engine is starting; ask again$"):
        client(server.url, patience=0.0).stream("s", "id int")


@pytest.mark.parametrize(("status", "kind"), [(409, ConflictError), (429, BusyError), (422, HeadgateError)])
def test_refusals_are_errors_with_the_servers_text(status: int, kind: type[HeadgateError]) -> None:
    told = problem(status, "sql: no such column; known: id", where="sql", hint="known: id")
    with scripted(told) as server, pytest.raises(kind) as refused:
        client(server.url).query("q", "SELECT x FROM s")
    error = refused.value
    assert (str(error), error.where, error.message, error.hint) == (
        "sql: no such column; known: id",
        "sql",
        "no such column",
        "known: id",
    )


def test_something_else_than_headgate_at_the_address() -> None:
    with scripted(answer(404, b"<html>", "text/html")) as server, pytest.raises(HeadgateError, match="404; is this"):
        client(server.url).status()


def test_a_push_waits_while_sources_have_to_wait() -> None:
    busy = problem(429, "query 'slow' lags; push later", hint="push later")
    with scripted(busy, busy, answer(200, PUSHED)) as server:
        assert client(server.url).append("s", [{"id": 1}]) == 1
    assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 1
    with scripted(busy) as server, pytest.raises(BusyError, match="lags"):
        client(server.url).append("s", [{"id": 1}], timeout=0)


def test_the_token_is_in_a_header_and_nowhere_else() -> None:
    with scripted(answer(200, {"engine": {}})) as server:
        client(server.url, token="s3cret").status()
    (asked,) = server.asked
    assert asked.headers["authorization"] == "Bearer s3cret"
    assert "s3cret" not in asked.line


def test_events_go_on_after_the_last_one_when_the_connection_breaks() -> None:
    first = events("id: 7\nevent: rows\ndata: 1\n\nid: 8\nevent: rows\ndata: 2")  # the second is not complete
    second = events(": still here\n\nid: 8\nevent: rows\ndata: 2\n\nevent: end\ndata: {}\n\n")
    with scripted(first, b"", second) as server:
        following = Following(Connection(Address(server.url), 20.0), "/queries/q/results/stream", {"from": "now"})
        assert [event.data for event in following] == ["1", "2"]
    assert [asked.headers.get("last-event-id") for asked in server.asked] == [None, "7", "7"]


def test_following_ends_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = threading.Thread(target=_begin_and_be_silent, args=(listening,), daemon=True)
        silent.start()
        connection = Connection(Address(f"http://127.0.0.1:{listening.getsockname()[1]}"), 20.0)
        assert list(Following(connection, "/events", timeout=0.2)) == []
        silent.join(20)


def _begin_and_be_silent(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(events(": hello\n\n"))
        connection.recv(1)  # until the other side goes


def test_a_refusal_of_events_is_an_error() -> None:
    with scripted(problem(404, "unknown query 'q'")) as server, pytest.raises(HeadgateError, match="unknown query 'q'"):
        Following(Connection(Address(server.url), 20.0), "/queries/q/results/stream")


def test_a_closed_client_refuses() -> None:
    closed = headgate.Client("http://127.0.0.1:1")
    closed.close()
    with pytest.raises(HeadgateError, match="the client is closed"):
        closed.status()
    assert repr(closed) == "<closed client of http://127.0.0.1:1>"


def test_names_and_questions_are_quoted() -> None:
    request = Request("GET", "/queries", {"q": "a&b=ü", "limit": 3, "dry_run": True, "cursor": None})
    assert request.target == "/v1/queries?q=a%26b%3D%C3%BC&limit=3&dry_run=true"
