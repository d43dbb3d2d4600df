"""Recovery: committed results are delivered, uncommitted files are deleted, what sinks refuse is returned."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.sinks.delivering import sinks_of
from tests.spark.store.steps import aside, table

from headgate.model import Stream
from headgate.spark.execution.recovery import complete
from headgate.spark.queries.fragment_logs import FragmentLogSink
from headgate.spark.sinks.base import Results, Sink, deliver
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.registry import open_sink
from headgate.spark.sinks.result_files import read
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class OpenSinks:
    """Opens sinks as an engine would; those of some queries fail from their n-th result on, or cannot be opened."""

    def __init__(self, directory: DataDirectory) -> None:
        self.directory = directory
        self.broken: dict[str, int] = {}
        self.open: list[Sink] = []
        self.called: list[int] = []

    def __call__(self, query: str, description: Mapping[str, Any]) -> Sink:
        if self.broken.get(query) == 0:
            raise FULL
        if "#" in query:
            sink: Sink = FragmentLogSink(query, self.directory.waiting / query)
        else:
            text = description.get("sink", "parquet")
            sink = open_sink(text, self.directory.result(query), lambda rows: self.called.extend(rows["x"].to_pylist()))
        watched = Watched(sink, self, query)
        self.open.append(watched)
        return watched


class Watched:
    """A sink that may fail, and that says when it is closed."""

    def __init__(self, sink: Sink, sinks: OpenSinks, query: str) -> None:
        self.sink, self.sinks, self.query, self.durable = sink, sinks, query, sink.durable

    def roll_forward(self, number: int, table: pa.Table) -> None:
        self.roll_forward_all([(number, table)])

    def roll_forward_all(self, results: Results) -> None:
        for number, rows in results:
            self._fail_in_turn()
            self.sink.roll_forward(number, rows)

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        self._fail_in_turn()
        self.sink.adopt(number, files)

    def _fail_in_turn(self) -> None:
        if self.query in self.sinks.broken:
            self.sinks.broken[self.query] -= 1
            if self.sinks.broken[self.query] <= 0:
                raise FULL

    def sync(self) -> None:
        self.sink.sync()

    def compact(self, upto: int | None = None) -> None:
        self.sink.compact(upto)

    def close(self) -> None:
        self.sinks.open.remove(self)
        self.sink.close()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    with DataDirectory(tmp_path) as directory:
        yield directory


@pytest.fixture
def sinks(directory: DataDirectory) -> OpenSinks:
    return OpenSinks(directory)


@pytest.fixture
def commits(directory: DataDirectory) -> CommitLog:
    return CommitLog(directory.commits)


def values(directory: DataDirectory, query: str) -> list[int]:
    values: list[int] = read(directory.result(query))["x"].to_pylist()
    return values


def test_everything_goes_to_its_place_once(directory: DataDirectory, commits: CommitLog, sinks: OpenSinks) -> None:
    letter = {"reason": "query q: division by zero", "arrival": 1.0, "query": "q", "offset": 7}
    descriptions = {"lines": {"sink": "jsonl"}, "called": {"sink": "callback"}, "ring": {"sink": "memory"}}
    commits.append(Commit(queries=descriptions))
    everywhere = {name: Output.inline(table(1)) for name in ("q", "lines", "called", "ring", "q#3.0")}
    commits.append(Commit(outputs=everywhere, letters={"s": [letter]}))
    commits.append(Commit(outputs={"q": aside(directory.aside, "run", table(2), table(3)), "q#3.0": Output(0)}))
    aside(directory.aside, "never-committed", table(4))
    (directory.aside / "file").touch()
    for _ in range(2):
        assert complete(directory, commits, sinks) == {}
        assert sinks.open == []
        assert (values(directory, "q"), values(directory, "lines"), sinks.called) == ([1, 2, 3], [1], [1])
        assert [path.suffix for path in directory.result("lines").glob("part*")] == [".jsonl"]
        log = StreamLog.open(directory.waiting / "q#3.0", Stream(name="q#3.0"), table().schema)
        assert log.read(0, log.end)["x"].to_pylist() == [1]
        log.close()
        assert [letter.offset for letter in DeadLetters(directory.letters("s")).letters()] == [7]
        assert list(directory.aside.iterdir()) == []


@pytest.mark.parametrize("fails_at", [0, 1, 2, 3, 4])
def test_what_a_sink_does_not_take_is_owed(
    directory: DataDirectory, commits: CommitLog, sinks: OpenSinks, fails_at: int
) -> None:
    """It fails when it is opened (0), or at one of its results; the other query is not concerned."""
    outputs = [
        Output.inline(table(1)),
        aside(directory.aside, "run-2", table(2), table(3)),
        Output.inline(table(4)),
        aside(directory.aside, "run-4", table(5)),
    ]
    for output in outputs:
        commits.append(Commit(queries={"bad": {"sink": "jsonl"}}, outputs={"bad": output}))
        commits.append(Commit(outputs={"good": Output.inline(table(9))}))
    sinks.broken = {"bad": fails_at}
    owed = complete(directory, commits, sinks)["bad"]
    assert sinks.open == []
    taken = max(0, fails_at - 1)
    assert owed.outputs == list(zip((1, 3, 5, 7), outputs, strict=True))[taken:]
    assert (owed.error, owed.description) == (FULL, {"sink": "jsonl"})
    assert values(directory, "good") == [9] * 4
    needed = {name.split("/")[0] for _, output in owed.outputs for name in output.files}
    assert {path.name for path in directory.aside.iterdir()} == needed
    sinks.broken = {}
    deliver(sinks("bad", owed.description), owed.outputs, directory.aside)
    assert values(directory, "bad") == [1, 2, 3, 4, 5]
    assert complete(directory, commits, sinks) == {}
    assert values(directory, "bad") == [1, 2, 3, 4, 5]


def test_sinks_are_those_of_their_time(directory: DataDirectory, commits: CommitLog, sinks: OpenSinks) -> None:
    """A query was removed, and another of its name has another sink."""
    for value, sink in enumerate(("jsonl", "parquet", "memory")):
        commits.append(Commit(queries={"q": {"sink": sink}}, outputs={"q": Output.inline(table(value))}))
        commits.append(Commit(queries={"q": None}))
    assert complete(directory, commits, sinks) == {}
    assert sorted(path.name for path in directory.result("q").glob("part*")) == [
        "part-000000000001-0000.jsonl",
        "part-000000000003-0000.parquet",
    ]


def test_an_earlier_result_that_a_power_cut_took_is_put_back(directory: DataDirectory, commits: CommitLog) -> None:
    for value in range(1, 4):
        commits.append(Commit(outputs={"q": Output.inline(table(value))}))
    FileSink(directory.result("q"), "parquet").roll_forward(2, table(2))
    assert complete(directory, commits, sinks_of(directory)) == {}
    assert values(directory, "q") == [1, 2, 3]
