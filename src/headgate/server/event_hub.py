"""Live events: the status once, then what changes in it, and the lines of the journal, for all who listen.

The status is looked at as often as the most impatient listener wants, and only while somebody listens. What has changed
is encoded once for each tenant and pace, and every listener of these sends the same bytes. Nothing is kept for a
listener: the last messages are in a ring, and one who has fallen behind that gets the whole status again.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from starlette.concurrency import run_in_threadpool

from headgate import logs
from headgate.model import HeadgateError
from headgate.server.event_stream import event, json_event
from headgate.server.hosting import EngineHost
from headgate.server.merge_patch import difference
from headgate.server.workspace.journal import JournalLines, entry_cursor, entry_json
from headgate.server.workspace.names import Names
from headgate.server.workspace.status import only_clocks, status_json
from headgate.spark.session import Session
from headgate.spark.store.journal import Entry

EACH = 0.25  # seconds between two looks, if a listener does not say
SLOWEST = 60.0
RING = 400  # messages that a listener may be behind
RING_BYTES = 4 << 20
MISSED = 1000  # lines of the journal that one who comes back gets at most
HEARD = 10_000  # lines of the journal that wait for the next look
_logger = logs.logger("server")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """Something to send to all listeners of a tenant."""

    number: int
    data: bytes
    line: str = ""  # the cursor of a line of the journal


@dataclass(slots=True)
class TenantFeed:
    """What the listeners of one tenant get who want to hear of changes as often."""

    names: Names
    each: float = EACH
    due: float = 0.0  # when to look again; the first time at once
    lines: deque[Entry] = field(default_factory=lambda: deque(maxlen=HEARD))  # of the journal, since the last look
    state: Json | None = None
    listeners: int = 0
    _encoded: bytes = b""
    _number: int = 0
    _ring: deque[Message] = field(default_factory=deque)
    _bytes: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def number(self) -> int:
        """Of the newest message."""
        return self._number

    def whole(self) -> bytes:
        """The event that has the status; it is encoded when somebody wants it, once."""
        assert self.state is not None
        self._encoded = self._encoded or json_event("state", self.state)
        return self._encoded

    def begin(self, state: Json) -> None:
        self.state = state
        self._wake()

    def publish(self, state: Json, patch: bytes | None, lines: Iterable[Entry]) -> None:
        """Take the present status, what has changed since the last one, and new lines of the journal."""
        if patch is not None:
            self.state, self._encoded = state, b""
            self._add(patch)
        for line in lines:
            identity = entry_cursor(line, self.names)
            self._add(json_event("journal", entry_json(line, self.names), identity), identity)
        self._wake()

    def since(self, number: int) -> list[Message] | None:
        """The messages after one; None if some of them are gone."""
        if self._ring and self._ring[0].number > number + 1:
            return None
        return [message for message in self._ring if message.number > number]

    def news(self) -> asyncio.Event:
        """Is set as soon as there is something new."""
        return self._news

    def _add(self, data: bytes, line: str = "") -> None:
        self._number += 1
        self._ring.append(Message(self._number, data, line))
        self._bytes += len(data)
        while len(self._ring) > 1 and (len(self._ring) > RING or self._bytes > RING_BYTES):
            self._bytes -= len(self._ring.popleft().data)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class EventHub:
    """Looks at the engine while somebody listens, and tells all who do. It lives in the event loop of the server."""

    def __init__(self, host: EngineHost) -> None:
        self._host = host
        self._feeds: dict[tuple[str, float], TenantFeed] = {}  # by tenant and pace
        self._new_feed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._heard: deque[Entry] = deque(maxlen=HEARD)  # filled by the thread that writes the journal
        self._session: Session | None = None

    async def listen(
        self, names: Names, last_line: str | None = None, each: float = EACH
    ) -> AsyncGenerator[bytes, None]:
        """What one listener gets, every `each` seconds; `last_line` is the last line of the journal that it had."""
        feed = self._feeds.setdefault((names.tenant, each), TenantFeed(names, each))
        feed.listeners += 1
        self._new_feed.set()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        try:
            while feed.state is None:
                await feed.news().wait()
            number = feed.number
            yield feed.whole()
            missed = await run_in_threadpool(self._missed, names, last_line) if last_line else []
            had = {entry_cursor(line, names) for line in missed}
            for line in missed:
                yield json_event("journal", entry_json(line, names), entry_cursor(line, names))
            async for message in _messages(feed, number):
                if message.line not in had:
                    yield message.data
        finally:
            self._left(feed)

    def _left(self, feed: TenantFeed) -> None:
        feed.listeners -= 1
        if not feed.listeners:
            self._feeds.pop((feed.names.tenant, feed.each), None)
        if not self._feeds and self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _missed(self, names: Names, last_line: str) -> list[Entry]:
        with suppress(HeadgateError):  # the engine starts, or the cursor is none: then there is nothing to add
            return JournalLines(self._host.session().directory, names).since(last_line, MISSED)
        return []

    async def _watch(self) -> None:
        """Look again and again, and tell what has changed."""
        loop = asyncio.get_running_loop()
        self._heard.clear()
        while True:
            now = loop.time()
            due = [feed for feed in self._feeds.values() if feed.due <= now]
            for feed in due:  # at whole multiples, so that feeds of one pace share a look
                feed.due = (now // feed.each + 1) * feed.each
            try:
                await self._look(due)
            except Exception as error:  # the next look may succeed
                _logger.error("events not told", error=f"{type(error).__name__}: {error}")
            next_due = min((feed.due for feed in self._feeds.values()), default=now)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._new_feed.wait(), max(0.02, next_due - loop.time()))
            self._new_feed.clear()

    async def _look(self, feeds: list[TenantFeed]) -> None:
        found = await run_in_threadpool(self._changes, feeds)
        for line in [self._heard.popleft() for _ in range(len(self._heard))]:
            for feed in self._feeds.values():
                if feed.names.has(line.query):
                    feed.lines.append(line)
        for feed, state, patch in found:
            if feed.state is None:
                feed.begin(state)
            own = [feed.lines.popleft() for _ in range(len(feed.lines))]
            if patch is not None or own:
                feed.publish(state, patch, own)

    def _changes(self, feeds: list[TenantFeed]) -> list[tuple[TenantFeed, Json, bytes | None]]:
        """For each feed the present status and, if it has changed, the event that says so."""
        if not feeds:
            return []
        engine, snapshot = self._host.look(fresh=True)
        if snapshot is not None:
            self._follow_journal()
        states = [status_json(engine, snapshot, feed.names) for feed in feeds]
        return [(feed, state, _patch(feed.state, state)) for feed, state in zip(feeds, states, strict=True)]

    def _follow_journal(self) -> None:
        session = self._host.session()
        if session is not self._session:
            self._session = session
            session.engine.listen_to_journal(self._hear)

    def _hear(self, line: Entry) -> None:
        if self._feeds:
            self._heard.append(line)


def pace(each: float) -> float:
    """As often as a listener wants to hear, in steps: who wants about the same shares what is made for it.

    >>> pace(0.3), pace(1.0), pace(7.3)
    (0.5, 1.0, 8.0)
    """
    step = EACH if each <= 5 else 1.0
    return min(SLOWEST, max(EACH, ceil(each / step) * step))


async def _messages(feed: TenantFeed, number: int) -> AsyncGenerator[Message, None]:
    """The messages after one, as they come; if some are gone by then, the whole status instead."""
    while True:
        news = feed.news()
        messages = feed.since(number)
        if messages is None:
            messages = [Message(feed.number, feed.whole())]
        for message in messages:
            number = message.number
            yield message
        if not messages:
            await news.wait()


def _patch(before: Json | None, after: Json) -> bytes | None:
    """The event that tells how the status has changed; None if nothing but time has passed."""
    patch = {} if before is None else difference(before, after)
    if only_clocks(patch):
        return None
    return event("changes", json.dumps(patch, separators=(",", ":"), ensure_ascii=False))
