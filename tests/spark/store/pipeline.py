"""A toy engine for the kill test: batches come in, queries filter them, results are committed and go to sinks.

Everything it knows after a start comes from the data directory. What it acknowledged is noted in memory that survives
the process, so that the next life can check that it is still there.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from mmap import mmap
from pathlib import Path
from struct import Struct

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests.spark.sinks.delivering import Store
from tests.spark.store.builders import SCHEMA, rows

from headgate.model import Stream
from headgate.spark.ingest.dead_letter_replay import complete as complete_replay
from headgate.spark.ingest.dead_letter_replay import replay
from headgate.spark.sinks.committed_results import read_committed
from headgate.spark.sinks.result_files import read
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog

STREAM = Stream(name="s", event_time="ts", watermark=2e-5)
SINKS = {"even": "parquet", "third": "jsonl", "all": "parquet"}
_DIVISORS = {"even": 2, "third": 3, "all": 1}
_NUMBERS = Struct("<QQ")


def batch(index: int) -> pa.Table:
    """The same rows whenever the source sends this batch; some are late, some have no event time."""
    chance = random.Random(index)
    times = [
        None if chance.random() < 0.03 else 10 * index + chance.randrange(-35, 10) for _ in range(chance.randrange(12))
    ]
    return rows(times, 100 * index)


def ids_of(table: pa.Table) -> list[int]:
    """The ids of results; there may be no result yet, and no column either."""
    ids: list[int] = table["id"].to_pylist() if table.num_rows else []
    return ids


def wanted(query: str, table: pa.Table) -> pa.Table:
    """What a query selects."""
    divisor = _DIVISORS[query]
    kept = pc.equal(pc.subtract(table["id"], pc.multiply(pc.divide(table["id"], divisor), divisor)), 0)
    return table.filter(kept).select(["id", "ts", "_offset"])


@dataclass(frozen=True)
class Promises:
    """What was acknowledged, in memory that the parent shares with all lives."""

    memory: mmap

    def read(self) -> tuple[int, int]:
        end, commits = _NUMBERS.unpack_from(self.memory)
        return end, commits

    def note(self, end: int, commits: int) -> None:
        _NUMBERS.pack_into(self.memory, 0, end, commits)


class Life:
    """One process from start to death."""

    def __init__(self, folder: Path, promises: Promises, seed: int) -> None:
        self.promises, self.chance = promises, random.Random(seed)
        self.directory = DataDirectory(folder)
        before = {query: ids_of(read_committed(folder, query)) for query in SINKS}
        self.store = Store(self.directory)
        self.commits = self.store.commits
        assert self.store.owed == {}
        for query, committed in before.items():  # what was committed is known to readers before it is in files
            folder_of = self.directory.result(query)
            assert committed == (ids_of(read(folder_of)) if folder_of.exists() else []), query
        self.log = StreamLog.open(self.directory.stream("s"), STREAM, SCHEMA, memory_budget=20_000, seal_rows=30)
        self.letters = DeadLetters(self.directory.letters("s"))
        self.runs = count(self.commits.state.run + 1)
        self._check_promises()
        complete_replay(self.log, self.letters, 0.0)
        if not self.commits.state.queries:
            self.store.commit(Commit(queries={query: {"sink": sink} for query, sink in SINKS.items()}))
        sent = [int(name[1:]) for name in self.log.batches if name.startswith("b")]
        self.next = sent[-1] if sent else 0  # not known whether the source has heard of the last one: it is sent again

    def live(self, steps: int, favour: str = "") -> None:
        """Do this and that; one kind of action much more often, if the life is to end in it."""
        actions: list[tuple[str, Callable[[], None], int]] = [
            ("append", self.append, 10),
            ("run", self.run, 7),
            ("group", self.run_group, 3),
            ("forward", self.forward, 4),
            ("checkpoint", self.checkpoint, 2),
            ("seal", self.log.seal, 1),
            ("drop", self.drop, 2),
            ("replay", self.replay, 1),
        ]
        weights = [weight + 10 * (name == favour) for name, _, weight in actions]
        for _ in range(steps):
            (chosen,) = self.chance.choices(actions, weights)
            chosen[1]()

    def drain(self) -> None:
        """Run every query to the end of the log."""
        for query in SINKS:
            self.commit(self.run_of(query, whole=True))
        self.store.close()
        self.directory.close()

    def append(self) -> None:
        self.letters.keep(self.log.append(batch(self.next), float(self.next), f"b{self.next}"))
        self.promises.note(self.log.end, self.promises.read()[1])
        self.next += 1

    def run(self) -> None:
        self.commit(self.run_of(self.chance.choice(list(SINKS))))

    def run_group(self) -> None:
        """Runs of different queries that end together."""
        self.commit(*map(self.run_of, self.chance.sample(list(SINKS), k=self.chance.randint(2, 3))))

    def run_of(self, query: str, *, whole: bool = False) -> Commit:
        first = self.position(query)
        last = self.log.end if whole else self.chance.randint(first, self.log.end)
        result = wanted(query, self.log.read(first, last))
        number = next(self.runs)
        output = self._aside(number, result) if self.chance.random() < 0.3 else Output.inline(result)
        return Commit(number, (query,), {query: {"s": last}}, {query: output})

    def commit(self, *commits: Commit) -> None:
        numbers = self.store.commit(*commits)
        self.promises.note(self.promises.read()[0], numbers[-1])

    def position(self, query: str) -> int:
        return self.commits.state.positions.get(query, {}).get("s", 0)

    def forward(self) -> None:
        """What is committed goes to the sinks, several commits at a time, and perhaps not all of it."""
        assert self.store.deliver(self.chance.choice((0.5, 1.0))) == {}

    def checkpoint(self) -> None:
        """Merge small files, and shorten the commit log by what is in files for certain."""
        self.forward()
        self.store.tidy()

    def drop(self) -> None:
        self.log.drop_before(min(map(self.position, SINKS)))

    def replay(self) -> None:
        """Rejected rows are tried again, and are rejected again: there must be as many as before."""
        replay(self.log, self.letters, 0.0)

    def _aside(self, number: int, result: pa.Table) -> Output:
        folder = f"run-{number}-{os.getpid()}"
        (self.directory.aside / folder).mkdir()
        half = result.num_rows // 2
        names = []
        for index, part in enumerate((result.slice(0, half), result.slice(half))):
            names.append(f"{folder}/part-{index}.parquet")
            pq.write_table(part, self.directory.aside / names[-1])
        return Output.written(self.directory.aside, tuple(names))

    def _check_promises(self) -> None:
        end, commits = self.promises.read()
        if self.log.end < end or self.commits.number < commits:
            raise AssertionError(
                f"{end} and {commits} were acknowledged, found {self.log.end} and {self.commits.number}"
            )
        for leaves in self.commits.state.positions.values():
            self.log.require(leaves["s"])
