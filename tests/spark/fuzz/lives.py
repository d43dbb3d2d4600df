"""What stands around a played case: failures, sinks of its own, and lives in other processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.spark.compile.logs import counted
from tests.spark.fuzz.case import Case
from tests.spark.fuzz.oracle import Rows

LIFE = 300.0  # seconds that a life may take
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that must not be: of which kind, where, and in words."""

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} [{self.where}]: {self.text}"


class Over(Exception):  # noqa: N818
    """The case has failed, and what would follow says nothing more."""


class Nobody:
    """Stands for a session, a handle and what they return where a life is played in another process."""

    queries: tuple[()] = ()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **named: self

    def __bool__(self) -> bool:
        return True


class Collected:
    """What a callback or a follower was given; a callback that fails does so at every third call, once."""

    def __init__(self, failing: bool = False) -> None:
        self._tables: list[pa.Table] = []
        self._failing, self._calls = failing, 0

    def __call__(self, table: pa.Table) -> None:
        self._calls += 1
        if self._failing and self._calls % 3 == 1:
            raise OSError("the sink takes nothing now")
        self._tables.append(table)

    def rows(self) -> Rows:
        return sum((counted(table) for table in list(self._tables)), Counter())


def first_life(case: Case, directory: Path) -> list[Failure]:
    """Play a case up to its kill in a process that is killed then."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    told = directory.parent / "case.json"
    told.write_text(case.to_json())
    command = [sys.executable, "-m", "tests.spark.fuzz", "--life", str(told), str(directory)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, start_new_session=True, timeout=LIFE, check=False
    )
    if done.returncode != -signal.SIGKILL:
        return [Failure("crash", "first life", f"{done.returncode}: {done.stderr[-400:]}")]
    found = [json.loads(line[1:])["failure"] for line in done.stdout.splitlines() if line.startswith("@")]
    return [Failure(**each) for each in found]
