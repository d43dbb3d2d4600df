"""Delivery and recovery together: a committed result arrives once, and a failing sink holds up only its own query."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.sinks.delivering import Store
from tests.spark.store.steps import aside, table

from headgate.model import HeadgateError
from headgate.spark.machine.tasks import FILES, CloseSink, Deliver
from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.result_files import read
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.dead_letters import DeadLetters
from headgate.spark.store.directory import DataDirectory

FULL = os.strerror(errno.ENOSPC)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    with DataDirectory(tmp_path) as directory:
        yield directory


class Disk:
    """Makes the sinks of some queries fail as a full disk would, after so many files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full: dict[str, int] = {}
        for name in ("_write", "_move"):
            monkeypatch.setattr(FileSink, name, self._watched(getattr(FileSink, name)))

    def _watched(self, method: Callable[..., None]) -> Callable[..., None]:
        def write(sink: FileSink, *given: object) -> None:
            query = sink.folder.name
            if query in self.full:
                if not self.full[query]:
                    raise OSError(errno.ENOSPC, FULL)
                self.full[query] -= 1
            method(sink, *given)

        return write


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def fail(*_: object) -> None:
    raise OSError(errno.EIO, "I/O error")


def inline(*values: int) -> Output:
    return Output.inline(table(*values))


def values(directory: DataDirectory, query: str) -> list[int]:
    folder = directory.result(query)
    values: list[int] = read(folder)["x"].to_pylist() if folder.is_dir() and list(folder.glob("*-*")) else []
    return values


def letters(directory: DataDirectory) -> list[int]:
    return [letter.commit for letter in DeadLetters(directory.letters("s")).letters()]


def test_committed_results_arrive_and_others_vanish(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        store = Store(directory)
        store.commit(Commit(queries={"lines": {"sink": "jsonl"}}))
        store.commit(Commit(1, (), {"q": {"s": 3}}, {"q": inline(1), "lines": inline(9)}))
        store.commit(Commit(2, (), {"q": {"s": 5}}, {"q": aside(directory.aside, "run-2", table(2), table(3))}))
        aside(directory.aside, "run-3", table(4))  # never committed
    with DataDirectory(tmp_path) as directory:
        store = Store(directory)
        assert store.positions == {"q": {"s": 5}}
        assert (values(directory, "q"), values(directory, "lines")) == ([1, 2, 3], [9])
        assert list(directory.aside.iterdir()) == []
        assert list(directory.result("lines").glob("*.jsonl"))
        store.tidy()
        assert store.commits.base().number == 3
    with DataDirectory(tmp_path) as directory:
        assert Store(directory).positions == {"q": {"s": 5}}


def test_committed_letters_arrive_once(tmp_path: Path) -> None:
    failures = [{"reason": "query q: division by zero", "arrival": 1.0, "query": "q", "offset": 7}]
    with DataDirectory(tmp_path) as directory:
        # Killed before the letters were delivered.
        Store(directory).commit(Commit(1, (), {"q": {"s": 8}}, letters={"s": failures}))
    for _ in range(2):
        with DataDirectory(tmp_path) as directory:
            assert Store(directory).deliver() == {}
            assert letters(directory) == [1]
    with DataDirectory(tmp_path) as directory:
        store = Store(directory)
        store.tidy()
        store.commit(Commit(2, (), {"q": {"s": 9}}, letters={"s": failures}))
        store.close()
        assert letters(directory) == [1, 2]


def test_letters_that_cannot_be_kept_wait_in_the_commit_log(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(directory)
    for number in range(1, 4):
        failures = [{"reason": "x", "arrival": 1.0, "query": f"q{number}", "offset": number}]
        store.commit(Commit(number, letters={"s": failures}))
    with monkeypatch.context() as failing:
        failing.setattr(DeadLetters, "keep_committed", fail)
        assert list(store.deliver()) == ["s"]
        store.tidy()
    assert (store.commits.base().number, letters(directory)) == (0, [])
    assert store.deliver() == {}
    store.tidy()
    assert (store.commits.base().number, letters(directory)) == (3, [1, 2, 3])


def test_several_commits_are_delivered_in_one_file(directory: DataDirectory) -> None:
    store = Store(directory)
    for value in range(5):
        store.commit(Commit(value, outputs={"q": inline(value)}))
    store.commit(Commit(6, outputs={"q": aside(directory.aside, "run", table(5), table(6))}))
    store.commit(Commit(7, outputs={"q": Output(0)}))
    store.close()
    assert values(directory, "q") == list(range(7))
    assert len(list(directory.result("q").glob("*.parquet"))) == 3
    assert list(directory.aside.iterdir()) == []


def test_a_sink_that_fails_holds_back_its_own_query_only(directory: DataDirectory, disk: Disk) -> None:
    store = Store(directory)
    disk.full = {"bad": 0}
    for value in (1, 2, 3):
        store.commit(Commit(value, outputs={"bad": inline(value), "good": inline(value)}))
        errors = store.deliver()
        assert list(errors) == ["bad"]
        assert FULL in str(errors["bad"])
    store.commit(Commit(4, outputs={"good": inline(4)}))
    assert list(store.deliver()) == ["bad"]
    store.tidy()
    assert (values(directory, "good"), values(directory, "bad")) == ([1, 2, 3, 4], [])
    assert store.commits.base().number == 0  # the commits that the failing one needs are kept
    disk.full = {}
    assert store.deliver() == {}
    store.tidy()
    assert (values(directory, "good"), values(directory, "bad")) == ([1, 2, 3, 4], [1, 2, 3])
    assert store.commits.base().number == 4


@pytest.mark.parametrize("crash", [False, True])
def test_files_aside_wait_with_their_query(directory: DataDirectory, disk: Disk, crash: bool) -> None:
    """A run of two queries whose files lie in one folder; one of the failing query's two files is in place."""
    store = Store(directory)
    for value in range(file_sinks.FAN):
        store.commit(Commit(outputs={"bad": inline(value)}))
        store.deliver()
    disk.full = {"bad": 1}
    names = aside(directory.aside, "run", table(90), table(91), table(92)).files
    store.commit(Commit(outputs={"bad": Output(2, files=names[:2]), "good": Output(1, files=names[2:])}))
    assert list(store.deliver()) == ["bad"]
    store.tidy()
    assert values(directory, "good") == [92]
    if crash:
        store = Store(directory)
        assert FULL in str(store.owed["bad"].error)
        assert list(store.deliver()) == ["bad"]
        store.tidy()
    store.commit(Commit(outputs={"bad": inline(93)}))
    store.deliver()
    disk.full = {}
    assert store.deliver() == {}
    store.tidy()
    assert values(directory, "bad") == [*range(file_sinks.FAN), 90, 91, 93]
    assert list(directory.aside.iterdir()) == []


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_folder_aside_goes_with_the_last_query_that_has_files_there(directory: DataDirectory, kind: str) -> None:
    store = Store(directory)
    names = aside(directory.aside, "run", table(1), table(2)).files
    store.sinks.deliver(Deliver(1, "a", kind, [(1, Output(1, files=names[:1]))]))
    assert pq.read_table(directory.aside / names[1]).num_rows == 1
    store.sinks.deliver(Deliver(2, "b", kind, [(1, Output(1, files=names[1:]))]))
    assert list(directory.aside.iterdir()) == []
    assert (values(directory, "a"), values(directory, "b")) == ([1], [2])


@pytest.mark.parametrize("crash", [False, True])
def test_a_removed_query_waits_for_its_sink(directory: DataDirectory, disk: Disk, crash: bool) -> None:
    store = Store(directory)
    disk.full = {"bad": 0}
    store.commit(Commit(queries={"bad": {"sink": "jsonl"}}, outputs={"bad": inline(1)}))
    store.commit(Commit(queries={"bad": None}))
    store.deliver()
    if crash:
        store = Store(directory)
    store.tidy()
    assert store.commits.base().number == 0
    disk.full = {}
    assert store.deliver() == {}
    assert (values(directory, "bad"), store.sinks.files, store.outboxes) == ([1], {}, [])
    store.tidy()
    assert store.commits.base().number == 2


@pytest.mark.parametrize("delivered", [True, False])
def test_a_removed_query_leaves_its_results_in_its_own_sink(directory: DataDirectory, delivered: bool) -> None:
    store = Store(directory)
    store.commit(Commit(queries={"q": {"sink": "jsonl"}}, outputs={"q": inline(1)}))
    store.commit(Commit(queries={"q": None}))
    if delivered:
        store.deliver()
        assert store.sinks.files == {}
    store = Store(directory)
    assert (store.commits.state.queries, store.positions, store.outboxes) == ({}, {}, [])
    assert [path.suffix for path in directory.result("q").glob("part*")] == [".jsonl"]


@pytest.mark.parametrize("method", ["sync", "compact"])
def test_a_sink_that_cannot_be_tidied_keeps_the_commits_and_the_others_have_their_turn(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    store = Store(directory)
    synced: list[str] = []
    store.commit(Commit(outputs={"bad": inline(1), "good": inline(1)}))
    store.deliver()
    with monkeypatch.context() as failing:
        failing.setattr(FileSink, "sync", lambda sink: synced.append(sink.folder.name))
        failing.setattr(store.sinks.files["bad"], method, fail)
        with pytest.raises(OSError, match="I/O error"):
            store.tidy()
    assert ("good" in synced, store.commits.base().number) == (True, 0)
    store.tidy()
    assert store.commits.base().number == 1


def test_a_sink_that_is_let_go_is_on_disk_before_commits_are_forgotten(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(directory)
    store.commit(Commit(queries={"q": {"sink": "jsonl"}}, outputs={"q": inline(1)}))
    store.commit(Commit(queries={"q": None}))
    with monkeypatch.context() as failing:
        failing.setattr(FileSink, "sync", fail)
        assert list(store.deliver()) == ["q"]
        with pytest.raises(OSError, match="I/O error"):
            store.tidy()
    assert store.commits.base().number == 0
    store.tidy()
    assert store.commits.base().number == 2


def test_recovery_that_cannot_force_names_to_disk_is_refused(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(directory).commit(Commit(outputs={"q": inline(1)}))
    with monkeypatch.context() as failing:
        failing.setattr(file_sinks, "sync_folder", fail)
        with pytest.raises(HeadgateError, match=r"results.q: cannot write: I/O error"):
            Store(directory)
    Store(directory).tidy()
    assert values(directory, "q") == [1]


def test_files_stay_open_when_another_sink_of_that_query_is_let_go(directory: DataDirectory) -> None:
    """A former query of this name had a callback, which never got a result."""
    store = Store(directory)
    store.commit(Commit(outputs={"q": inline(1)}))
    store.deliver()
    store.sinks.close_sink(CloseSink(99, "q", "callback 99"))
    assert list(store.sinks.files) == ["q"]
    store.sinks.close_sink(CloseSink(99, "q", FILES))
    assert store.sinks.files == {}


def test_a_callback_is_called_again_when_it_is_given(directory: DataDirectory) -> None:
    seen: list[int] = []

    def call(rows: pa.Table) -> None:
        seen.extend(rows["x"].to_pylist())

    Store(directory).commit(Commit(queries={"q": {"sink": "callback"}}, outputs={"q": inline(1)}))
    assert Store(directory).owed == {}  # nobody to call
    for _ in range(2):
        store = Store(directory, {"q": call})
        store.outboxes[0].waiting = [(number, commit.outputs["q"]) for number, commit in store.commits.commits()]
        assert store.deliver() == {}
        assert seen == [1]


def test_a_folder_that_somebody_removed_is_made_anew(directory: DataDirectory) -> None:
    store = Store(directory)
    store.commit(Commit(outputs={"q": inline(1)}))
    store.deliver()
    shutil.rmtree(directory.result("q"))
    store.commit(Commit(outputs={"q": inline(2)}))
    store.deliver()
    store.deliver()
    assert len(list(directory.result("q").glob("part*"))) == 1
    store.tidy()
    assert store.commits.base().number == 2


def test_files_are_synced_also_if_a_later_delivery_failed(directory: DataDirectory, disk: Disk) -> None:
    """The commit log may forget only what is on disk: a sink that is let go must not be missed by `maintain`."""
    store = Store(directory)
    store.commit(Commit(outputs={"q": inline(1)}))
    store.deliver()
    disk.full = {"q": 0}
    store.commit(Commit(outputs={"q": inline(2)}))
    assert list(store.deliver()) == ["q"]
    assert "q" in store.sinks.files
