"""What-if in a process of its own: one at a time, within a limit, so that the server goes on answering meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from headgate.model import HeadgateError
from headgate.model.errors import BusyError
from headgate.spark.session import Session

PROCESS = "headgate.server.replay_process"
LIMIT = 60.0  # seconds
FEWEST = 10  # runs of an engine from which something can be told


class Replays:
    """Answers questions about what would have been, from the history in a data directory."""

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()

    def ask(self, session: Session, question: dict[str, Any], limit: float | None = None) -> dict[str, Any]:
        """The answer; `BusyError` while another question is being answered, or if this one takes too long."""
        if (runs := session.engine.overview().runs) < FEWEST:  # a process for nothing takes a second
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
        try:
            done = subprocess.run(
                [sys.executable, "-m", PROCESS],
                input=json.dumps({"directory": str(directory), **question}).encode(),
                capture_output=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BusyError(
                f"the what-if took longer than {limit:g} s, and was ended",
                hint='ask about less: fewer policies, or "last": "60 s"',
            ) from None
        try:
            answer: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise HeadgateError(f"the what-if failed: {reason[0]}", hint="the server's log says more") from None
        if "refused" in answer:
            raise HeadgateError(answer["refused"], where=answer["where"], hint=answer["hint"])
        return answer
