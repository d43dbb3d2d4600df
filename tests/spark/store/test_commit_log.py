from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock, patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.store.builders import scratch

from headgate.model import HeadgateError
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.frame_file import FrameFile, read_frames


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
    assert [entry.outputs["q"].table()["x"].to_pylist() for _, entry in again.commits()] == [[1], [2], [3]]


def numbered(folder: Path) -> list[int]:
    """The commits that a log has when it is opened anew, each of which must be what was committed."""
    log = CommitLog(folder)
    entries = list(log.commits())
    assert [entry for _, entry in entries] == [commit(number) for number, _ in entries]
    log.close()
    return [number for number, _ in entries]


@pytest.mark.parametrize("size", [1, 2, 20])
def test_one_fsync_for_commits_that_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    log = CommitLog(tmp_path)
    fsync = Mock(wraps=os.fsync)
    monkeypatch.setattr(os, "fsync", fsync)
    numbers = log.append_all([commit(number) for number in range(1, size + 1)])
    assert fsync.call_count == 1
    assert numbers == list(range(1, size + 1)) == numbered(tmp_path)
    assert log.append_all([]) == []


class Disk:
    """Refuses the n-th operation on files from now on: a write that gets half way, a full disk, an I/O error."""

    def __init__(self, refused: int, stuck: bool) -> None:
        self.refused, self.stuck, self.failed = refused, stuck, False

    def __enter__(self) -> None:
        self._patches = [patch.object(os, name, self._watched(name)) for name in ("pwrite", "fsync", "ftruncate")]
        for replacement in self._patches:
            replacement.start()

    def __exit__(self, *_: object) -> None:
        for replacement in self._patches:
            replacement.stop()

    def _watched(self, name: str) -> Callable[..., int | None]:
        real = getattr(os, name)

        def call(descriptor: int, *given: object) -> int | None:
            self.refused -= 1
            if self.refused == 0 or (self.failed and self.stuck):
                self.failed = True
                if name == "pwrite":
                    real(descriptor, given[0][: len(given[0]) // 2], given[1])  # type: ignore[index, arg-type]
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            if name == "pwrite" and len(given[0]) > 100:  # type: ignore[arg-type]
                return int(real(descriptor, given[0][:100], given[1]))  # type: ignore[index]
            done: int | None = real(descriptor, *given)
            return done

        return call


groups = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), st.booleans()), max_size=6)


@settings(max_examples=100)
@given(groups=groups)
def test_groups_and_single_commits_count_whole_or_not_at_all(groups: list[tuple[int, int, bool]]) -> None:
    """Each group meets a disk that refuses some operation, or none; a stuck disk refuses to undo it, too."""
    with scratch() as folder:
        log = CommitLog(Path(folder))
        count = 0
        for size, refused, stuck in groups:
            commits = [commit(count + step) for step in range(1, size + 1)]
            disk = Disk(refused, stuck)
            with disk:
                try:
                    numbers = log.append_all(commits) if size != 1 else [log.append(commits[0])]
                except HeadgateError:
                    numbers = []
            assert disk.failed == (numbers == [] and size > 0)
            count += len(numbers)
            assert numbers == list(range(count - len(numbers) + 1, count + 1))
            assert log.number == count
            assert [number for number, _ in log.commits()] == list(range(1, count + 1))
            if disk.failed and stuck:
                with pytest.raises(HeadgateError, match="could not be undone"):
                    log.append(commit(count + 1))
                log.close()
                log = CommitLog(Path(folder))
                assert count <= log.number <= count + size  # nobody was told, and those that count are whole
                count = log.number
            else:
                assert numbered(Path(folder)) == list(range(1, count + 1))


def test_a_group_that_is_torn_leaves_its_whole_commits(tmp_path: Path) -> None:
    log = CommitLog(tmp_path)
    log.append(commit(1))
    before = log.size
    log.append_all([commit(number) for number in (2, 3, 4)])
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    ends = [location.start - 16 for location in FrameFile(path, point="commit.append").frames[3:]] + [len(data)]
    for end in range(before, len(data) + 1):
        path.write_bytes(data[:end])
        complete = sum(frame_end <= end for frame_end in ends)
        assert len(list(read_frames(path))) == 2 + complete  # with the state and commit 1
        assert path.stat().st_size == end
        if end % 16 == 0:
            assert numbered(tmp_path) == list(range(1, 2 + complete))


def test_compaction_keeps_the_sum_and_the_rest(tmp_path: Path) -> None:
    log = CommitLog(tmp_path)
    log.append(Commit(queries={"q": {"sql": "SELECT é", "sink": "jsonl"}, "gone": {}}, positions={"gone": {"s": 1}}))
    for number in (2, 3, 4):
        log.append(commit(number))
    log.append(Commit(queries={"gone": None}))
    state, size = log.state, log.size
    log.compact(upto=3)
    for reader in (log, CommitLog(tmp_path)):
        assert reader.state == state
        assert reader.base().number == 3
        assert "gone" in reader.base().queries
        assert "gone" not in reader.state.positions
        assert [number for number, _ in reader.commits()] == [4, 5]
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
