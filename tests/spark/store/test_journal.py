from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.journal import LONGEST_REASON, Entry, Journal, read_journal

STATES = st.sampled_from(["checking", "scheduled", "running", "paused", "suspended"])
ENTRIES = st.builds(
    Entry, at=st.floats(0, 2e9), query=st.text(max_size=8), before=STATES, after=STATES, reason=st.text(max_size=40)
)
WRITER = """
import sys
from pathlib import Path
from headgate.spark.store.journal import Entry, Journal
journal = Journal(Path(sys.argv[1]), limit=500)
for number in range(3000):
    journal.write([Entry(float(number), "q", "running", "scheduled")])
"""


def numbered(first: int, last: int) -> list[Entry]:
    return [Entry(float(number), f"q{number % 3}", "running", "scheduled", "it ended") for number in range(first, last)]


@contextmanager
def emptied() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "journal").mkdir()
        yield Path(directory)


def sizes(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (directory / "journal").iterdir()}


@given(st.lists(st.lists(ENTRIES, max_size=5), max_size=12), st.integers(500, 3000))
def test_the_newest_lines_are_kept_as_they_were_within_bounds(batches: list[list[Entry]], limit: int) -> None:
    with emptied() as directory:
        written: list[Entry] = []
        for batch in batches:
            Journal(directory / "journal", limit).write(batch)  # as after a restart
            written += batch
            entries = read_journal(directory)
            assert entries == written[len(written) - len(entries) :]
            assert bool(entries) == bool(written)
            assert max(sizes(directory).values(), default=0) <= limit
            if "former.jsonl" not in sizes(directory):
                assert entries == written


@given(st.lists(ENTRIES, min_size=1, max_size=5), st.data(), st.binary(max_size=20))
def test_a_line_that_a_crash_has_cut_off_spoils_no_other(
    entries: list[Entry], data: st.DataObject, left: bytes
) -> None:
    with emptied() as directory:
        Journal(directory / "journal").write(entries)
        file = directory / "journal" / "current.jsonl"
        whole = file.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        file.write_bytes(whole[:cut] + left.replace(b"}", b""))  # blocks of the disk that were not written
        ended = [number for number in range(len(entries)) if len(b"\n".join(whole.split(b"\n")[: number + 1])) <= cut]
        kept = read_journal(directory)
        assert kept in (entries[: len(ended)], entries[: max(0, len(ended) - 1)])  # what is left may spoil the last
        Journal(directory / "journal").write(entries)
        assert read_journal(directory) == [*kept, *entries]


def test_one_query_and_the_newest(tmp_path: Path) -> None:
    with DataDirectory(tmp_path) as directory:
        Journal(directory.journal).write(numbered(0, 9))
    assert [entry.at for entry in read_journal(tmp_path, "q1")] == [1.0, 4.0, 7.0]
    assert [entry.at for entry in read_journal(tmp_path, "q1", last=2)] == [4.0, 7.0]
    assert [entry.at for entry in read_journal(tmp_path, last=1)] == [8.0]
    assert read_journal(tmp_path, last=0) == read_journal(tmp_path, "none") == []


def test_a_directory_without_a_journal_is_opened_and_gets_one(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    (tmp_path / "journal").rmdir()
    with DataDirectory(tmp_path) as directory:
        assert read_journal(tmp_path) == []
        Journal(directory.journal).write(numbered(0, 2))
    assert read_journal(tmp_path) == numbered(0, 2)


def test_a_new_directory_may_hold_the_log_of_the_spark_that_started_before_it(tmp_path: Path) -> None:
    for name in ("spark.log", "spark.log.1"):
        (tmp_path / name).touch()
    with DataDirectory(tmp_path) as directory:
        assert directory.spark_log.exists()


def test_a_long_reason_is_cut(tmp_path: Path) -> None:
    Journal(tmp_path / "journal").write([Entry(0.0, "q", "running", "suspended", "x" * 10_000)])
    assert len(read_journal(tmp_path)[0].reason) == LONGEST_REASON


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, 50, 150])
def test_a_disk_that_becomes_full_in_the_middle_of_a_write(
    tmp_path: Path, room: int, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path / "journal")
    journal.write(numbered(0, 2))
    size = sizes(tmp_path)["current.jsonl"]
    with files_of_at_most(size + room):
        journal.write(numbered(2, 5))
        journal.write(numbered(5, 6))
    assert journal.lost == (3 if room == 150 else 4)  # the last line has room in 150 bytes
    journal.write(numbered(6, 8))
    entries = [entry.at for entry in read_journal(tmp_path)]
    assert entries[:2] + entries[-2:] == [0.0, 1.0, 6.0, 7.0]
    assert len(entries) + journal.lost == 8
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert "journal not written" in messages[0]
    assert "lost=3" in messages[0]


def test_a_folder_that_is_gone_raises_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "none" / "journal")
    journal.write(numbered(0, 3))
    assert journal.lost == 3
    assert read_journal(tmp_path / "none") == []


@pytest.mark.slow
def test_is_read_without_gaps_while_another_process_writes_it(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    newest = -1.0
    with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)]) as writer:
        while writer.poll() is None:
            entries = [entry.at for entry in read_journal(tmp_path)]
            if entries:
                assert entries == [entries[0] + number for number in range(len(entries))]
                assert entries[-1] >= newest
                newest = entries[-1]
    assert writer.returncode == 0
    assert read_journal(tmp_path)[-1].at == 2999
