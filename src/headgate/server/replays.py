"""What-if in a process of its own: one at a time, within a limit, so that the server goes on answering meanwhile.

The process stays for further questions, since importing what it needs takes longer than most answers. It is started
anew if it has died or had to be ended, and it ends by itself when the server does, however that ends.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from headgate.model import HeadgateError
from headgate.model.errors import BusyError
from headgate.spark.session import Session

PROCESS = "headgate.server.replay_process"
LIMIT = 60.0  # seconds
FEWEST = 10  # runs of an engine from which something can be told
_END = 2.0  # seconds that a process may take to end by itself


class Replays:
    """Answers questions about what would have been, from the history in a data directory."""

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._process: ReplayProcess | None = None

    def ask(self, session: Session, question: dict[str, Any], limit: float | None = None) -> dict[str, Any]:
        """The answer; `BusyError` while another question is being answered, or if this one takes too long."""
        if (runs := session.engine.overview().runs) < FEWEST:
            raise HeadgateError(
                f"the history is too short: {runs} runs, and at least {FEWEST} are needed",
                hint="ask again when more has run",
            )
        if not self._lock.acquire(blocking=False):
            raise BusyError("another what-if is being computed", hint="ask again in some seconds")
        try:
            return self._answer(session.directory, question, limit or self._limit)
        finally:
            self._lock.release()

    def _answer(self, directory: Path, question: dict[str, Any], limit: float) -> dict[str, Any]:
        answer = self._answered({"directory": str(directory), **question}, limit)
        if "failed_with" in answer:
            raise HeadgateError(f"the what-if failed: {answer['failed_with']}", hint="the server's log says more")
        if "refused" in answer:
            raise HeadgateError(answer["refused"], where=answer["where"], hint=answer["hint"])
        return answer

    def _answered(self, question: dict[str, Any], limit: float) -> dict[str, Any]:
        """What the process says; one that has died meanwhile is asked again as a new one, once."""
        until = time.monotonic() + limit
        for process in (self._process, None):
            asked = self._process = process or ReplayProcess()
            try:
                return asked.ask(question, until)
            except TimeoutError:
                self._process = None
                asked.kill()
                raise BusyError(
                    f"the what-if took longer than {limit:g} s, and was ended",
                    hint='ask about less: fewer policies, or "last": "60 s"',
                ) from None
            except OSError:
                self._process = None
                code = asked.kill()
                if process is None:
                    return {"failed_with": f"its process ended with exit code {code}"}
        raise AssertionError("a new process answers or fails")


class ReplayProcess:
    """A process that answers one question after the other, each in one line of JSON."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-m", PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._end = weakref.finalize(self, _end, self._process)

    @property
    def id(self) -> int:
        return self._process.pid

    def ask(self, question: dict[str, Any], until: float) -> dict[str, Any]:
        """The answer; `TimeoutError` if it does not come in time, `OSError` if the process is gone."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line(until))
        return answer

    def _line(self, until: float) -> bytes:
        assert self._process.stdout is not None
        descriptor, parts = self._process.stdout.fileno(), [b""]
        ready = select.poll()  # as against `select`, for descriptors of any number: a server may have thousands
        ready.register(descriptor, select.POLLIN)
        while not parts[-1].endswith(b"\n"):
            if not ready.poll(1000 * max(0.0, until - time.monotonic())):
                raise TimeoutError
            parts.append(os.read(descriptor, 1 << 20))
            if not parts[-1]:
                raise BrokenPipeError
        return b"".join(parts)

    def kill(self) -> int:
        """End it at once; its exit code."""
        self._process.kill()
        self._end()
        return self._process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process by closing what it reads."""
    with suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    try:
        process.wait(_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
