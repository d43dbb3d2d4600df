"""The server's side of one connection: uvicorn's, with limits for headers, for their time, and for connections."""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headgate.server.event_stream import ABORT
from headgate.server.front import security_headers
from headgate.server.problems import PROBLEM
from headgate.server.settings import Limits

GRACE = 5.0  # seconds in which a body is dropped that was refused, or came too late, before the connection is closed


logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.ERROR)  # not what clients do


class _RefusedError(Exception):
    """Ends the parsing of a request."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. `limits` is set by `protocol`, which makes a class for a server."""

    limits = Limits()

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._timer: asyncio.TimerHandle | None = None
        self._in_headers = True
        self._header_bytes = 0
        self._data = 0  # bytes that are being parsed, as far as they are of one request
        self._refusal = (400, "this is no request of HTTP/1.1")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "the server has too many connections; try again later", "retry-after: 1\r\n")
        else:
            self._within(self.limits.header_seconds, self._headers_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._data = len(data)
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._in_headers and self._header_bytes > self.limits.header_bytes + self.limits.url_bytes:
            self._refuse(*self._headers_too_large())

    # -- what the parser calls ---------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: {"now": self.transport.abort}}
        self._in_headers, self._header_bytes = True, self._data
        self._within(self.limits.header_seconds, self._headers_late)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > self.limits.url_bytes:
            self._end(414, f"the address has more than {self.limits.url_bytes} bytes; put the rest into the body")

    def on_headers_complete(self) -> None:
        if sum(len(name) + len(value) + 4 for name, value in self.headers) > self.limits.header_bytes:
            self._end(*self._headers_too_large())
        self._in_headers = False
        self._within(self.limits.body_seconds + GRACE, lambda: self.transport.abort())
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_headers, self._header_bytes, self._data = True, 0, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Drop what still comes of a body that was refused: who is sending reads the answer only afterwards."""
        super().on_response_complete()
        if not self._in_headers and self.cycle.response_complete:
            self._within(GRACE, self.transport.close)

    # -- refusals ----------------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Answer a request that the parser, or a check above, has refused."""
        self._refuse(*self._refusal)

    def _end(self, status: int, detail: str) -> None:
        self._refusal = (status, detail)
        raise _RefusedError  # the parser stops, and `send_400_response` is called

    def _headers_too_large(self) -> tuple[int, str]:
        return 431, f"the headers have more than {self.limits.header_bytes} bytes; send fewer, or shorter ones"

    def _headers_late(self) -> None:
        self._refuse(408, f"the headers did not come within {self.limits.header_seconds:g} s")

    def _refuse(self, status: int, detail: str, more: str = "") -> None:
        if self.transport.is_closing():
            return
        self._stop_timer()
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()  # this would be read as a part of that answer
            return
        phrase = HTTPStatus(status).phrase
        body = json.dumps({"type": "about:blank", "title": phrase, "status": status, "detail": detail}).encode()
        headers = "".join(f"{name}: {value}\r\n" for name, value in security_headers(self.scheme == "https").items())
        start = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{start}connection: close\r\n{headers}{more}\r\n".encode() + body)
        self.transport.close()

    # -- time --------------------------------------------------------------------------------------------------

    def _within(self, seconds: float, late: Any) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def protocol(limits: Limits) -> type[LimitedProtocol]:
    """The class of a server's connections."""
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": limits})
