"""The engine as the shell starts it: three processes with a Spark each."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from tests.spark.cli.conftest import Headgate

pytestmark = pytest.mark.spark

HEADGATE = (sys.executable, "-c", "from headgate.cli.entry import run; run()")
PLANT = Path(__file__).parents[3] / "examples" / "plant.toml"
PATIENCE = 180.0  # seconds; Spark takes ten on a machine with nothing else to do


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [*HEADGATE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=cwd)


def lines(headgate: Headgate, *arguments: str | Path) -> list[dict[str, Any]]:
    result = headgate(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_finite_input_runs_to_its_end(headgate: Headgate, finite: Path, tmp_path: Path) -> None:
    done = run("run", finite, "--json", "--policy", "fcfs", "--record", "t.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "starting Spark …",
        "running finite: Ctrl-C stops it",
        "2 dead letters: headgate dead out/finite",
        "wrote t.jsonl",
        "results: headgate results out/finite QUERY",
    ]
    told = json.loads(done.stdout)
    assert told["policy"] == "fcfs"
    assert {"policy", "seconds", "runs", "spark_jobs", "classes", "queries"} <= set(told)
    assert list(told["classes"]) == ["critical", "background"]
    assert told["runs"] > 0
    assert told["spark_jobs"] > 0
    assert told["queries"]["hot"]["tuples_out"] == 11
    assert {"mean", "p50", "p95", "max"} <= set(told["queries"]["hot"]["response_time"])

    directory = tmp_path / "out" / "finite"
    hot = [row["id"] for row in lines(headgate, "results", directory, "hot")]
    assert hot == [*range(50, 60), 99]  # the late one too
    counted = list(csv.DictReader(io.StringIO(headgate("results", directory, "counted", "--csv").stdout)))
    assert [row["readings"] for row in counted] == ["10"] * 6
    letters = lines(headgate, "dead", directory, "readings")
    assert sorted("text" in letter for letter in letters) == [False, True]
    assert "late by " in headgate("dead", directory).stdout
    replayed = headgate("replay", tmp_path / "t.jsonl")
    assert replayed.exit_code == 0
    assert "all the same" in replayed.stdout


def test_the_demo_runs_for_as_long_as_asked(headgate: Headgate, tmp_path: Path) -> None:
    done = run("run", PLANT, "--for", "4s", "--json", "--dir", "data", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert 4.0 <= told["seconds"] < 15.0
    assert len(told["queries"]) == 24
    assert {query["state"] for query in told["queries"].values()} == {"running"}
    written = {row["query"]: row["rows"] for row in lines(headgate, "results", tmp_path / "data")}
    assert written == {name: query["tuples_out"] for name, query in told["queries"].items()}
    assert told["runs"] > 0


def test_a_warm_up_comes_before_the_sources_and_counts_nothing(finite: Path, tmp_path: Path) -> None:
    done = run("run", finite, "--json", "--policy", "fcfs", "--warm", "5s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[:3] == [
        "starting Spark …",
        "warming up for at most 5 s …",
        "running finite: Ctrl-C stops it",
    ]
    told = json.loads(done.stdout)
    assert told["queries"]["hot"]["tuples_out"] == 11
    assert told["queries"]["counted"]["tuples_out"] == 6


def test_ctrl_c_ends_it_in_order(headgate: Headgate, endless: Path, tmp_path: Path) -> None:
    terminal, stderr = pty.openpty()
    fcntl.ioctl(stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    command = [*HEADGATE, "run", str(endless), "--dir", "data"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment["TERM"] = "xterm"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True, cwd=tmp_path
    ) as process:
        os.close(stderr)
        said = _read(terminal, until="running now: ")
        _wait_for_results(headgate, tmp_path / "data")
        second = headgate("run", endless, "--dir", tmp_path / "data")
        process.send_signal(signal.SIGINT)
        said += _read(terminal)
        stdout = process.communicate(timeout=PATIENCE)[0]
    os.close(terminal)
    assert process.returncode == 130
    assert "Traceback" not in said + stdout
    assert "WARN" not in said
    assert "wait s" in said
    last = said.strip().splitlines()[-1]
    assert re.search(r"headgate: interrupted; .*results(?: so far)?: headgate results data QUERY$", last)
    assert stdout.startswith("endless: ")
    assert "critical" in stdout
    assert second.exit_code == 2
    assert f"the data directory is in use by process {process.pid}" in second.stderr


def _wait_for_results(headgate: Headgate, directory: Path) -> None:
    """Read results while the engine has the directory."""
    end = time.monotonic() + PATIENCE
    while not lines(headgate, "results", directory, "hot"):
        assert time.monotonic() < end
        time.sleep(0.2)


def _read(terminal: int, until: str | None = None) -> str:
    said, end = "", time.monotonic() + PATIENCE
    while time.monotonic() < end and (until is None or until not in said):
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            said += part.decode(errors="replace")
    return said
