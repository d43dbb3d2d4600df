"""The program as the shell starts it: exit codes, pipes, Ctrl-C, what it imports."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate import __version__
from headgate.cli import child_processes

HEADGATE = (sys.executable, "-c", "from headgate.cli.entry import run; run()")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HEADGATE, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


def interrupted(seen: str, *arguments: str | Path) -> tuple[int, str, str]:
    """Run with a terminal as stderr, press Ctrl-C once something is seen there; exit code, stdout, stderr."""
    terminal, stderr = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    command = [*HEADGATE, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True, preexec_fn=_interruptible
    ) as process:
        os.close(stderr)
        said = _read(terminal, until=seen)
        process.send_signal(signal.SIGINT)
        stdout = process.communicate(timeout=30)[0]
        said += _read(terminal)
    os.close(terminal)
    return process.returncode, stdout, said


def _interruptible() -> None:
    """Whoever started the tests in the background has made them, and what they start, deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _read(terminal: int, until: str | None = None, patience: float = 40.0) -> str:
    said, end = "", time.monotonic() + patience
    while time.monotonic() < end and (until is None or until not in said):
        if not select.select([terminal], [], [], 0.5)[0]:
            if until is None:
                break
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        said += part.decode(errors="replace")
    return said


@pytest.fixture
def long(sensors: Path, tmp_path: Path) -> Path:
    path = tmp_path / "long.toml"
    text = sensors.read_text(encoding="utf-8").replace('duration = "2 s"', 'duration = "100 s"')
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
def test_ctrl_c_ranks_what_is_finished(long: Path) -> None:
    code, stdout, stderr = interrupted("2/", "compare", long, "--jobs", "1")
    assert code == 130
    assert "1. " in stdout
    assert "policies finished" in stderr
    assert "Traceback" not in stdout + stderr


@pytest.mark.slow
def test_ctrl_c_ends_a_simulation(long: Path) -> None:
    code, stdout, stderr = interrupted("0/1 policies", "simulate", long, "--duration", "20 min", "-p", "hr")
    assert (code, stdout) == (130, "")
    assert "headgate: interrupted" in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_imports_is_one_line(number: signal.Signals) -> None:
    command = [*HEADGATE, "simulate", "none.toml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_until_caught(process.pid, signal.SIGTERM)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (128 + number, "", "headgate: interrupted\n")


def _wait_until_caught(process: int, number: int) -> None:
    """Wait until a process has its own answer to a signal: that comes before anything that takes a while."""
    end = time.monotonic() + 40.0
    caught = 0
    while not caught >> (number - 1) & 1:
        assert time.monotonic() < end
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)


@pytest.mark.slow
def test_a_polite_kill_ends_the_processes_of_a_comparison(long: Path) -> None:
    command = [*HEADGATE, "compare", str(long), "--jobs", "2", "--duration", "20 min"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        started: list[int] = []
        while len(started) < 3:  # two that simulate, and one of multiprocessing's own
            assert process.poll() is None
            started = child_processes._below(process.pid)
            time.sleep(0.05)
        process.terminate()
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (143, "")
    assert re.fullmatch(r"headgate: interrupted, 0 of \d+ policies finished\n", stderr)
    end = time.monotonic() + 40.0
    while any(map(child_processes._runs, started)):  # multiprocessing's own ends once it notices
        assert time.monotonic() < end
        time.sleep(0.05)


def test_errors_have_no_traceback() -> None:
    done = run("simulate", "none.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("headgate: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(sensors: Path) -> None:
    for command in (["policies"], ["explain", str(sensors), "--stage", "units"]):
        with subprocess.Popen([*HEADGATE, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == b""


def test_a_terminal_without_our_letters(sensors: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [*HEADGATE, "explain", str(sensors), "--stage", "network"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert done.returncode == 0
    assert b"stream s" in done.stdout


@pytest.mark.slow
def test_no_progress_bar_without_a_terminal(sensors: Path) -> None:
    done = run("compare", sensors, "-p", "hr", "-p", "hnr")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["--help", "--version", "policies", "policies show hnr"])
def test_light_commands_import_nothing_heavy(command: str) -> None:
    code = (
        "import sys\n"
        "from headgate.cli.main import app\n"
        f"app({command.split()!r}, standalone_mode=False)\n"
        "heavy = {'matplotlib', 'pyarrow', 'pyspark', 'sqlglot'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_version() -> None:
    assert run("--version").stdout == f"headgate {__version__}\n"


def test_no_arguments_show_the_help() -> None:
    done = run()
    assert done.returncode == 2
    assert "Commands" in done.stdout + done.stderr
