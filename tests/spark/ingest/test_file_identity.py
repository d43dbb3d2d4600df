"""A file that was changed is told from one that was put in its place."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.spark.ingest.feed import A_TICK, Feed, append, feed, few, place, text

from headgate.spark.ingest import file_identity
from headgate.spark.ingest.file_identity import identity
from headgate.spark.ingest.sources import directory
from headgate.spark.ingest.sources.directory import Contents

__all__ = ["feed", "few"]


@pytest.fixture(scope="module", autouse=True)
def running() -> None:
    """Nothing here needs Spark."""


def test_a_file_that_replaces_another_with_its_size_and_time_is_a_new_batch(feed: Feed) -> None:
    file = feed.folder / "a.jsonl"
    for number in (1, 2):
        (feed.folder / ".next").write_text(text(number))
        os.utime(feed.folder / ".next", (1e9, 1e9))
        (feed.folder / ".next").replace(file)
        assert feed.look() == [number]
    time.sleep(A_TICK)
    file.write_text(text(3))
    os.utime(file, (1e9, 1e9))
    assert feed.look() == []
    assert feed.says_changed("a.jsonl")


def test_a_file_that_takes_over_an_inode_is_told_by_its_time_of_birth(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems give a new file the inode that was freed last."""
    monkeypatch.setattr(directory, "identity", lambda descriptor: (0, 0, identity(descriptor)[2]))
    file = feed.folder / "a.jsonl"
    place(file, text(1))
    if not born(file):
        pytest.skip("no times of birth here")
    assert feed.look() == [1]
    for number in (2, 3):
        time.sleep(A_TICK)
        place(file, text(number))
        assert feed.look() == [number]
    append(file, 4)
    assert feed.look() == []
    assert feed.says_changed("a.jsonl")


def test_without_times_of_birth_a_replaced_file_is_told_by_its_inode(
    feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_identity, "_statx", None)
    place(feed.folder / "a.jsonl", text(1))
    assert feed.look() == [1]
    place(feed.folder / "a.jsonl", text(2))
    assert feed.look() == [2]
    append(feed.folder / "a.jsonl", 3)
    assert feed.look() == []
    assert feed.says_changed("a.jsonl")


def which(file: Path) -> file_identity.Identity:
    with file.open("rb") as opened:
        return identity(opened.fileno())


def born(file: Path) -> int:
    """The second in which a file was made, or 0 where nobody can tell."""
    told = subprocess.run(["stat", "-c", "%W", file], capture_output=True, text=True, check=False).stdout.strip()
    return int(told) if told.isdecimal() else 0


def test_an_identity_stays_while_a_file_is_written_renamed_and_linked(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("x")
    first = which(file)
    assert first[2] // 1_000_000_000 == born(file)
    time.sleep(A_TICK)
    append(file, 1)
    os.utime(file, (1, 1))
    os.link(file, tmp_path / "b")
    file.rename(tmp_path / "c")
    assert which(tmp_path / "b") == which(tmp_path / "c") == first
    file.write_text("x")
    assert which(file) != first


@given(before=st.binary(max_size=6), after=st.binary(max_size=6))
@example(before=b"", after=b"x")
@example(before=b"x", after=b"x")
def test_contents_begin_longer_ones(before: bytes, after: bytes) -> None:
    for data in (after, before + after):
        begins = data.startswith(before) and 0 < len(before) < len(data)
        assert Contents.of(before).begin(data) == begins
