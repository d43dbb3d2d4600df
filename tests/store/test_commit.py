from __future__ import annotations

import os
import threading
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest

from headgate.spark.store.commit import CommitLog
from headgate.spark.store.records import Commit, Output


def commit(number: int) -> Commit:
    output = Output.inline(pa.table({"x": [number]}))
    return Commit(number, ("unit",), {"q": {"s": number}, f"p{number % 2}": {"t": number}}, {"q": output})


def test_commits_come_back(tmp_path: Path) -> None:
    log = CommitLog(tmp_path)
    assert [log.append(commit(number)) for number in (1, 2, 3)] == [1, 2, 3]
    again = CommitLog(tmp_path)
    assert again.state == log.state
    assert again.state.positions == {"q": {"s": 3}, "p0": {"t": 2}, "p1": {"t": 3}}
    assert list(again.commits()) == [(number, commit(number)) for number in (1, 2, 3)]
    assert [found.outputs["q"].table()["x"].to_pylist() for _, found in again.commits()] == [[1], [2], [3]]


def test_one_fsync_per_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = CommitLog(tmp_path)
    fsync = Mock(wraps=os.fsync)
    monkeypatch.setattr(os, "fsync", fsync)
    log.append(commit(1))
    assert fsync.call_count == 1


def test_compaction_keeps_the_sum_and_the_rest(tmp_path: Path) -> None:
    log = CommitLog(tmp_path)
    log.append(Commit(queries={"q": {"sql": "SELECT é", "sink": "jsonl"}, "gone": {}}, positions={"gone": {"s": 1}}))
    for number in (2, 3, 4):
        log.append(commit(number))
    log.append(Commit(queries={"gone": None}))
    state, size = log.state, log.size
    log.compact(upto=3)
    for each in (log, CommitLog(tmp_path)):
        assert each.state == state
        assert each.base().number == 3
        assert "gone" in each.base().queries
        assert "gone" not in each.state.positions
        assert [number for number, _ in each.commits()] == [4, 5]
    log.compact()
    assert (log.size < size, list(log.commits()), log.append(commit(6))) == (True, [], 6)
    log.compact(upto=2)  # further back than it is already
    assert [number for number, _ in CommitLog(tmp_path).commits()] == [6]
    assert len(list(tmp_path.iterdir())) == 1


def test_several_threads_commit(tmp_path: Path) -> None:
    log = CommitLog(tmp_path)
    numbers: list[int] = []

    def work() -> None:
        for _ in range(50):
            numbers.append(log.append(commit(1)))
            log.compact(upto=numbers[-1] - 5)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 151))
    assert CommitLog(tmp_path).number == 150
