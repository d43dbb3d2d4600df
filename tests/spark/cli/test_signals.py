"""Signals while Spark starts, and twice while a run ends: one line, the shell's exit code, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HEADGATE = (sys.executable, "-c", "from headgate.cli.entry import run; run()")
PATIENCE = 180.0  # seconds; Spark takes ten on a machine with nothing else to do


@contextmanager
def running(file: Path, folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a workload with temporary files in a folder of their own; also gives a mark of all its processes."""
    mark = f"HEADGATE_TEST={uuid.uuid4()}"
    (folder / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), **dict([mark.split("=")])}
    command = [*HEADGATE, "run", str(file), "--dir", "data", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
    ) as process:
        try:
            yield process, mark
        finally:
            process.kill()


def processes(mark: str) -> dict[int, str]:
    """The programs of all processes whose environment has a mark."""
    found = {}
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "comm").read_text(encoding="utf-8").strip()
        except OSError:  # it has ended
            continue
    return found


def wait_for_java(mark: str) -> None:
    """Wait until Spark's Java is there; before it, PySpark's script starts one that ends soon."""
    end = time.monotonic() + PATIENCE
    while "java" not in processes(mark).values():
        assert time.monotonic() < end
        time.sleep(0.05)


def read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            break
    return said


def test_a_signal_while_spark_starts_leaves_nothing_behind(endless: Path, tmp_path: Path) -> None:
    with running(endless, tmp_path) as (process, mark):
        assert read_until(process, "starting Spark") == "starting Spark …\n"
        wait_for_java(mark)
        process.terminate()
        stdout, stderr = process.communicate(timeout=PATIENCE)
        assert (process.returncode, stdout, stderr) == (143, "", "headgate: interrupted\n")
        assert processes(mark) == {}
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_signal_while_spark_warms_up_leaves_nothing_behind(endless: Path, tmp_path: Path) -> None:
    with running(endless, tmp_path, "--warm", "60 s") as (process, mark):
        read_until(process, "warming up")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE)
        assert (process.returncode, stdout, stderr) == (130, "", "headgate: interrupted\n")
        assert processes(mark) == {}
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_second_signal_ends_it_at_once(endless: Path, tmp_path: Path) -> None:
    with running(endless, tmp_path) as (process, mark):
        read_until(process, "Ctrl-C stops it")
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)  # two at the same time would count as one
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 130
        assert [line for line in stderr.splitlines() if not line.startswith("ending: ")] == ["headgate: interrupted"]
        assert processes(mark) == {}
    assert list((tmp_path / "tmp").iterdir()) == []
