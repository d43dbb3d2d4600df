"""Logging: one line per event, its fields as `name=value`, under the standard library's `headgate` loggers.

    2026-01-01T12:00:00.123 DEBUG headgate.engine run ended run=12 queries=3 tuples=40 seconds=0.081

Nothing is printed unless the program configures `logging`, calls `configure`, or is started with `HEADGATE_LOG=info`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TextIO

from headgate.model.errors import HeadgateError

NAME = "headgate"
VARIABLE = "HEADGATE_LOG"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_root = logging.getLogger(NAME)
_root.addHandler(logging.NullHandler())  # without one, Python prints warnings that no handler takes


class LogEvent:
    """What happened, with its fields; it becomes text only when some handler asks for it.

    >>> str(LogEvent("run ended", {"run": 12, "seconds": 0.08123456, "reason": "two words", "error": ValueError("no")}))
    'run ended run=12 seconds=0.081235 reason="two words" error="ValueError: no"'
    """

    def __init__(self, text: str, fields: Mapping[str, object]) -> None:
        self.text = text
        self.fields = fields

    def __str__(self) -> str:
        return " ".join([self.text, *(f"{name}={_value(value)}" for name, value in self.fields.items())])


class Logger:
    """A logger whose events have fields: `logger("engine").info("run ended", run=12)`.

    The fields are in the `fields` of the record too, for handlers that write JSON. An exception among them is written
    in one line; at the level `debug` its traceback follows.
    """

    def __init__(self, plain: logging.Logger) -> None:
        self.plain = plain

    def debug(self, event: str, /, **fields: object) -> None:
        if self.plain.isEnabledFor(logging.DEBUG):
            self._log(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        if self.plain.isEnabledFor(logging.INFO):
            self._log(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        if self.plain.isEnabledFor(logging.WARNING):
            self._log(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        if self.plain.isEnabledFor(logging.ERROR):
            self._log(logging.ERROR, event, fields)

    def _log(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        cause = None
        if self.plain.isEnabledFor(logging.DEBUG):
            cause = next((value for value in fields.values() if isinstance(value, BaseException)), None)
        # The stack level makes the record name the line that logged, not this one.
        self.plain.log(level, LogEvent(event, fields), exc_info=cause, extra={"fields": fields}, stacklevel=3)


def logger(name: str) -> Logger:
    """The logger of a part of Headgate.

    >>> logger("engine").plain.name
    'headgate.engine'
    """
    return Logger(logging.getLogger(f"{NAME}.{name}"))


def configure(level: str, stream: TextIO | None = None) -> None:
    """Write events of this level and above to a stream, stderr by default; a second call replaces the first."""
    _install(_level(level, "the level of the log"), _Lines(stream, asked=True))


def configure_from_environment() -> None:
    """Do what `HEADGATE_LOG` says, if it is set, and if `configure` has not been called.

    In a program with handlers of its own these get the events, and nothing is written to stderr.
    """
    word = os.environ.get(VARIABLE, "")
    if not word:
        return
    level = _level(word, VARIABLE)
    if not any(isinstance(handler, _Lines) and handler.asked for handler in _root.handlers):
        _install(level, None if _program_listens() else _Lines(None, asked=False))


def on_stderr() -> bool:
    """Whether events are written to stderr."""
    return any(isinstance(handler, _Lines) and handler.to_stderr for handler in _root.handlers)


class _Lines(logging.Handler):
    """Writes lines to a stream; without one to what is `sys.stderr` then."""

    def __init__(self, stream: TextIO | None, *, asked: bool) -> None:
        super().__init__()
        self.asked = asked
        self._stream = stream
        self.setFormatter(_Format())

    @property
    def to_stderr(self) -> bool:
        return self._stream in (None, sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        stream = self._stream or sys.stderr
        try:
            stream.write(f"{self.format(record)}\n")
            stream.flush()
        except Exception:  # as the standard handlers do: logging never stops what is logged
            self.handleError(record)


class _Format(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - its name
        return datetime.fromtimestamp(record.created).isoformat(timespec="milliseconds")


def _install(level: int, handler: _Lines | None) -> None:
    for former in [handler for handler in _root.handlers if isinstance(handler, _Lines)]:
        _root.removeHandler(former)
    if handler is not None:
        _root.addHandler(handler)
    _root.setLevel(level)


def _program_listens() -> bool:
    ours = (_Lines, logging.NullHandler)
    return any(not isinstance(handler, ours) for handler in (*_root.handlers, *logging.getLogger().handlers))


def _level(word: str, what: str) -> int:
    level = LEVELS.get(word.strip().lower())
    if level is None:
        example = f"{VARIABLE}=info" if what == VARIABLE else "info"
        raise HeadgateError(
            f"{what} must be debug, info, warning or error, found '{word}'", hint=f"write for example {example}"
        )
    return level


def _value(value: object) -> str:
    """A field's value without spaces of its own, or in quotes."""
    if isinstance(value, float):
        return repr(round(value, 6))
    text = f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
    if text and text.isprintable() and not set(text) & set(' "='):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
