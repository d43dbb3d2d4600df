"""The server's side of one connection: uvicorn's, with limits of size and of time, and a place that it may lose."""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headgate.server.connections import Connections, Refusal
from headgate.server.event_stream import ABORT
from headgate.server.front import security_headers
from headgate.server.problems import PROBLEM
from headgate.server.settings import Limits

GRACE = 5.0  # seconds in which a body is dropped that was refused, or came too late, before the connection is closed


logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.ERROR)  # not what clients do


class _RefusedError(Exception):
    """Ends the parsing of a request."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. `protocol` makes a class for a server, which has its limits and places."""

    limits = Limits()
    places = Connections(limits)

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None  # until when the client must take what it was sent
        self.refused: Refusal | None = None  # why there is no place for this
        self.connecting: asyncio.Task[None] | None = None  # until there is a transport: a handshake of TLS takes long
        self._in_headers = True
        self._header_bytes = 0
        self._data = 0  # bytes that are being parsed, as far as they are of one request
        self._refusal = (400, "this is no request of HTTP/1.1")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._within(self.limits.header_seconds, self._headers_late)
        if self.refused is not None:
            self._refuse(self.refused.status, self.refused.detail, "retry-after: 1\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_unread()
        self.places.leave(self)
        super().connection_lost(exc)

    # -- who gives way to others -------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether this is between two requests, or closing."""
        if self.transport is None:
            return False
        between = self._in_headers and not self._header_bytes
        return self.transport.is_closing() or (between and self.cycle is not None and self._answered)

    @property
    def waiting(self) -> bool:
        """Whether this is idle, or has not sent the whole of a request."""
        return self.idle or not self._in_headers or self._answered

    @property
    def _answered(self) -> bool:
        """Whether there is no answer on its way to the client."""
        if self.cycle is None:
            return True
        return self.cycle.response_complete and not self.transport.get_write_buffer_size()

    def give_way(self) -> None:
        """Close this at once."""
        if self.transport is not None:
            self.transport.abort()
        elif self.connecting is not None:
            self.connecting.cancel()

    # -- what comes, and what is taken -------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """The client does not take what it is sent: it may not keep the connection so for ever."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_unread()
        super().resume_writing()

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

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def protocol(limits: Limits, places: Connections) -> type[LimitedProtocol]:
    """The class of a server's connections."""
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": limits, "places": places})
