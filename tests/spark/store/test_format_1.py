"""Data directories of format 1 can be opened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.store import format_1

from headgate.spark.store.directory import VERSION
from headgate.spark.store.log.stream_log import StreamLog

ROOT = Path(__file__).parents[3]


def test_a_directory_of_format_1_is_taken_over_once(tmp_path: Path) -> None:
    directory = format_1.unpacked(tmp_path)
    assert format_1.format_of(directory) == 1
    for _ in range(2):
        assert format_1.wrong(directory) == []
        assert format_1.format_of(directory) == VERSION  # which a Headgate that knows format 1 alone refuses


def test_its_letters_replay_and_its_segments_go_on(tmp_path: Path) -> None:
    """What was late then is late now: it gets an offset and a mark, behind rows of both formats."""
    directory = format_1.unpacked(tmp_path)
    rows = [*((number, False) for number in format_1.IN_TIME), *((number, True) for number in format_1.LATE)]
    assert format_1.replayed(directory) == rows
    assert format_1.replayed(directory) == rows  # letters of tuples in the stream stay where they are
    log = StreamLog.reopen(directory / "streams" / "s")
    for _ in range(2):
        assert (log.late(0, log.end), log.late(0, 18), log.late(19, 21)) == (4, 0, 2)
        assert log.read_window(0, log.end, 0, 1 << 60)["id"].to_pylist() == format_1.IN_TIME
        log.seal()


@pytest.mark.slow
def test_a_kill_at_every_point_of_taking_over() -> None:
    """In a process of its own: it forks."""
    command = [sys.executable, "-W", "error", "-m", "tests.spark.store.format_1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
