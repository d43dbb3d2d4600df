"""Data directories of format 2 get a catalog when they are opened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.store import format_2
from tests.spark.store.format_1 import format_of, taken_over

from headgate.model import HeadgateError
from headgate.spark.store import directory as directories
from headgate.spark.store.directory import DataDirectory
from headgate.spark.workload_changes import stored_state

ROOT = Path(__file__).parents[3]


def test_its_catalog_is_known_before_it_is_taken_over(tmp_path: Path) -> None:
    directory = format_2.unpacked(tmp_path)
    state = stored_state(directory)
    assert (state.catalog, set(state.queries)) == (format_2.CATALOG, format_2.QUERIES)
    assert format_of(directory) == 2  # looking changes nothing


def test_a_headgate_that_knows_format_2_alone_refuses_newer_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = format_2.unpacked(tmp_path)
    taken_over(directory)
    monkeypatch.setattr(directories, "VERSION", 2)
    monkeypatch.setattr(directories, "FORMER", (1,))
    with pytest.raises(HeadgateError, match="has format 4, this Headgate reads formats 1, 2; open it with the Headg"):
        DataDirectory(directory)


@pytest.mark.slow
def test_a_kill_at_every_point_of_taking_over() -> None:
    """In a process of its own: it forks."""
    command = [sys.executable, "-W", "error", "-m", "tests.spark.store.format_2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
