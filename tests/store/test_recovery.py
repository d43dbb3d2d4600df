from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.spark.store import filesink
from headgate.spark.store.deadletters import DeadLetters
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.filesink import FileSink
from headgate.spark.store.records import Commit, Output
from headgate.spark.store.recovery import recover
from headgate.spark.store.resultfiles import read
from headgate.spark.store.sinks import Sink, open_sink


def table(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def aside(directory: DataDirectory, run: str, *values: int) -> Output:
    (directory.aside / run).mkdir()
    names = []
    for value in values:
        names.append(f"{run}/part-{value}.parquet")
        pq.write_table(table(value), directory.aside / names[-1])
    return Output.written(directory.aside, tuple(names))


def test_committed_results_arrive_and_others_vanish(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        ledger.commit(Commit(queries={"lines": {"sink": "jsonl"}}))
        ledger.commit(Commit(1, (), {"q": {"s": 3}}, {"q": Output.inline(table(1)), "lines": Output.inline(table(9))}))
        output = aside(directory, "run-2", 2, 3)
        assert output.rows == 2
        ledger.commit(Commit(2, (), {"q": {"s": 5}}, {"q": output}))
        aside(directory, "run-3", 4)  # never committed
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        assert ledger.positions == {"q": {"s": 5}}
        assert read(directory.result("q"))["x"].to_pylist() == [1, 2, 3]
        assert read(directory.result("lines"))["x"].to_pylist() == [9]
        assert list(directory.aside.iterdir()) == []
        assert list(directory.result("lines").glob("*.jsonl"))
        ledger.checkpoint()
        assert ledger.commits.base().number == 3
    with DataDirectory(tmp_path) as directory:
        assert recover(directory).positions == {"q": {"s": 5}}


def test_committed_letters_arrive_once(tmp_path: Path) -> None:
    told = [{"reason": "query q: division by zero", "arrival": 1.0, "query": "q", "offset": 7}]
    with DataDirectory(tmp_path) as directory:
        recover(directory).commit(Commit(1, (), {"q": {"s": 8}}, letters={"s": told}))  # killed before it went forward
    for _ in range(2):
        with DataDirectory(tmp_path) as directory:
            ledger = recover(directory)
            ledger.forward()
            assert [letter.offset for letter in DeadLetters(directory.letters("s")).letters()] == [7]
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        ledger.checkpoint()
        ledger.commit(Commit(2, (), {"q": {"s": 9}}, letters={"s": told}))
        ledger.close()
        assert [letter.commit for letter in DeadLetters(directory.letters("s")).letters()] == [1, 2]


def test_letters_that_cannot_be_kept_wait_in_the_commit_log(tmp_path: Path) -> None:
    kept: list[int] = []
    full = True

    def keep(number: int, stream: str, letters: Sequence[Mapping[str, Any]]) -> None:
        if full:
            raise OSError("no space left")
        kept.append(number)

    failed: dict[str, Exception] = {}
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory, failed=failed.__setitem__, keep=keep)
        for number in range(1, 4):
            told = [{"reason": "x", "arrival": 1.0, "query": f"q{number}", "offset": number}]
            ledger.commit(Commit(number, (), {}, letters={"s": told}))
        ledger.forward()
        assert set(failed) == {"q1", "q2", "q3"}
        ledger.checkpoint()
        assert ledger.commits.base().number == 0
        full = False
        ledger.checkpoint()
        assert kept == [1, 2, 3]
        assert ledger.commits.base().number == 3


def test_several_commits_go_forward_in_one_file(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        for value in range(5):
            ledger.commit(Commit(value, outputs={"q": Output.inline(table(value))}))
        ledger.commit(Commit(6, outputs={"q": aside(directory, "run", 5, 6)}))
        ledger.commit(Commit(7, outputs={"q": Output(0)}))
        ledger.close()
        assert read(directory.result("q"))["x"].to_pylist() == list(range(7))
        assert len(list(directory.result("q").glob("*.parquet"))) == 3
        assert list(directory.aside.iterdir()) == []


def test_a_sink_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory)
        ledger.commit(Commit(1, outputs={"q": Output.inline(table(1))}))

        def fail(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(FileSink, "roll_forward_all", fail)
        with pytest.raises(OSError, match="disk full"):
            ledger.checkpoint()
        monkeypatch.undo()
        ledger.commit(Commit(2, outputs={"q": Output.inline(table(2))}))
        ledger.checkpoint()
        assert read(directory.result("q"))["x"].to_pylist() == [1, 2]


class Disk:
    """Makes the sinks of some queries fail as a full disk would, after so many files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full: dict[str, int] = {}
        self.told: list[tuple[str, str]] = []
        for name in ("_write", "_move"):
            monkeypatch.setattr(FileSink, name, self._watched(getattr(FileSink, name)))

    def _watched(self, method: Callable[..., None]) -> Callable[..., None]:
        def write(sink: FileSink, *given: object) -> None:
            query = sink.folder.name
            if query in self.full:
                if not self.full[query]:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self.full[query] -= 1
            method(sink, *given)

        return write

    def failed(self, query: str, error: Exception) -> None:
        self.told.append((query, str(error)))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


FULL = ("bad", "[Errno 28] No space left on device")


def values(directory: DataDirectory, query: str) -> list[int]:
    folder = directory.result(query)
    found: list[int] = read(folder)["x"].to_pylist() if folder.is_dir() and list(folder.glob("*-*")) else []
    return found


def test_a_sink_that_fails_holds_back_its_own_query_only(tmp_path: Path, disk: Disk) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory, failed=disk.failed)
        disk.full = {"bad": 0}
        for value in (1, 2, 3):
            output = Output.inline(table(value))
            ledger.commit(Commit(value, outputs={"bad": output, "good": output}))
            ledger.forward()
        ledger.commit(Commit(4, outputs={"good": Output.inline(table(4))}))
        ledger.checkpoint()
        assert disk.told == [FULL] * 4
        assert (values(directory, "good"), values(directory, "bad")) == ([1, 2, 3, 4], [])
        assert ledger.commits.base().number == 0  # the commits that the failing one needs are kept
        disk.full = {}
        ledger.checkpoint()
        assert (values(directory, "good"), values(directory, "bad")) == ([1, 2, 3, 4], [1, 2, 3])
        assert ledger.commits.base().number == 4
        assert disk.told == [FULL] * 4


@pytest.mark.parametrize("crash", [False, True])
def test_files_aside_wait_with_their_query(tmp_path: Path, disk: Disk, crash: bool) -> None:
    """A run of two queries whose files lie in one folder; one of the failing query's two files is in place."""
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory, failed=disk.failed)
        for value in range(filesink.FAN):
            ledger.commit(Commit(outputs={"bad": Output.inline(table(value))}))
            ledger.forward()
        disk.full = {"bad": 1}
        (directory.aside / "run").mkdir()
        names = [f"run/part-{value}.parquet" for value in (90, 91, 92)]
        for value, name in zip((90, 91, 92), names, strict=True):
            pq.write_table(table(value), directory.aside / name)
        ledger.commit(Commit(outputs={"bad": Output(2, files=tuple(names[:2])), "good": Output(1, files=(names[2],))}))
        ledger.checkpoint()
        assert disk.told == [FULL]
        assert values(directory, "good") == [92]
        if crash:
            ledger = recover(directory, failed=disk.failed)
            assert disk.told == [FULL] * 2
            ledger.checkpoint()
        ledger.commit(Commit(outputs={"bad": Output.inline(table(93))}))
        ledger.forward()
        disk.full = {}
        ledger.checkpoint()
        assert values(directory, "bad") == [*range(filesink.FAN), 90, 91, 93]
        assert list(directory.aside.iterdir()) == []


def test_a_removed_query_waits_for_its_sink(tmp_path: Path, disk: Disk) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory, failed=disk.failed)
        disk.full = {"bad": 0}
        ledger.commit(Commit(queries={"bad": {"sink": "jsonl"}}, outputs={"bad": Output.inline(table(1))}))
        ledger.commit(Commit(queries={"bad": None}))
        ledger.forward()
        assert list(ledger.sinks) == ["bad"]
        ledger = recover(directory, failed=disk.failed)
        assert list(ledger.sinks) == ["bad"]
        disk.full = {}
        ledger.close()
        assert values(directory, "bad") == [1]
        assert ledger.sinks == {}


def test_names_that_cannot_be_forced_to_disk_keep_the_commits(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DataDirectory(tmp_path) as directory:
        ledger = recover(directory, failed=disk.failed)
        ledger.commit(Commit(outputs={"bad": Output.inline(table(1))}))

        def fail(*_: object) -> None:
            raise OSError(errno.EIO, "I/O error")

        monkeypatch.setattr(FileSink, "sync", fail)
        ledger.checkpoint()
        assert disk.told == [("bad", "[Errno 5] I/O error")]
        assert ledger.commits.base().number == 0


def test_a_removed_query_leaves_its_results_in_its_own_sink(tmp_path: Path) -> None:
    for forwarded in (True, False):
        with DataDirectory(tmp_path / str(forwarded)) as directory:
            ledger = recover(directory)
            ledger.commit(Commit(queries={"q": {"sink": "jsonl"}}, outputs={"q": Output.inline(table(1))}))
            ledger.commit(Commit(queries={"q": None}))
            if forwarded:
                ledger.forward()
                assert ledger.sinks == {}
            ledger = recover(directory)
            assert (ledger.queries, ledger.positions, ledger.sinks) == ({}, {}, {})
            assert [path.suffix for path in directory.result("q").glob("part*")] == [".jsonl"]


def test_a_callback_is_called_again_when_it_is_given(tmp_path: Path) -> None:
    seen: list[int] = []
    with DataDirectory(tmp_path) as directory:

        def sink_of(query: str, told: Mapping[str, Any]) -> Sink:
            return open_sink(told["sink"], directory.result(query), lambda rows: seen.extend(rows["x"].to_pylist()))

        ledger = recover(directory, sink_of)
        ledger.commit(Commit(queries={"q": {"sink": "callback"}}, outputs={"q": Output.inline(table(1))}))
        assert recover(directory).queries == {"q": {"sink": "callback"}}  # nobody to call
        for _ in range(2):
            recover(directory, sink_of)
        assert seen == [1]
