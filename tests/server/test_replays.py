"""What-if in a process of its own: one at a time, within a limit."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headgate.model import HeadgateError
from headgate.model.errors import BusyError
from headgate.server.replays import Replays
from headgate.spark.session import Session


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
