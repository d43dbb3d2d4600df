"""Kill -9 while Spark runs: nothing lost, nothing doubled. `make kill` does the same two hundred times."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]


def test_a_killed_engine_goes_on_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.spark.execution.kill", "--kills", "2", "--seed", "3"]
    environment = {**os.environ, "HEADGATE_KILL_FEW": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    with capsys.disabled():
        print(f"\n{done.stdout}", end="")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.match(r"(\d+) kills, \d+ of them at named points; 4 queries, (\d+) tuples", done.stdout)
    assert counts is not None
    assert int(counts[1]) == 2
    assert int(counts[2]) > 0
