"""A stream whose log has lost rows that were read is refused as a whole, until it is restored or dropped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from tests.spark.chaos.ledger import Ledger
from tests.spark.chaos.queries import Text
from tests.spark.chaos.restored import restore
from tests.spark.chaos.standins import in_place
from tests.spark.chaos.streams import Given, stream
from tests.spark.chaos.system import System
from tests.spark.store.builders import rows

from headgate.model import ConflictError, HeadgateError, Query, QueryClass
from headgate.spark.engine.catalog_entries import stream_entry
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.machine import maintenance
from headgate.spark.machine import messages as m
from headgate.spark.machine.tasks import FILES, Reply
from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.frame_file import FrameFile

TEXTS = {text.sql: text for text in (Text("chain", ("a",), 0), Text("flat", ("b",), 0), Text("union", ("a", "b"), 0))}
CHAIN, OTHER, BOTH = TEXTS
STEPS = 9  # appends of two rows, three of which are sealed at a time: the newest three are in the tail
READ = 2 * STEPS


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with in_place():
        monkeypatch.setattr(maintenance, "EVERY", 10_000)  # so that sealed files stay
        yield


class Life:
    """A session without Spark: each command is carried out, with all that follows from it, before the next."""

    def __init__(self, path: Path, ledger: Ledger, policy: str) -> None:
        self.system = System(path, ledger, lambda: 1_000_000.0, lambda: None, workers=1, policy=policy, seed=1)
        self.users, self._tickets = self, count(1)
        restore(cast(Any, self))

    def ticket(self) -> int:
        return next(self._tickets)

    def tell(self, message: m.Message) -> None:
        self.system.tell(message)

    def reply_to(self, ticket: int) -> Reply:
        while self.system.mailbox or self.system.ready():
            if self.system.mailbox:
                self.system.handle()
            else:
                self.system.perform(self.system.ready()[0][0])
        return next(reply for reply in self.system.replies if reply.ticket == ticket)

    def ask(self, kind: Any, *given: Any) -> Any:
        ticket = self.ticket()
        self.tell(kind(ticket, *given))
        reply = self.reply_to(ticket)
        if reply.error is not None:
            raise reply.error
        return reply.value

    def declare(self, name: str) -> None:
        self.ask(m.DeclareStream, stream(name), stream_entry(stream(name), None))

    def add(self, name: str, sql: str, *, once: bool = False) -> None:
        query = Query(
            name=name, query_class="c", plan=TEXTS[sql].plan, sql=sql, sink="parquet", since="start", once=once
        )
        self.ask(m.AddQuery, query, None, None, FILES, 0.0, None, ())

    def append(self, name: str, number: int) -> None:
        given = Given(((1, number, 1_000_000 * number), (2, number, 1_000_000 * number)), 1_000_000.0)
        first = self.system.ingest.log(name).end
        self.system.ingest.append(name, given.table)
        last = self.system.ingest.log(name).end
        self.tell(m.Appended(name, last, self.system.ingest.chunks(name, first, last)))
        self.ask(m.Drain)

    def state(self, name: str) -> tuple[str, str]:
        view = self.ask(m.Describe, name)
        return view.state, view.error


@contextmanager
def life(path: Path, ledger: Ledger, policy: str = "fcfs") -> Iterator[Life]:
    opened = Life(path, ledger, policy)
    try:
        yield opened
    finally:
        opened.system.let_go()


def filled(path: Path, ledger: Ledger, policy: str) -> dict[str, int]:
    """A directory whose queries have read all of the streams a and b; gives how many results each has."""
    with life(path, ledger, policy) as opened:
        for name in ("a", "b"):
            opened.declare(name)
        opened.ask(m.DeclareClass, QueryClass("c", 1.0))
        for name, sql in (("runs", CHAIN), ("paused", CHAIN), ("other", OTHER), ("both", BOTH)):
            opened.add(name, sql)
        for number in range(1, STEPS + 1):
            opened.append("a", number)
            opened.append("b", number)
        opened.add("once", CHAIN, once=True)
        opened.ask(m.Drain)
        opened.ask(m.Pause, "paused", "")
        assert opened.state("once") == ("done", "")
        assert opened.system.ingest.logs["a"].end == READ
    return {name: read_committed(path, name).num_rows for name in ("runs", "paused", "other", "both", "once")}


def empty(tail: Path, sealed: Sequence[Path]) -> None:
    tail.write_bytes(b"")


def zeros(tail: Path, sealed: Sequence[Path]) -> None:
    tail.write_bytes(bytes(tail.stat().st_size))


def half(tail: Path, sealed: Sequence[Path]) -> None:
    tail.write_bytes(tail.read_bytes()[: tail.stat().st_size // 2])


def last_append(tail: Path, sealed: Sequence[Path]) -> None:
    newest = FrameFile(tail, point="").frames[-1].start - 16
    tail.write_bytes(tail.read_bytes()[:newest])


def no_tail(tail: Path, sealed: Sequence[Path]) -> None:
    tail.unlink()


def flipped(tail: Path, sealed: Sequence[Path]) -> None:
    tail.write_bytes(tail.read_bytes()[:-20] + b"x" + tail.read_bytes()[-19:])


def no_sealed(tail: Path, sealed: Sequence[Path]) -> None:
    sealed[-1].unlink()


def no_first_sealed(tail: Path, sealed: Sequence[Path]) -> None:
    sealed[0].unlink()


def cut_sealed(tail: Path, sealed: Sequence[Path]) -> None:
    sealed[-1].write_bytes(sealed[-1].read_bytes()[:-30])


def empty_sealed(tail: Path, sealed: Sequence[Path]) -> None:
    sealed[0].write_bytes(b"")


def no_description(tail: Path, sealed: Sequence[Path]) -> None:
    (tail.parent / "stream.json").unlink()


def no_folder(tail: Path, sealed: Sequence[Path]) -> None:
    shutil.rmtree(tail.parent)


DAMAGE = (
    (
        empty,
        r"\.tail: the log of stream 'a' ends at offset 12, but it was read up to 18: 6 acknowledged rows are missing",
    ),
    (
        zeros,
        r"\.tail: the log of stream 'a' ends at offset 12, but it was read up to 18: 6 acknowledged rows are missing",
    ),
    (
        half,
        r"\.tail: the log of stream 'a' ends at offset 14, but it was read up to 18: 4 acknowledged rows are missing",
    ),
    (last_append, r"\.tail: the log of stream 'a' ends at offset 16, but it was read up to 18: 2 acknowledged rows"),
    (no_tail, r"\.tail: the log of stream 'a', .*18 rows.*the newest part of the log is missing"),
    (flipped, r"\.tail: the log of stream 'a', .*18 rows.*the record at byte \d+ is damaged"),
    (no_sealed, r"streams/a: the log of stream 'a', .*hole: the sealed file with the appends 4 to 6 is missing"),
    (no_first_sealed, r"streams/a: the log of stream 'a', .*hole: append 1 \(offset 0\) is missing"),
    (cut_sealed, r"4-0+6-\w+\.parquet: the log of stream 'a', .*the file is damaged"),
    (empty_sealed, r"1-0+3-\w+\.parquet: the log of stream 'a', .*the file is damaged"),
    (no_description, r"stream\.json: the log of stream 'a', .*it is missing"),
    (no_folder, r"stream\.json: the log of stream 'a', .*it is missing"),
)


@pytest.mark.parametrize("policy", ["fcfs", "hnr, level=operator"])
@pytest.mark.parametrize(("damage", "told"), DAMAGE)
def test_a_log_that_lacks_rows_that_were_read_refuses_the_stream(
    tmp_path: Path, damage: Callable[[Path, Sequence[Path]], None], told: str, policy: str
) -> None:
    path, ledger = tmp_path / "data", Ledger(TEXTS.__getitem__)
    before = filled(path, ledger, policy)
    folder, kept = path / "streams" / "a", tmp_path / "copy"
    shutil.copytree(folder, kept)
    (tail,), sealed = folder.glob("*.tail"), sorted(folder.glob("*.parquet"))
    assert len(sealed) == 2
    damage(tail, sealed)
    sizes = {file.name: file.stat().st_size for file in folder.glob("*")}
    for _ in range(2):  # and again the next time: nothing was added meanwhile
        with life(path, ledger, policy) as opened:
            check_refused(opened, told)
            for name, results in before.items():  # what was committed can be read
                assert read_committed(path, name).num_rows == results + 2 * (name == "other" and results > READ)
    assert all(file.stat().st_size <= sizes.get(file.name, -1) for file in folder.glob("*")), "nothing was added"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
    with life(path, ledger, policy) as opened:  # a copy brings it back: all go on where they stood
        assert [opened.state(name)[0] for name in before] == ["running", "paused", "running", "running", "done"]
        opened.append("a", STEPS + 1)
        opened.ask(m.Resume, "paused")
        opened.ask(m.Drain)
        for name in ("runs", "paused", "both"):
            assert read_committed(path, name).num_rows >= before[name] + 1, name


def check_refused(opened: Life, told: str) -> None:
    """Nobody may append to the stream or read it; others go on."""
    ingest = opened.system.ingest
    for name in ("runs", "paused", "both", "once"):
        state, error = opened.state(name)
        assert state == "incomplete"
        with pytest.raises(ConflictError, match=told) as refused:
            opened.ask(m.Resume, name)
        assert str(refused.value) == error == opened.state(name)[1]
    for attempt in (
        lambda: ingest.append("a", rows([1])),
        lambda: ingest.finish("a"),
        lambda: ingest.replay("a"),
        lambda: opened.add("new", CHAIN),
        lambda: opened.ask(m.AddQueries, (added("new", BOTH),)),
        lambda: opened.ask(m.CheckNewQuery, added("new", CHAIN).query),
        lambda: opened.ask(m.Replace, added("other", CHAIN).query),
    ):
        with pytest.raises(ConflictError, match=told):
            attempt()
    assert "restore the file from a copy" in str(ingest.refused["a"])
    assert any("a stream is refused" in str(note) for note in opened.system.notes)
    assert opened.state("other") == ("running", "")


def added(name: str, sql: str) -> m.AddQuery:
    query = Query(name=name, query_class="c", plan=TEXTS[sql].plan, sql=sql, sink="parquet", since="start")
    return m.AddQuery(0, query, None, None, FILES, 0.0, None, ())


def test_other_streams_go_on_and_a_refused_one_can_be_given_up(tmp_path: Path) -> None:
    path, ledger = tmp_path / "data", Ledger(TEXTS.__getitem__)
    before = filled(path, ledger, "fcfs")
    half(next((path / "streams" / "a").glob("*.tail")), ())
    with life(path, ledger) as opened:
        opened.append("b", STEPS + 1)
        assert read_committed(path, "other").num_rows == before["other"] + 2
        with pytest.raises(ConflictError, match="queries 'both', 'once', 'paused' and 'runs' read it"):
            opened.ask(m.DropStream, "a")
        for name in ("runs", "paused", "both", "once"):
            opened.ask(m.Stop, name)
        opened.ask(m.DropStream, "a")
        assert "a" not in opened.system.ingest.streams
        assert not (path / "streams" / "a").exists()
        opened.declare("a")
        opened.add("runs", CHAIN)
        opened.append("a", 1)
        assert opened.state("runs") == ("running", "")
    with life(path, ledger) as opened:
        assert opened.system.ingest.log("a").end == 2
    now = {name: read_committed(path, name).num_rows for name in before}
    assert now == {**before, "other": before["other"] + 2, "runs": before["runs"] + 1}


def test_a_log_that_lacks_rows_that_nobody_has_read_opens(tmp_path: Path) -> None:
    """What is torn after the last row that was read was never acknowledged, as far as anybody can tell."""
    path, ledger = tmp_path / "data", Ledger(TEXTS.__getitem__)
    filled(path, ledger, "fcfs")
    with life(path, ledger) as opened:
        for name in ("runs", "both"):
            opened.ask(m.Pause, name, "")
        opened.append("a", STEPS + 1)
        assert opened.system.ingest.logs["a"].end == READ + 2
    (tail,) = (path / "streams" / "a").glob("*.tail")
    tail.write_bytes(tail.read_bytes()[:-3])
    with life(path, ledger) as opened:
        assert opened.system.ingest.refused == {}
        assert opened.system.ingest.logs["a"].end == READ


def test_dead_letters_of_lost_appends_refuse_the_stream(tmp_path: Path) -> None:
    """Else rejected rows of the next appends, which get the same numbers, would be taken for those that are kept."""
    path, ledger = tmp_path / "data", Ledger(TEXTS.__getitem__)
    with life(path, ledger) as opened:
        opened.declare("a")
        opened.system.ingest.append("a", Given(((1, 1, 1), (2, 2, None)), 1.0).table)
        assert opened.system.ingest.letters["a"].count() == 1
    (tail,) = (path / "streams" / "a").glob("*.tail")
    tail.write_bytes(b"")
    with life(path, ledger) as opened:
        told = (
            r"streams/a: the log of stream 'a' has 0 appends, and there are dead letters of append 1: acknowledged rows"
        )
        with pytest.raises(HeadgateError, match=told):
            opened.append("a", 1)
        assert opened.system.ingest.letters["a"].count() == 1  # and they can be read


def test_a_log_is_not_made_where_there_is_one(tmp_path: Path) -> None:
    path, ledger = tmp_path / "data", Ledger(TEXTS.__getitem__)
    filled(path, ledger, "fcfs")
    (path / "streams" / "a" / "stream.json").unlink()
    with DataDirectory(path) as directory:
        ingest = StreamIngest(directory, lambda: 0.0)
        with pytest.raises(HeadgateError, match=r"stream\.json: it is missing"):
            ingest.add(stream("a"))
