"""A terminal of some size around a process, and what a person would see on it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte


class Terminal:
    """Runs a command whose stderr is a terminal; stdout is kept apart."""

    def __init__(self, command: Sequence[str], cwd: Path, patience: float) -> None:
        columns, lines = 80, 24
        self.said = ""
        self._patience = patience  # seconds that the screen may take to become what a test waits for
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.Stream(self._screen)
        self._master, slave = pty.openpty()
        self.resize(columns, lines)
        variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        variables["TERM"] = "xterm"
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave, env=variables, text=True, cwd=cwd
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:  # a test that failed did not end it
            self.process.kill()
        self.process.__exit__(None, None, None)
        os.close(self._master)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size; what was on the screen stays where it was, as far as there is room."""
        self._screen.resize(lines, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return [text.rstrip() for text in self._screen.display]

    def wait_for(self, condition: Callable[[list[str]], bool]) -> list[str]:
        """The screen as soon as it fulfils a condition."""
        end = time.monotonic() + self._patience
        while not condition(self.lines):
            assert time.monotonic() < end, "\n".join(self.lines)
            assert self._read(), "\n".join(self.lines)
        return self.lines

    def end_input(self) -> None:
        """Close the standard input of the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def finish(self) -> str:
        """Read what comes until the process has ended; gives its stdout."""
        while self._read():
            pass
        assert self.process.stdout is not None
        return self.process.stdout.read()

    def _read(self) -> bool:
        """Take what has been written; whether the process may write more."""
        if not select.select([self._master], [], [], 0.2)[0]:
            return True
        try:
            text = os.read(self._master, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return False
        self.said += text
        self._stream.feed(text)
        return True
