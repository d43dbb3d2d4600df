from __future__ import annotations

import io
import json
import logging
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Headgate

from headgate import HeadgateError, logs

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (DEBUG|INFO|WARNING|ERROR) headgate\.engine (.*)")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    logger = logging.getLogger("headgate")
    handlers, level = list(logger.handlers), logger.level
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)


@contextmanager
def silent_program() -> Iterator[None]:
    """A program without handlers; pytest has some while a test runs."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        yield
    finally:
        root.handlers = handlers


def said(stream: io.StringIO) -> list[tuple[str, ...]]:
    matches = [LINE.fullmatch(line) for line in stream.getvalue().splitlines()]
    assert None not in matches, stream.getvalue()
    return [match.groups() for match in matches if match]


def test_an_event_is_a_line_with_fields_and_configuring_twice_does_not_double_it() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.configure("debug", first)
    logs.configure("info", second)
    logs.logger("engine").info("run ended", run=12, seconds=0.0812345678, event="x")
    logs.logger("engine").debug("nobody sees it")
    assert first.getvalue() == ""
    assert said(second) == [("INFO", "run ended run=12 seconds=0.081235 event=x")]


@pytest.mark.parametrize("level", logs.LEVELS)
def test_levels(level: str) -> None:
    stream = io.StringIO()
    logs.configure(level, stream)
    logger = logs.logger("engine")
    for log in (logger.debug, logger.info, logger.warning, logger.error):
        log("said")
    heard = [word.upper() for word in logs.LEVELS if logs.LEVELS[word] >= logs.LEVELS[level]]
    assert [each[0] for each in said(stream)] == heard


class Counted:
    asked = 0

    def __str__(self) -> str:
        self.asked += 1
        return "text"


def test_fields_become_text_only_when_somebody_reads_them() -> None:
    value, stream = Counted(), io.StringIO()
    logs.configure("error", stream)
    logs.logger("engine").warning("passed over", value=value)
    assert value.asked == 0
    logs.logger("engine").error("written", value=value)
    assert value.asked > 0


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(), max_size=4))
def test_any_text_stays_on_one_line_and_is_found_again(fields: dict[str, str]) -> None:
    line = str(logs.LogEvent("event", fields))
    assert line.isprintable()
    found = {}
    for name, quoted, plain in re.findall(r' ([a-z_]+)=(?:("(?:[^"\\]|\\.)*")|([^ "]+))', line):
        found[name] = json.loads(quoted) if quoted else plain
    assert found == fields


def test_an_error_is_one_line_with_a_traceback_for_debugging() -> None:
    for level, lines in (("info", 1), ("debug", 2)):
        stream = io.StringIO()
        logs.configure(level, stream)
        try:
            raise ValueError("two\nlines")
        except ValueError as error:
            logs.logger("engine").error("sink failed", query="q", error=error)
        heard = stream.getvalue()
        assert r'sink failed query=q error="ValueError: two\nlines"' in heard.splitlines()[0]
        assert (len(heard.splitlines()) >= 2) == (lines == 2)
        assert ("Traceback" in heard) == (level == "debug")


def test_records_carry_the_fields_and_the_place(caplog: pytest.LogCaptureFixture) -> None:
    logs.logger("engine").warning("late", percent="100%d")
    (record,) = caplog.records
    assert (record.__dict__["fields"], record.filename) == ({"percent": "100%d"}, "test_logs.py")


@pytest.mark.parametrize("word", ["debug", "INFO", " warning", "error"])
def test_the_environment_says_how_much(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    monkeypatch.setenv("HEADGATE_LOG", word)
    with silent_program():
        for _ in range(2):  # two sessions
            logs.configure_from_environment()
    assert logging.getLogger("headgate").level == logs.LEVELS[word.strip().lower()]
    logs.logger("engine").error("said once")
    assert capsys.readouterr().err.count("said once") == 1


def test_what_the_program_asks_for_is_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_LOG", "debug")
    stream = io.StringIO()
    logs.configure("warning", stream)
    with silent_program():
        logs.configure_from_environment()
    logs.logger("engine").info("passed over")
    logs.logger("engine").warning("written")
    assert [each[1] for each in said(stream)] == ["written"]


def test_a_program_with_handlers_gets_the_lines_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADGATE_LOG", "info")
    logs.configure_from_environment()
    logs.logger("engine").info("once")
    assert [record.getMessage() for record in caplog.records] == ["once"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("word", ["loud", "DEBUGGING", "1", "-"])
def test_a_wrong_word_is_refused_with_the_right_ones(
    headgate: Headgate, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("HEADGATE_LOG", word)
    told = f"HEADGATE_LOG must be debug, info, warning or error, found '{word}'; write for example HEADGATE_LOG=info"
    with pytest.raises(HeadgateError, match=re.escape(told)):
        logs.configure_from_environment()
    result = headgate("policies")
    assert (result.exit_code, result.stderr) == (2, f"headgate: {told}\n")


@pytest.mark.parametrize(
    ("arguments", "level"), [("-v", "info"), ("-vv", "debug"), ("-v -v", "debug"), ("-vvv", "debug"), ("", "error")]
)
def test_options_say_how_much(headgate: Headgate, monkeypatch: pytest.MonkeyPatch, arguments: str, level: str) -> None:
    monkeypatch.setenv("HEADGATE_LOG", "error")
    assert headgate(*shlex.split(arguments), "policies", "show", "hr").exit_code == 0
    assert logging.getLogger("headgate").level == logs.LEVELS[level]


def test_the_library_alone_prints_nothing() -> None:
    code = "from headgate import logs; logs.logger('engine').error('a failure', error=ValueError('x'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("", "")
