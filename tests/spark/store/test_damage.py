"""Bytes that are cut or changed give a correct prefix or a refusal that names the file, never wrong rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.store.builders import ids, opened, rows, scratch

from headgate.model import HeadgateError
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.frame_file import FrameFile

BATCHES = 4  # of three rows; one more at the front is sealed


@pytest.fixture(scope="module")
def log_folder() -> Iterator[Path]:
    with scratch() as folder:
        log = opened(Path(folder), seal_rows=3)
        log.append(rows([1, 2, 3]), 0.0)
        log._seal_rows = 1000
        log.seal()
        for batch in range(1, BATCHES + 1):
            log.append(rows([10, 11, 12], 3 * batch), float(batch), str(batch))
        yield Path(folder)


@pytest.fixture(scope="module")
def commit_folder() -> Iterator[Path]:
    with scratch() as folder:
        log = CommitLog(Path(folder))
        for number in range(1, BATCHES + 1):
            output = Output.inline(rows([number] * 3))
            log.append(Commit(number, ("u",), {"q": {"s": 10 * number}}, {"q": output}))
        yield Path(folder)


changes = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=3)


def flipped(data: bytes, first: int, changes: list[tuple[float, int]]) -> bytes:
    changed = bytearray(data)
    for share, by in changes:
        changed[first + int(share * (len(data) - first))] ^= by
    return bytes(changed)


def copied(folder: Path, target: str, pattern: str) -> Path:
    shutil.copytree(folder, target, dirs_exist_ok=True)
    (file,) = Path(target).rglob(pattern)
    return file


@settings(max_examples=200)
@given(cut=st.floats(0, 1))
def test_a_cut_log_gives_whole_appends(log_folder: Path, cut: float) -> None:
    with scratch() as target:
        file = copied(log_folder, target, "*.tail")
        data = file.read_bytes()
        file.write_bytes(data[: round(cut * len(data))])
        log = opened(Path(target))
        assert log.end % 3 == 0
        assert ids(log.read(0, log.end)) == list(range(log.end))
        assert log.append(rows([50], log.end), 9.0).first == log.end - 1  # what was torn is gone for good
        assert ids(opened(Path(target)).read(0, log.end)) == list(range(log.end))


@settings(max_examples=300)
@given(changes=changes, newest=st.booleans(), sealed=st.booleans())
def test_changed_bytes_of_a_log_are_refused(
    log_folder: Path, changes: list[tuple[float, int]], newest: bool, sealed: bool
) -> None:
    with scratch() as target:
        file = copied(log_folder, target, "*.parquet" if sealed else "*.tail")
        before = file.read_bytes()
        first = 0
        if newest and not sealed:
            first = FrameFile(file, point="log.append").frames[-1].start - 16
        after = flipped(before, first, changes)
        file.write_bytes(after)
        if after == before:
            assert opened(Path(target)).end == 3 + 3 * BATCHES
        else:
            with pytest.raises(HeadgateError, match=rf"{file.name}: .*damaged"):
                opened(Path(target))


@settings(max_examples=150)
@given(cut=st.floats(0, 1))
def test_a_cut_commit_log_gives_whole_commits(commit_folder: Path, cut: float) -> None:
    with scratch() as target:
        file = copied(commit_folder, target, "*.log")
        data = file.read_bytes()
        first_end = FrameFile(file, point="commit.append").frames[1].start - 16
        file.write_bytes(data[: round(cut * len(data))])
        if round(cut * len(data)) < first_end:  # the first record came with the file
            with pytest.raises(HeadgateError, match=rf"{file.name}: the first record is missing"):
                CommitLog(Path(target))
            return
        log = CommitLog(Path(target))
        assert [number for number, _ in log.commits()] == list(range(1, log.number + 1))
        assert log.state.positions == ({"q": {"s": 10 * log.number}} if log.number else {})
        assert log.append(Commit()) == log.number


@settings(max_examples=150)
@given(changes=changes)
def test_changed_bytes_of_a_commit_log_are_refused(commit_folder: Path, changes: list[tuple[float, int]]) -> None:
    with scratch() as target:
        file = copied(commit_folder, target, "*.log")
        before = file.read_bytes()
        after = flipped(before, 0, changes)
        file.write_bytes(after)
        if after != before:
            with pytest.raises(HeadgateError, match=rf"{file.name}: the record at byte \d+ is damaged"):
                CommitLog(Path(target))


def test_zeros_at_the_end_are_what_a_power_cut_leaves(log_folder: Path) -> None:
    for keep in (0, 5, 40):
        with scratch() as target:
            file = copied(log_folder, target, "*.tail")
            data = file.read_bytes()
            newest = FrameFile(file, point="log.append").frames[-1].start - 16
            file.write_bytes(data[: newest + keep].ljust(len(data), b"\0"))
            if keep == 5:  # a header half of zeros is no header
                with pytest.raises(HeadgateError, match="damaged"):
                    opened(Path(target))
            else:
                assert opened(Path(target)).end == 3 * BATCHES


@pytest.mark.parametrize("pattern", ["*.tail", "*.parquet", "dropped.json"])
def test_a_missing_file_is_a_hole(log_folder: Path, pattern: str) -> None:
    with scratch() as target:
        shutil.copytree(log_folder, target, dirs_exist_ok=True)
        log = opened(Path(target))
        log.append(rows([20], 15), 5.0)
        log.seal()
        log.append(rows([20], 16), 5.0)
        log.drop_before(3)
        (file,) = Path(target).rglob(pattern)
        file.unlink()
        with pytest.raises(HeadgateError, match=r"missing|hole"):
            opened(Path(target))


def test_a_sealed_file_damaged_while_open_is_refused(log_folder: Path) -> None:
    with scratch() as target:
        file = copied(log_folder, target, "*.parquet")
        log = opened(Path(target), memory_budget=0)
        data = bytearray(file.read_bytes())
        data[10] ^= 1
        file.write_bytes(data)
        with pytest.raises(HeadgateError, match=rf"{file.name}.*damaged"):
            log.read(0, 3)
