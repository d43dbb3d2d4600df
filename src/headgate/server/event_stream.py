"""Server-sent events: an answer that goes on, as `text/event-stream`.

Every event stream has an iterator of its own that says what to send next. Nothing is buffered for a listener beyond
what the connection itself holds: if it takes nothing for `PATIENCE` seconds, it is disconnected, and may resume. While
nothing happens, a comment every `HEARTBEAT` seconds shows both sides that the other is there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headgate import logs

HEARTBEAT = 15.0  # seconds
PATIENCE = 30.0  # seconds that a listener may take to accept what was sent
EVENT_STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the second: proxies pass events on at once
ABORT = "headgate.abort"  # an extension of the server: its `now()` closes the connection at once
COMMENT = b": still here\n\n"
ENDING = b": the server ends; connect again later\nretry: 2000\n\n"
_logger = logs.logger("server")


def event(kind: str, data: str, identity: str | None = None) -> bytes:
    r"""One event on the wire; `data` is JSON on one line.

    >>> event("rows", "{}", "17")
    b'id: 17\nevent: rows\ndata: {}\n\n'
    """
    begin = "" if identity is None else f"id: {identity}\n"
    return f"{begin}event: {kind}\ndata: {data}\n\n".encode()


def json_event(kind: str, value: Any, identity: str | None = None) -> bytes:
    """One event with a value as JSON."""
    return event(kind, json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False), identity)


class Ending:
    """Tells every event stream that the server ends."""

    def __init__(self) -> None:
        self._over: asyncio.Event | None = None
        self._ended = False

    @property
    def over(self) -> asyncio.Event:
        """Set when the server ends; to be used in the event loop."""
        if self._over is None:
            self._over = asyncio.Event()
            if self._ended:
                self._over.set()
        return self._over

    def end(self) -> None:
        """To be called in the event loop, or before it runs."""
        self._ended = True
        if self._over is not None:
            self._over.set()


Events = Callable[[], AsyncGenerator[bytes, None]]


class EventStream(Response):
    """Sends what an iterator gives, until it ends, the listener goes, or the server ends."""

    media_type = EVENT_STREAM

    def __init__(
        self,
        events: Events,
        ending: Ending,
        *,
        allowed: Callable[[], bool] = lambda: True,
        heartbeat: float = HEARTBEAT,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._events, self._ending, self._allowed = events, ending, allowed
        self._heartbeat, self._patience = heartbeat, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        gone = asyncio.create_task(_disconnected(receive))
        over = asyncio.create_task(self._ending.over.wait())
        try:
            await self._send_all(send, {gone, over})
            if not gone.done():
                await self._send(send, ENDING if over.done() else b"", more=False)
        except TimeoutError:  # the end of the answer is missing, so the listener knows that it was cut off
            _logger.info("slow listener disconnected", path=scope.get("path"))
            scope.get("extensions", {}).get(ABORT, {}).get("now", _nothing)()
            await asyncio.sleep(0)
        except OSError:  # it has gone
            return
        finally:
            for task in (gone, over):
                task.cancel()

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": more}
        await asyncio.wait_for(send(message), self._patience)

    async def _send_all(self, send: Send, ends: set[asyncio.Task[Any]]) -> None:
        loop = asyncio.get_running_loop()
        checked = loop.time()
        events = self._events()
        coming: asyncio.Task[bytes] | None = None
        try:
            while self._allowed():
                checked = loop.time()
                while loop.time() < checked + self._heartbeat:
                    coming = coming or asyncio.ensure_future(_next(events))
                    left = checked + self._heartbeat - loop.time()
                    await asyncio.wait({coming, *ends}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                    if any(end.done() for end in ends):
                        return
                    if coming.done():
                        data, coming = coming.result(), None
                        if not data:
                            return
                        await self._send(send, data)
                await self._send(send, COMMENT)
        finally:
            if coming is not None:
                coming.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await coming
            await events.aclose()


def _nothing() -> None:
    """There is no way to close the connection at once."""


async def _next(events: AsyncGenerator[bytes, None]) -> bytes:
    """What comes next; nothing if that was all."""
    return await anext(events, b"")


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
