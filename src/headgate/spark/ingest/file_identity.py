"""Tells a file that was changed from one that was put in its place.

The number of an inode alone does not: ext4 gives that of a removed file to the next one that is made, so a file that
replaces another mostly has the number of the one before. A new inode has another time of birth.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from typing import Any

Identity = tuple[int, int, int]  # device, inode, time of birth in nanoseconds or 0

_AT_EMPTY_PATH, _STATX_BTIME = 0x1000, 0x800
_SIZE, _MASK, _BORN = 256, struct.Struct("=I"), struct.Struct("=qI")  # of `struct statx`, which is the same everywhere
_BORN_AT = 80


def identity(descriptor: int) -> Identity:
    """Which file is open: stays the same while it is written, renamed or linked."""
    state = os.fstat(descriptor)
    return state.st_dev, state.st_ino, _born(descriptor)


def _born(descriptor: int) -> int:
    """When a file was made; 0 where the file system or the machine cannot tell. Python has no call for it."""
    if _statx is None:
        return 0
    found = ctypes.create_string_buffer(_SIZE)
    if _statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, found) != 0:
        return 0
    if not _MASK.unpack_from(found)[0] & _STATX_BTIME:
        return 0
    seconds, nanoseconds = _BORN.unpack_from(found, _BORN_AT)
    return int(seconds * 1_000_000_000 + nanoseconds)


def _find_statx() -> Callable[..., Any] | None:
    try:
        return ctypes.CDLL(None).statx
    except (OSError, AttributeError):  # a C library without it
        return None


_statx = _find_statx()
