"""The command on Spark, in a process of its own: it starts and stops a session."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

pytestmark = pytest.mark.spark

HEADGATE = (sys.executable, "-c", "from headgate.cli.entry import run; run()")
ROWS = "id,change_rate,access\na,1,5\nb,2,4\nc,3,3\nd,4,2\ne,5,1\n"


def test_a_plan_on_spark(tmp_path: Path) -> None:
    pages, out = tmp_path / "pages.csv", tmp_path / "plan"
    pages.write_text(ROWS, encoding="utf-8")
    command = [*HEADGATE, "fresh", "plan", str(pages), "-b", "5", "--spark", "local[1]", "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["perceived_freshness"] == pytest.approx(0.49947, abs=1e-5)
    table = parquet.read_table(out).sort_by("id")
    assert table.column("frequency").to_pylist() == pytest.approx([1.68, 1.83, 1.49, 0, 0], abs=0.01)
    again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "is there already" in again.stderr
