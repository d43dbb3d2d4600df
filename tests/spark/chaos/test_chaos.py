"""The engine under faults, simulated: some seeds, in processes of their own so that each can be repeated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ALL

ROOT = Path(__file__).parents[3]
SEEDS = 20


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, 1001, 2001] if ALL else [1])
def test_nothing_is_lost_doubled_or_left_unanswered(first: int) -> None:
    command = [sys.executable, "-m", "tests.spark.chaos", "--seeds", str(SEEDS), "--first", str(first)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SEEDS} seeds" in done.stdout
