"""Ctrl-C (SIGINT) and a polite kill (SIGTERM): one line, and exit code 130 or 143, at any moment of a command.

From `install` on, a signal ends the program where it stands: all that must survive is on disk already. A command that
has something to show or to end first says so, with `raised` or `noted`; a second signal ends it at once all the same.

This is imported before everything else, so it imports next to nothing itself.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from headgate.cli.child_processes import end_children

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LINE = b"headgate: interrupted\n"
_CLEAR_LINE = b"\r\x1b[K\x1b[?25h"  # removes the ^C of a terminal, and shows the cursor that a live picture hides
_PATIENCE = 3.0  # seconds that processes which we have started get to end

_Handler = Callable[[int, FrameType | None], None]


class Interruption:
    """The first signal that has come, if any."""

    def __init__(self) -> None:
        self.number = 0

    def __bool__(self) -> bool:
        return self.number != 0

    def first(self, number: int) -> bool:
        """Take notice of a signal; whether it is the first."""
        is_first, self.number = not self.number, self.number or number
        return is_first


_interruption = Interruption()
_last_acts: list[Callable[[], object]] = []


def install() -> None:
    """From now on a signal ends the program at once; also where a shell has it ignored, as in the background."""
    _handle(_leave)


def exit_code() -> int:
    """The exit code after a signal, by the shell's custom: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (_interruption.number or signal.SIGINT)


@contextmanager
def raised() -> Iterator[None]:
    """Meanwhile the first signal raises `KeyboardInterrupt`, for code that shows what it has so far."""

    def raise_first(number: int, frame: FrameType | None) -> None:
        if not _interruption.first(number):
            _leave(number, frame)
        raise KeyboardInterrupt

    with _handled(raise_first):
        yield


@contextmanager
def noted() -> Iterator[Interruption]:
    """Meanwhile the first signal is only noted, for code that looks from time to time and ends in order."""

    def note_first(number: int, frame: FrameType | None) -> None:
        if not _interruption.first(number):
            _leave(number, frame)

    with _handled(note_first):
        yield _interruption


@contextmanager
def last_act(act: Callable[[], object]) -> Iterator[None]:
    """If a signal ends the program meanwhile, this is called last, when its processes have ended."""
    _last_acts.append(act)
    try:
        yield
    finally:
        _last_acts.remove(act)


@contextmanager
def held_back() -> Iterator[None]:
    """Meanwhile Ctrl-C waits; processes that are started meanwhile never see it, as the terminal sends it to all."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def postponed() -> Iterator[None]:
    """Meanwhile a polite kill waits, and processes that are started meanwhile can still be ended by one."""
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if came:
            signal.raise_signal(signal.SIGTERM)


@contextmanager
def _handled(handler: _Handler) -> Iterator[None]:
    before = [signal.getsignal(number) for number in _SIGNALS]
    _handle(handler)
    try:
        yield
    finally:
        for number, former in zip(_SIGNALS, before, strict=True):
            signal.signal(number, former)


def _handle(handler: _Handler) -> None:
    for number in _SIGNALS:
        signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End the program and the processes that it has started, without a word from what breaks thereby."""
    _handle(lambda number, frame: None)  # not ignored: processes that are just being started would inherit that
    _interruption.first(number)
    try:
        os.write(2, (_CLEAR_LINE if os.isatty(2) else b"") + _LINE)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    except OSError:  # nobody reads it any more
        pass
    end_children(_PATIENCE)
    for act in _last_acts:
        act()
    os._exit(exit_code())
