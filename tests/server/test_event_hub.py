"""The hub of live events: the state once, then patches that lead to the present state, for every tenant its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from headgate.server.event_hub import RING, EventHub, TenantFeed, pace
from headgate.server.hosting import EngineState, EngineStatus
from headgate.server.live.snapshots import Snapshot
from headgate.server.merge_patch import applied
from headgate.server.workspace.names import Names
from headgate.spark.store.journal import Entry


class Host:
    """An engine that starts."""

    def __init__(self) -> None:
        self.detail, self.looks = "starts Spark", 0

    def look(self, fresh: bool = False) -> tuple[EngineStatus, Snapshot | None]:
        self.looks += 1
        return EngineStatus(EngineState.STARTING, self.detail, float(self.looks)), None


def parsed(data: bytes) -> tuple[str, Any]:
    fields = dict(line.split(": ", 1) for line in data.decode().strip().splitlines())
    return fields["event"], json.loads(fields["data"])


def test_the_state_and_then_its_changes_while_the_engine_starts() -> None:
    async def test() -> None:
        host = Host()
        hub = EventHub(host)  # type: ignore[arg-type]
        events = hub.listen(Names(), each=0.01)
        kind, state = parsed(await anext(events))
        assert (kind, state["engine"]["detail"]) == ("state", "starts Spark")
        host.detail = "reads the data directory"
        kind, patch = parsed(await anext(events))
        assert kind == "changes"
        assert applied(patch, state)["engine"]["detail"] == "reads the data directory"
        await events.aclose()

    asyncio.run(asyncio.wait_for(test(), 20))


def test_nobody_looks_while_nobody_listens() -> None:
    async def test() -> None:
        host = Host()
        hub = EventHub(host)  # type: ignore[arg-type]
        events = hub.listen(Names(), each=0.005)
        await anext(events)
        await events.aclose()
        await asyncio.sleep(0)
        looks = host.looks
        await asyncio.sleep(0.05)
        assert host.looks == looks

    asyncio.run(asyncio.wait_for(test(), 20))


def test_all_listeners_of_a_tenant_get_the_same_bytes() -> None:
    async def test() -> None:
        host = Host()
        hub = EventHub(host)  # type: ignore[arg-type]
        listeners = [hub.listen(Names("acme"), each=0.01) for _ in range(5)]
        first = await asyncio.gather(*map(_next, listeners))
        assert len({id(data) for data in first}) == 1
        assert b"starts Spark" not in first[0]  # details are not for tenants
        for events in listeners:
            await events.aclose()

    asyncio.run(asyncio.wait_for(test(), 20))


async def _next(events: AsyncGenerator[bytes, None]) -> bytes:
    return await anext(events)


def test_one_who_has_fallen_behind_gets_the_state_again() -> None:
    async def test() -> None:
        feed = TenantFeed(Names())
        feed.begin({"n": 0})
        for number in range(RING + 10):
            feed.publish({"n": number}, b"x", [])
        assert feed.since(5) is None
        assert [message.data for message in feed.since(RING + 8) or []] == [b"x", b"x"]
        assert b'"n":409' in feed.whole()

    asyncio.run(test())


def test_lines_of_the_journal_are_events_with_cursors() -> None:
    async def test() -> None:
        feed = TenantFeed(Names("acme"))
        feed.begin({})
        feed.publish({}, None, [Entry(5.0, "acme..hot", "running", "paused", "query 'acme..hot' was asked to")])
        (message,) = feed.since(0) or []
        kind, line = parsed(message.data)
        assert (kind, line["query"], line["reason"]) == ("journal", "hot", "query 'hot' was asked to")
        assert message.line
        assert message.data.startswith(f"id: {message.line}\n".encode())

    asyncio.run(test())


def test_everybody_hears_at_the_pace_that_was_asked_for() -> None:
    async def test() -> None:
        host = Host()
        hub = EventHub(host)  # type: ignore[arg-type]
        slow, quick = hub.listen(Names(), each=60.0), hub.listen(Names(), each=0.01)
        await anext(slow)
        looks = host.looks
        await anext(quick)  # a new pace is served at once, and not when the slow one is due
        pending = asyncio.create_task(_next(slow))
        for number in range(3):
            host.detail = f"step {number}"
            kind, patch = parsed(await anext(quick))
            assert (kind, patch["engine"]["detail"]) == ("changes", f"step {number}")
        assert not pending.done()
        assert host.looks >= looks + 4
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await quick.aclose()

    asyncio.run(asyncio.wait_for(test(), 20))


def test_lines_of_the_journal_wait_for_the_pace_of_each_listener() -> None:
    async def test() -> None:
        host = Host()
        hub = EventHub(host)  # type: ignore[arg-type]
        slow, quick = hub.listen(Names(), each=0.5), hub.listen(Names("acme"), each=0.01)
        await anext(slow)
        await anext(quick)
        for query in ("acme..hot", "rival..hot"):
            hub._hear(Entry(5.0, query, "running", "paused", "asked to"))
        assert parsed_line(await anext(quick))["query"] == "hot"
        assert [parsed_line(await anext(slow))["query"] for _ in range(2)] == ["acme..hot", "rival..hot"]
        await slow.aclose()
        await quick.aclose()

    asyncio.run(asyncio.wait_for(test(), 20))


def parsed_line(data: bytes) -> Any:
    kind, line = parsed(data)
    assert kind == "journal"
    return line


def test_listeners_of_about_the_same_pace_share_what_is_made() -> None:
    paces = {pace(0.25 + number * 0.01) for number in range(5975)}
    assert len(paces) <= 75
    assert (min(paces), max(paces)) == (0.25, 60.0)
