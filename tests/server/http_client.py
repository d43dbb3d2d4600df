"""A small HTTP client for tests, of the standard library alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from typing import Any

JSON = "application/json"


@dataclass(frozen=True)
class Reply:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    kind: str
    data: Any
    id: str


Events = Iterator[Event]


def _events(response: HTTPResponse) -> Events:
    fields: dict[str, str] = {}
    for line in iter(response.readline, b""):
        text = line.decode().rstrip("\n")
        if not text and fields.get("data"):
            yield Event(fields["event"], json.loads(fields["data"]), fields.get("id", ""))
            fields = {}
        elif text and not text.startswith(":"):
            name, _, value = text.partition(": ")
            fields[name] = value


@dataclass(frozen=True)
class Http:
    """Sends requests to a server at a port of 127.0.0.1."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> Reply:
        """Send one request; a body that is neither text nor bytes is sent as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = body if body is None or isinstance(body, bytes | str) else json.dumps(body)
            sent = {**self.headers, **({} if data is None else {"Content-Type": kind}), **(headers or {})}
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def status(self, method: str, path: str) -> int:
        """The status of an answer whose body may never end."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60.0)
        try:
            connection.request(method, path, headers=dict(self.headers))
            return connection.getresponse().status
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Reply:
        return self("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        return self("POST", path, body, **more)

    def delete(self, path: str, **more: Any) -> Reply:
        return self("DELETE", path, **more)

    def patch(self, path: str, body: Any = None, **more: Any) -> Reply:
        return self("PATCH", path, body, **more)

    def lines(self, stream: str, rows: Iterable[Mapping[str, Any]], **more: Any) -> Reply:
        """Push rows as JSON lines."""
        body = "".join(json.dumps(row) + "\n" for row in rows)
        return self.post(f"/v1/streams/{stream}/rows", body, kind="application/x-ndjson", **more)

    @contextmanager
    def events(self, path: str, headers: Mapping[str, str] | None = None, timeout: float = 30.0) -> Iterator[Events]:
        """Listen to server-sent events."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path, headers={**self.headers, **(headers or {})})
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.getheader("content-type", "").startswith("text/event-stream")
            yield _events(response)
        finally:
            connection.close()


def until(ask: Callable[[], Reply], true: Callable[[Reply], bool], seconds: float = 60.0) -> Reply:
    """Ask until an answer is as wanted."""
    deadline = time.monotonic() + seconds
    while not true(reply := ask()):
        assert time.monotonic() < deadline, reply.body
        time.sleep(0.05)
    return reply
