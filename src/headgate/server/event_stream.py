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
        self._began: float | None = None  # when the sending of something began that has not ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send_all(send))
        others = [
            asyncio.create_task(_disconnected(receive)),
            asyncio.create_task(self._ending.over.wait()),
            asyncio.create_task(self._watch(send)),
        ]
        gone, over, watching = others
        try:
            await asyncio.wait({sending, *others}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                await _cancelled(sending)
            if watching.done() and watching.result() is _SLOW:
                # The end of the answer is missing, so the listener knows that it was cut off.
                _logger.info("slow listener disconnected", path=scope.get("path"))
                scope.get("extensions", {}).get(ABORT, {}).get("now", _nothing)()
                await asyncio.sleep(0)
            elif not gone.done():
                last = {"type": "http.response.body", "body": ENDING if over.done() else b""}
                await asyncio.wait_for(send(last), self._patience)
        except (TimeoutError, OSError):  # it takes nothing more, or has gone
            return
        finally:
            for task in others:
                task.cancel()
        if sending.done() and not sending.cancelled() and (error := sending.exception()) is not None:
            raise error

    async def _send_all(self, send: Send) -> None:
        events = self._events()
        try:
            async for data in events:
                await self._send(send, data)
        except OSError:  # the listener has gone
            return
        finally:
            await events.aclose()

    async def _send(self, send: Send, data: bytes) -> None:
        self._began = asyncio.get_running_loop().time()
        await send({"type": "http.response.body", "body": data, "more_body": True})
        self._began = None

    async def _watch(self, send: Send) -> object:
        """Look now and then: whether the listener may still listen, takes what is sent, or should hear of us."""
        loop = asyncio.get_running_loop()
        checked = loop.time()
        while True:
            await asyncio.sleep(min(self._heartbeat, self._patience) / 3)
            now = loop.time()
            if self._began is not None and now - self._began > self._patience:
                return _SLOW
            if now - checked < self._heartbeat:
                continue
            checked = now
            if not self._allowed():
                return None
            if self._began is None:
                await self._send(send, COMMENT)


_SLOW = object()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task


def _nothing() -> None:
    """There is no way to close the connection at once."""


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
