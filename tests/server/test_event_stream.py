"""Streams of events: heartbeats, listeners that go or take nothing, tokens that are revoked, and the server's end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from headgate.server.event_stream import ABORT, COMMENT, ENDING, Ending, EventStream, event


class Connection:
    """The other side of an answer."""

    def __init__(self, *, stalls_after: int = 1000) -> None:
        self.sent: list[bytes] = []
        self.over = self.aborted = False
        self.gone = asyncio.Event()
        self.stalls_after = stalls_after

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            if len(self.sent) >= self.stalls_after:
                await asyncio.Event().wait()
            self.sent.append(message["body"])
            self.over = not message.get("more_body", False)

    def abort(self) -> None:
        self.aborted = True

    async def listen(self, stream: EventStream) -> None:
        await stream({"path": "/v1/events", "extensions": {ABORT: {"now": self.abort}}}, self.receive, self.send)


class Source:
    """Gives some events and then waits; notes whether it was closed."""

    def __init__(self, *events: bytes, ends: bool = False) -> None:
        self.events, self.ends, self.closed = events, ends, False

    async def __call__(self) -> AsyncGenerator[bytes, None]:
        try:
            for one in self.events:
                yield one
            if not self.ends:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def run(test: Callable[[], Any]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


def test_events_then_the_end() -> None:
    async def test() -> None:
        connection, source = Connection(), Source(b"one", b"two", ends=True)
        await connection.listen(EventStream(source, Ending()))
        assert (connection.sent, connection.over, source.closed) == ([b"one", b"two", b""], True, True)

    run(test)


def test_heartbeats_while_nothing_happens() -> None:
    async def test() -> None:
        connection, source = Connection(), Source(b"one")
        listening = asyncio.create_task(connection.listen(EventStream(source, Ending(), heartbeat=0.01)))
        while connection.sent.count(COMMENT) < 3:
            await asyncio.sleep(0.01)
        connection.gone.set()
        await listening
        assert connection.sent[0] == b"one"
        assert source.closed
        assert not connection.over

    run(test)


def test_the_end_of_the_server_ends_the_stream() -> None:
    async def test() -> None:
        connection, source, ending = Connection(), Source(b"one"), Ending()
        listening = asyncio.create_task(connection.listen(EventStream(source, ending)))
        while not connection.sent:
            await asyncio.sleep(0)
        ending.end()
        await listening
        assert (connection.sent, connection.over, source.closed) == ([b"one", ENDING], True, True)

    run(test)


def test_a_listener_that_takes_nothing_is_cut_off() -> None:
    async def test() -> None:
        connection, source = Connection(stalls_after=1), Source(b"one", b"two", b"three")
        await connection.listen(EventStream(source, Ending(), patience=0.02))
        assert (connection.sent, connection.over, connection.aborted) == ([b"one"], False, True)
        assert source.closed

    run(test)


def test_a_token_that_is_revoked_ends_the_stream() -> None:
    async def test() -> None:
        connection, allowed = Connection(), [True]
        stream = EventStream(Source(b"one"), Ending(), allowed=lambda: allowed[0], heartbeat=0.01)
        listening = asyncio.create_task(connection.listen(stream))
        while not connection.sent:
            await asyncio.sleep(0)
        allowed[0] = False
        await listening
        assert connection.over

    run(test)


def test_an_event_on_the_wire() -> None:
    assert event("rows", "{}", "abc") == b"id: abc\nevent: rows\ndata: {}\n\n"
