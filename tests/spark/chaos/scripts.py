"""Parts of the store at work on a disk, and what they have promised.

A script opens its part, takes steps, and notes what was acknowledged; `check` opens the part again and holds it to
that. What was begun and not acknowledged may be there or not, but never in half and never twice; once
it has been seen, it stays. A script outlives its process: it is what the world outside remembers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark.store.builders import SCHEMA, STREAM, ids, rows

from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.result_files import read
from headgate.spark.store import disk
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.late_rows import NO_EVENT_TIME
from headgate.spark.store.log.stream_log import Appended, StreamLog

Step = Callable[[], object]


class Script(Protocol):
    """What `crashes` plays."""

    @property
    def steps(self) -> Sequence[Step]: ...
    def open(self) -> None: ...
    def check(self) -> None: ...


class Log:
    """A stream's log: appends of two rows and one that is rejected, sealed and dropped."""

    def __init__(self, root: Path, folder: str = "streams/s") -> None:
        self.folder = root / folder
        self.begun, self.appended = 0, 0
        self.dropping, self.dropped = 0, 0

    @property
    def steps(self) -> Sequence[Step]:
        sealed = (self.append, self.append, self.log.seal)
        return (*sealed, *sealed, self.append, lambda: self.drop(4), self.append, self.log.seal, self.append)

    def open(self) -> None:
        self.log = StreamLog.open(self.folder, STREAM, SCHEMA)

    def append(self) -> None:
        number = self.log.end // 2
        self.begun = max(self.begun, number + 1)
        self.log.append(rows([10 * number, 10 * number + 1, None], 3 * number), float(number), f"b{number}")
        self.appended = max(self.appended, number + 1)

    def drop(self, offset: int) -> None:
        self.dropping = offset
        self.log.drop_before(offset)
        self.dropped = self.log.start

    def check(self) -> None:
        self.open()
        assert self.appended <= self.log.end / 2 <= self.begun
        assert self.dropped <= self.log.start <= self.dropping
        kept = [each for each in range(3 * self.log.end // 2) if each % 3 != 2]
        assert ids(self.log.read(self.log.start, self.log.end)) == kept[self.log.start :]
        assert list(self.log.batches) == [f"b{number}" for number in range(self.log.end // 2)]
        if self.log.newest is not None:
            assert [reason for _, reason in self.log.newest.rejected] == [NO_EVENT_TIME]
        self.appended, self.dropped = self.log.end // 2, self.log.start  # it has been seen
        if self.log.end < 12:
            self.append()


class Commits:
    """The commit log: commits, and their history replaced by its sum."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "commits"
        self.begun, self.committed = 0, 0

    @property
    def steps(self) -> Sequence[Step]:
        return (*[self.append] * 3, lambda: self.log.compact(2), self.append, lambda: self.log.compact(), self.append)

    def open(self) -> None:
        disk.make_folder(self.folder)
        self.log = CommitLog(self.folder)

    def append(self) -> None:
        number = self.log.number + 1
        self.begun = max(self.begun, number)
        output = Output.inline(pa.table({"id": [number]}))
        self.log.append(Commit(number, ("q",), {"q": {"s": 10 * number}}, {"q": output}))
        self.committed = max(self.committed, number)

    def check(self) -> None:
        self.open()
        number = self.log.number
        assert self.committed <= number <= self.begun
        assert self.log.state.positions == ({"q": {"s": 10 * number}} if number else {})
        kept = list(self.log.commits())
        assert [found for found, _ in kept] == list(range(self.log.base().number + 1, number + 1))
        assert all(commit.run == ids(commit.outputs["q"].table())[0] == found for found, commit in kept)
        self.committed = number  # it has been seen


class Sink:
    """Result files: of one commit and of several, taken over from `aside`, merged; what was synced is not sent again.

    Results go to the sink in the order of their commits, and nothing is merged while some are held back by an error,
    as the engine does it.
    """

    def __init__(self, root: Path, kind: str) -> None:
        self.folder, self.aside, self.kind = root / "results" / "q", root / "aside", kind
        self.committed: list[Output] = []
        self.safe = 0  # so many of them need not be kept

    @property
    def steps(self) -> Sequence[Step]:
        first = (self.inline, self.two, self.adopted, self.sync)
        return (*first, self.inline, self.merge, self.adopted, self.inline, self.merge, self.sync)

    def open(self) -> None:
        disk.make_folder(self.aside)
        self.sink = FileSink(self.folder, self.kind)
        self.forwarded = self.safe

    def inline(self) -> None:
        self.committed.append(Output.inline(self.next()))
        self.forward()

    def two(self) -> None:
        for _ in range(2):
            self.committed.append(Output.inline(self.next()))
        if self.forwarded == len(self.committed) - 2:
            numbers = range(self.forwarded + 1, self.forwarded + 3)
            self.sink.roll_forward_all([(number, self.committed[number - 1].table()) for number in numbers])
            self.forwarded += 2

    def adopted(self) -> None:
        """As executors and the engine do: files aside, a commit that names them, the sink, and the folder goes."""
        folder, table = f"run-{len(self.committed)}", self.next()
        (self.aside / folder).mkdir()
        names = tuple(f"{folder}/{index}.parquet" for index in range(2))
        for index, name in enumerate(names):
            pq.write_table(table.slice(index, 1), self.aside / name)
        self.committed.append(Output.written(self.aside, names))
        self.forward()
        disk.rmtree(self.aside / folder)

    def merge(self) -> None:
        if self.forwarded == len(self.committed):
            self.sink.compact(self.forwarded)

    def sync(self) -> None:
        self.forward()
        self.sink.sync()
        self.safe = self.forwarded

    def check(self) -> None:
        self.open()
        found = Counter(self.read(self.safe))
        assert all(found[each] == 1 for each in range(2 * self.safe)), found
        assert set(found.values()) <= {1}, found
        assert max(found, default=-1) < 2 * len(self.committed), found
        self.forward()
        assert sorted(self.read()) == list(range(2 * len(self.committed)))
        self.sync()

    def read(self, logged: int | None = None) -> list[int]:
        table = read(self.folder, logged)
        return ids(table) if table.num_columns else []

    def next(self) -> pa.Table:
        return pa.table({"id": [2 * len(self.committed), 2 * len(self.committed) + 1]})

    def forward(self) -> None:
        while self.forwarded < len(self.committed):
            number, output = self.forwarded + 1, self.committed[self.forwarded]
            if output.files:
                self.sink.adopt(number, [self.aside / name for name in output.files])
            else:
                self.sink.roll_forward(number, output.table())
            self.forwarded = number


class Letters:
    """Dead letters: kept with their append, taken for replay, settled."""

    def __init__(self, root: Path) -> None:
        self.path = root / "deadletters" / "s.jsonl"
        self.begun, self.kept = 0, 0
        self.settling: frozenset[int] = frozenset()
        self.settled: frozenset[int] = frozenset()

    @property
    def steps(self) -> Sequence[Step]:
        return self.keep, self.keep, self.settle, self.keep, self.keep, self.settle, self.keep

    def open(self) -> None:
        self.letters = DeadLetters(self.path)

    def keep(self) -> None:
        self.begun = max(self.begun, self.kept + 1)  # one that was not kept is offered again
        number = self.begun
        table = pa.table({"id": [2 * number, 2 * number + 1]})
        self.letters.keep(Appended(number, 0, 0, 0.0, rejected=((table, NO_EVENT_TIME),)))
        self.kept = number

    def settle(self) -> None:
        taken = self.letters.take(lambda letter: letter if _id(letter.row) % 2 else None)
        if taken is not None:
            self.settling |= {_id(letter.row) for letter in taken.letters}
            self.letters.settle(taken)
            self.settled |= {_id(letter.row) for letter in taken.letters}

    def check(self) -> None:
        self.open()
        waiting = self.letters.unsettled()
        everywhere = [*self.letters.letters(), *(waiting.letters if waiting is not None else ())]
        found = Counter(_id(letter.row) for letter in everywhere)
        assert set(found.values()) <= {1}, found
        assert not found.keys() & self.settled
        assert set(range(2, 2 * self.kept + 2)) - self.settling <= found.keys(), found
        assert found.keys() <= set(range(2, 2 * self.begun + 2))
        if self.begun > self.kept:
            self.keep()
            assert {2 * self.begun, 2 * self.begun + 1} <= {_id(letter.row) for letter in self.letters.letters()}


class Directory:
    """A data directory in a folder that is not there yet, and a log in it."""

    def __init__(self, root: Path) -> None:
        self.path, self.made = root / "a" / "data", False
        self.log: Log | None = None

    @property
    def steps(self) -> Sequence[Step]:
        return (self.use,)

    def open(self) -> None:
        with DataDirectory(self.path):
            self.made = True

    def use(self) -> None:
        with DataDirectory(self.path) as directory:
            self.log = self.log or Log(directory.path)
            self.log.open()
            self.log.append()

    def check(self) -> None:
        if self.made:
            assert (self.path / "headgate.json").exists()
        self.open()
        if self.log is not None:
            self.log.check()


def _id(row: object) -> int:
    assert isinstance(row, dict)
    return int(row["id"])
