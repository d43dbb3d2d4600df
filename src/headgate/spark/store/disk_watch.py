"""Whether the disk of a data directory has room and takes what is written."""

from __future__ import annotations

import errno
import os
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.spark.store import disk

SERVES = 3.0  # seconds for which an answer is given again
TOLD = 10.0  # seconds for which a refused write is told although the disk takes others by now
LITTLE = 1 << 20  # bytes: a disk with less is full
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PROBE = b"\0" * (64 << 10)  # about what a commit takes


@dataclass(frozen=True, slots=True)
class DiskStatus:
    """The disk of a data directory: bytes that are free, whether it is full, and why it last refused a write."""

    free: int | None = None
    full: bool = False
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values; free bytes to three digits, since more would change all the time.

        >>> DiskStatus(free=123_456_789).to_json()
        {'free': 123000000, 'full': False}
        """
        free = {} if self.free is None else {"free": _three_digits(self.free)}
        return {**free, "full": self.full, **({"error": self.error} if self.error else {})}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A write that the disk has refused."""

    at: float  # monotonic
    path: str
    reason: str
    full: bool


_refusals: deque[_Refusal] = deque(maxlen=100)  # of this process, by whatever thread; the newest last


def refused(path: str, error: OSError, reason: str) -> None:
    """Note that a write has failed."""
    if path:
        where = os.path.abspath(path)
        _refusals.append(_Refusal(time.monotonic(), where, f"{where}: cannot write: {reason}", error.errno in FULL))


def _three_digits(count: int) -> int:
    step: int = 10 ** max(0, len(str(count)) - 3)
    return count // step * step


class DiskWatch:
    """Looks at the disk of one folder, every few seconds at most.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     watch = DiskWatch(Path(folder))
    ...     before = watch.look()
    ...     refused(f"{folder}/log", OSError(errno.ENOSPC, ""), "No space left on device")
    ...     watch.look() is before, watch.look(again=True).full
    (True, True)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inside = os.path.join(os.path.abspath(folder), "")
        self._newest = DiskStatus()
        self._until = 0.0

    def look(self, again: bool = False) -> DiskStatus:
        """How the disk is doing."""
        now = time.monotonic()
        if again or now >= self._until:
            self._newest, self._until = self._looked(now), now + SERVES
        return self._newest

    def _looked(self, now: float) -> DiskStatus:
        try:
            found = os.statvfs(self._folder)
        except OSError as error:
            return DiskStatus(error=f"{self._folder}: {error.strerror}")
        free = found.f_bavail * found.f_frsize
        refusal = next((one for one in reversed(_refusals) if one.path.startswith(self._inside)), None)
        if refusal is None or (now - refusal.at > TOLD and self._takes_writes()):
            return DiskStatus(free, free < LITTLE)
        return DiskStatus(free, refusal.full or free < LITTLE, refusal.reason)

    def _takes_writes(self) -> bool:
        """Whether a small file can be written; on some disks, as with quotas, nothing else tells."""
        path = self._folder / "probe.tmp"
        try:
            with disk.opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
                disk.write_all(descriptor, _PROBE, 0)
                disk.fsync(descriptor)
        except OSError:
            return False
        finally:
            with suppress(OSError):
                disk.unlink(path, missing_ok=True)
        return True
