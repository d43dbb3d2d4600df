"""Kill -9 of the server and of its Java while rows are pushed and results followed; `make serve-kill` does more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


def test_nothing_is_lost_or_doubled_by_kills(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "tests.server.kill", "--kills", "2", "--seed", "29"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    with capsys.disabled():
        print(f"\n{done.stdout}", end="")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.match(r"2 kills \(1 of Java, 1 of the server\); (\d+) rows acknowledged, (\d+) results", done.stdout)
    assert counts is not None, done.stdout
    assert int(counts[1]) > 0
    assert int(counts[2]) > int(counts[1])
