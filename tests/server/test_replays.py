"""What-if in a process of its own: one at a time, within a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headgate.model import HeadgateError
from headgate.model.errors import BusyError
from headgate.server.replays import Replays
from headgate.spark.session import Session

SERVER = """
import time
from headgate.server.replays import ReplayProcess
process = ReplayProcess()
print(process.id, flush=True)
time.sleep(60)
"""


def session(directory: Path, runs: int) -> Session:
    engine = SimpleNamespace(overview=lambda: SimpleNamespace(runs=runs))
    return cast(Session, SimpleNamespace(engine=engine, directory=directory))


def test_a_second_question_is_refused_until_the_first_is_answered(tmp_path: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    class Slow(Replays):
        def _answer(self, directory: Path, question: dict[str, Any], limit: float) -> dict[str, Any]:
            begun.set()
            end.wait(30)
            return {"ranking": []}

    replays = Slow()
    first = threading.Thread(target=replays.ask, args=(session(tmp_path, 100), {}))
    first.start()
    begun.wait(30)
    with pytest.raises(BusyError, match="another what-if"):
        replays.ask(session(tmp_path, 100), {})
    end.set()
    first.join(30)
    assert replays.ask(session(tmp_path, 100), {}) == {"ranking": []}


def test_too_little_to_tell_from_is_refused_without_a_process(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="too short: 3 runs"):
        Replays().ask(session(tmp_path, 3), {})


def test_the_process_answers_with_the_error_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(HeadgateError, match="there is no history here"):
        Replays().ask(session(tmp_path, 100), {})


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(BusyError, match=r"longer than 0\.001 s"):
        Replays(limit=0.001).ask(session(tmp_path, 100), {})


def test_one_process_answers_question_after_question(tmp_path: Path) -> None:
    replays = Replays()
    for _ in range(2):
        with pytest.raises(HeadgateError, match="there is no history here"):
            replays.ask(session(tmp_path, 100), {})
    first = replays._process
    assert first is not None
    with pytest.raises(HeadgateError, match="the what-if failed: "):
        replays.ask(session(tmp_path, 100), {"directory": 5})  # an error that nobody thought of
    assert replays._process is first


def test_a_process_that_has_died_is_started_anew(tmp_path: Path) -> None:
    replays = Replays()
    with pytest.raises(HeadgateError, match="there is no history here"):
        replays.ask(session(tmp_path, 100), {})
    assert replays._process is not None
    before = replays._process.id
    os.kill(before, signal.SIGKILL)
    with pytest.raises(HeadgateError, match="there is no history here"):
        replays.ask(session(tmp_path, 100), {})
    assert replays._process.id != before


def test_a_process_ends_when_nobody_can_ask_it_any_more(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        answers = int(server.stdout.readline())
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        deadline = time.monotonic() + 60
        while _lives(answers):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _lives(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
