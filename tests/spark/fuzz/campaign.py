"""Hours of cases: workers in processes of their own, so that one that hangs or dies is reported and replaced."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.spark.fuzz.worker import lines

ROOT = Path(__file__).parents[3]
PER_WORKER = 120  # cases until a fresh process goes on


@dataclass
class Campaign:
    """Supervises workers and counts."""

    options: list[str]  # for the workers
    seed: int
    deadline: float  # of time.time()
    last: int
    kept: Path
    totals: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    small: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> int:
        """Until the time is over, or all cases were played, or somebody interrupts; the exit code."""
        began, number = time.time(), 0
        try:
            while time.time() < self.deadline and number < self.last:
                number = self._work(number)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        self.totals["seconds"] = round(time.time() - began)
        return 1 if self.kinds else 0

    def _work(self, first: int) -> int:
        """One worker from start to end; the case that the next one begins with."""
        last = min(first + PER_WORKER, self.last)
        command = [sys.executable, "-m", "tests.spark.fuzz", "--work", f"{first}:{last}", *self.options]
        errors = self.kept / "worker.log"
        errors.parent.mkdir(parents=True, exist_ok=True)
        with open(errors, "w") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        at, counted, ended = first, True, False
        try:
            assert process.stdout is not None
            for told in lines(iter(process.stdout)):
                if "begin" in told:
                    at, counted = told["begin"], False
                counted = counted or "case" in told
                ended = ended or "end" in told
                self._note(told)
        finally:
            _end(process)
        if ended:
            return last
        if not counted:
            self.totals["cases"] += 1
        self._died(at, errors.read_text())
        return at + 1

    def _note(self, told: dict[str, Any]) -> None:
        if "case" in told:
            self.totals["cases"] += 1
            for name in ("queries", "rows", "commands"):
                self.totals[name] += told[name]
            self.kinds.update({failure["kind"] for failure in told["failures"]})
            self._progress(told)
        elif "small" in told:
            self.small.append(told)
            _say(f"failed: {told['failure']}\n  again: python -m tests.spark.fuzz --file {told['file']}")
            _say(_indented(told["script"]))

    def _progress(self, told: dict[str, Any]) -> None:
        worst = "; ".join(f"{each['kind']} [{each['where']}]: {each['text']}" for each in told["failures"][:3])
        sizes = f"{told['seconds']:.1f} s, {told['queries']} queries, {told['rows']} rows"
        _say(f"case {told['case']}: {sizes}: {worst or 'ok'}")

    def _died(self, number: int, log: str) -> None:
        kind = "hang" if "Timeout (" in log else "crash"
        self.kinds[kind] += 1
        stacks = log[log.find("Timeout (") :] if kind == "hang" else log[-3000:]
        told = {"small": number, "failure": f"{kind} in case {number}", "script": stacks[:8000], "file": ""}
        self.small.append(told)
        flags = " ".join(f"'{each}'" for each in self.options if each.startswith(("--kills", "--on", "--off")))
        _say(
            f"{kind}: python -m tests.spark.fuzz --seed {self.seed} --case {number} {flags}\n{_indented(stacks[:8000])}"
        )

    def summary(self) -> str:
        """What was done and found, in words."""
        told = self.totals
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        return (
            f"{told['cases']} cases, {told['queries']} queries, {told['rows']} rows, {told['commands']} commands in "
            f"{told['seconds']} s; failures: {kinds or 'none'}"
        )

    def to_json(self) -> str:
        return json.dumps({**self.totals, "failures": self.kinds, "small": self.small})


def _end(process: subprocess.Popen[str]) -> None:
    """The worker and its Java, however it ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
