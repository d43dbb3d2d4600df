"""The processes that this one has started, such as Spark's Java, and their end."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

_PROCESSES = "/proc"
_POLL_INTERVAL = 0.02


def end_children(patience: float) -> None:
    """Ask all processes below this one to end, and kill those that are still there after so many seconds.

    Those that ignore the question are left alone: multiprocessing has one that clears up when its parent has gone.
    """
    asked = [process for process in _below(os.getpid()) if not _ignores(process, signal.SIGTERM)]
    for process in asked:
        _send(process, signal.SIGTERM)
    until = time.monotonic() + patience
    while any(map(_runs, asked)) and time.monotonic() < until:
        time.sleep(_POLL_INTERVAL)
    for process in filter(_runs, asked):
        _send(process, signal.SIGKILL)


def _below(ancestor: int) -> list[int]:
    """The processes that one has started, those that these have started, and so on."""
    parents = {process: int(_status(process).get("PPid", "0")) for process in _all()}
    found, added = [], [ancestor]
    while added:
        added = [process for process, parent in parents.items() if parent in added]
        found += added
    return found


def _all() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROCESSES) if name.isdigit()]
    except OSError:  # no such file system: then nothing is known
        return []


def _status(process: int) -> dict[str, str]:
    """What the operating system says about a process; nothing if it has gone."""
    try:
        with open(f"{_PROCESSES}/{process}/status", encoding="utf-8", errors="replace") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    except OSError:
        return {}


def _runs(process: int) -> bool:
    return _status(process).get("State", "Z")[0] not in "ZX"  # not even one that only waits to be collected


def _ignores(process: int, number: int) -> bool:
    return bool(int(_status(process).get("SigIgn", "0"), 16) >> (number - 1) & 1)


def _send(process: int, number: int) -> None:
    with suppress(OSError):  # it has gone
        os.kill(process, number)
