"""Server-sent events: read one after the other, and resumed after the last one when the connection breaks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from math import inf
from socket import socket

from headgate.client.connection import BrokenError, Connection, NotFoundError, Query, Request

SILENCE = 45.0  # seconds without a sign of life, which the server gives every 15
LONGEST_LINE = 256 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its kind, its data, and the identity by which to resume after it."""

    kind: str
    data: str
    identity: str | None = None


def parse(lines: Iterable[bytes]) -> Iterator[Event | None]:
    r"""The events of lines, as the HTML standard has them; None for a sign of life.

    >>> [event.data for event in parse([b": hello\n", b"\n", b"id: 7\n", b"data: a\n", b"data: b\n", b"\n"]) if event]
    ['a\nb']
    """
    kind, identity = "message", None
    data: list[str] = []
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            yield Event(kind, "\n".join(data), identity) if data else None
            kind, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            identity = value


class Following:
    """The events of an address from now on. It is connected when it is made; iterating gives events as they come.

    It ends when the server says so, when what is followed is gone, or after `timeout` seconds without an event.
    """

    def __init__(self, connection: Connection, path: str, query: Query | None = None, timeout: float = inf) -> None:
        self._connection, self._path, self._query = connection, path, query
        self._timeout = timeout
        self._last: str | None = None
        self._stream = connection.attempts(True, self._open)

    def __iter__(self) -> Iterator[Event]:
        deadline = time.monotonic() + self._timeout
        try:
            while True:
                try:
                    for event in parse(self._lines(deadline)):
                        if self._connection.closed:
                            return
                        if event is None:
                            continue
                        self._last = event.identity or self._last
                        if event.kind == "end":
                            return
                        yield event
                        deadline = time.monotonic() + self._timeout
                except BrokenError:
                    pass
                if time.monotonic() >= deadline or not self._reopen():
                    return
        finally:
            self.close()

    def close(self) -> None:
        """Follow no more."""
        for part in self._stream:
            part.close()

    def _lines(self, deadline: float) -> Iterator[bytes]:
        """Lines until the connection breaks (`BrokenError`) or the deadline comes."""
        response, line = self._stream
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            try:
                line.settimeout(min(left, SILENCE))
                text = response.readline(LONGEST_LINE)
            except (OSError, HTTPException, ValueError) as error:
                raise BrokenError("the connection broke") from error
            if not text:
                raise BrokenError("the server has ended the connection")
            yield text

    def _reopen(self) -> bool:
        """Connect again; False if what was followed is not there any more."""
        self.close()
        try:
            self._stream = self._connection.attempts(True, self._open)
        except NotFoundError:
            return False
        return True

    def _open(self) -> tuple[HTTPResponse, socket]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        query = dict(self._query or {})
        if self._last is not None:
            headers["Last-Event-ID"] = self._last
        return self._connection.open(Request("GET", self._path, query, headers=headers), SILENCE)
