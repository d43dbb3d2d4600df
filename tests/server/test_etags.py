"""Changes of one thing come one after another; those of different things do not, whatever tenants call them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest

from headgate.server import results_feed
from headgate.server.etags import Changes
from headgate.server.problems import PreconditionError
from headgate.server.results_feed import ResultsHub
from headgate.server.workspace.classes import Classes
from headgate.server.workspace.names import Names
from headgate.server.workspace.queries import Queries
from headgate.server.workspace.streams import Streams
from headgate.server.workspace.tables import Tables

Changing = Callable[[Any, str], AbstractContextManager[Any]]
KINDS: dict[str, Changing] = {
    "query": lambda host, tenant: Queries(host, Names(tenant), Classes(host, Names(tenant))).changing("hot", None),
    "stream": lambda host, tenant: Streams(host, Names(tenant)).changing("hot", None),
    "table": lambda host, tenant: Tables(host, Names(tenant)).changing("hot", None),
}


def made_host() -> Any:
    """A host of an engine in which two tenants and the operator have things of one name."""
    there = {name: name for name in ("acme..hot", "rival..hot", "hot")}

    class Session(dict[str, str]):
        engine = SimpleNamespace(streams=there, tables=there)

    return SimpleNamespace(
        changes=Changes(), session=lambda: Session(there), snapshot=lambda: SimpleNamespace(queries=there)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_tenants_do_not_wait_for_each_other(kind: str) -> None:
    host = made_host()
    done = threading.Event()

    def change() -> None:
        for tenant in ("rival", ""):
            with KINDS[kind](host, tenant):
                pass
        done.set()

    with KINDS[kind](host, "acme"):
        threading.Thread(target=change, daemon=True).start()
        assert done.wait(20)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_of_one_thing_wait_for_each_other(kind: str) -> None:
    host, order = made_host(), []

    def change() -> None:
        with KINDS[kind](host, "acme"):
            order.append("second")

    with KINDS[kind](host, "acme"):
        other = threading.Thread(target=change, daemon=True)
        other.start()
        other.join(0.05)
        order.append("first")
    other.join(20)
    assert order == ["first", "second"]


def test_who_asks_is_told_of_a_thing_by_the_name_it_has_for_it() -> None:
    with (
        pytest.raises(PreconditionError, match=r"^query 'hot' has changed") as refused,
        Changes().of(("query", "acme..hot"), "query 'hot'", '"old"', dict),
    ):
        raise AssertionError
    assert "acme" not in str(refused.value)


def test_who_begins_to_listen_does_not_wait_until_others_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """To follow a query means to wait for the engine: results of one that takes long are no matter of the others."""
    free = threading.Event()

    class NewRows:
        def __init__(self, results: Any, told: object) -> None:
            if results.whole == "acme..slow":
                free.wait(30)
            self.end = lambda: None

    monkeypatch.setattr(results_feed, "NewRows", NewRows)

    async def listen() -> bytes:
        hub = ResultsHub()
        slow = hub.listen(asked("acme..slow"), 0)
        waiting = asyncio.create_task(anext(slow))
        await asyncio.sleep(0)
        quick = hub.listen(asked("acme..hot"), 0)
        try:
            return await asyncio.wait_for(anext(quick), 20)
        finally:
            free.set()
            await waiting
            await slow.aclose()
            await quick.aclose()

    assert asyncio.run(listen()).startswith(b"id: 0\nevent: begin")


def asked(whole: str) -> Any:
    return SimpleNamespace(whole=whole, names=Names("acme"), cursor=str)
