"""A stream that is dropped while the process dies is either there with everything, or gone with everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.chaos.faultydisk import Crash, FaultyDisk
from tests.spark.chaos.ledger import Ledger
from tests.spark.chaos.queries import Text
from tests.spark.chaos.streams import SCHEMA, stream
from tests.spark.chaos.system import System

from headgate.model import Stream
from headgate.spark.engine.catalog_entries import stored_stream, stream_entry
from headgate.spark.machine import messages as m
from headgate.spark.machine.definitions import STREAMS
from headgate.spark.store.disk import use

NOW = 1_000_000.0
OTHER = Stream(name="a", schema=(("text", "string"),))
NO_QUERIES: dict[str, Text] = {}
ENDINGS = ("kill", "cut", "reorder")


class Driven:
    """A system whose tasks are carried out one after the other."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self.system = System(path, ledger, lambda: NOW, lambda: None, workers=1, policy="fcfs", seed=1)
        self._tickets = count(1)
        for name, entry in list(self.system.commits.state.catalog.get(STREAMS, {}).items()):
            self.ask(m.DeclareStream, stored_stream(name, entry), entry)

    def ask(self, kind: Any, *given: Any) -> None:
        ticket = next(self._tickets)
        self.system.tell(kind(ticket, *given))
        while True:
            while self.system.mailbox:
                self.system.handle()
            for reply in (reply for reply in self.system.replies if reply.ticket == ticket):
                if reply.error is not None:
                    raise reply.error
                return
            self.system.perform(self.system.ready()[0][0])

    def declare(self, made: Stream) -> None:
        self.ask(m.DeclareStream, made, stream_entry(made, None))


@contextmanager
def driven(path: Path, ledger: Ledger) -> Iterator[Driven]:
    opened = Driven(path, ledger)
    try:
        yield opened
    finally:
        with suppress(Crash):
            opened.system.let_go()


def fill(opened: Driven) -> None:
    """Three rows, of which one has no event time and becomes a dead letter."""
    opened.declare(stream("a"))
    times = pa.array([1, None, 2], pa.int64()).cast(SCHEMA.field("ts").type)
    rows = pa.table({"k": [1, 2, 3], "v": [1, 2, 3], "ts": times}, schema=SCHEMA)
    opened.system.ingest.append("a", rows)


def crashed_while_dropping(disk: FaultyDisk, path: Path, ledger: Ledger, after: int) -> tuple[bool, bool]:
    """Whether the process died, and whether the drop was acknowledged before."""
    acknowledged = False
    with use(disk):
        with driven(path, ledger) as opened:
            fill(opened)
            disk.crash_at = disk.number + after
            try:
                opened.ask(m.DropStream, "a")
                acknowledged = True
            except Crash:
                return True, acknowledged
        disk.crash_at = None
    return False, acknowledged


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_crash_at_any_operation_leaves_the_stream_there_or_gone(tmp_path: Path, ending: str) -> None:
    gone = there = 0
    for after in count(1):
        root = tmp_path / str(after)
        root.mkdir()
        disk, path, ledger = FaultyDisk(root, after), root / "data", Ledger(NO_QUERIES.__getitem__)
        died, acknowledged = crashed_while_dropping(disk, path, ledger, after)
        if ending == "kill":
            disk.kill()
        else:
            disk.crash(Random(after), reorder=ending == "reorder")
        with use(disk), driven(path, ledger) as opened:
            ingest = opened.system.ingest
            if "a" in ingest.streams:
                there += 1
                assert not acknowledged
                assert ingest.logs["a"].read(0, 2)["k"].to_pylist() == [1, 3]
                assert ingest.letters["a"].count() == 1
                opened.ask(m.DropStream, "a")
            gone += 1
            directory = opened.system.directory
            assert not directory.stream("a").exists()
            assert not directory.letters("a").exists()
            opened.declare(OTHER)
            assert (ingest.logs["a"].end, ingest.letters["a"].count()) == (0, 0)
            ingest.append("a", pa.table({"text": ["x"]}))
        with use(disk), driven(path, ledger) as opened:  # and the new one stays
            assert opened.system.ingest.logs["a"].read(0, 1)["text"].to_pylist() == ["x"]
        if not died:
            break
    assert there >= 1
    assert gone >= 5
