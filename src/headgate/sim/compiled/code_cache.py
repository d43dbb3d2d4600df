"""Where compiled code is kept on disk."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path


@cache
def cache_directory() -> Path | None:
    """Where compiled code is kept: one directory for each state of the sources, so that nothing stale is ever used.

    `NUMBA_CACHE_DIR`, else the user's cache directory, else one of the user's own among temporary files. None where
    nothing can be written: then every process compiles for itself.
    """
    name = f"headgate-{_digest()}"
    for parent in _parents():
        directory = parent / name
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=directory).close()
        except OSError:
            continue
        if _is_ours(directory):
            return directory
    return None


def _parents() -> Iterator[Path]:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen)
    if user := os.environ.get("XDG_CACHE_HOME"):
        yield Path(user)
    home = os.path.expanduser("~")
    if home != "~":
        yield Path(home) / ".cache"
    yield Path(tempfile.gettempdir()) / f"headgate-cache-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(directory: Path) -> bool:
    """Whether nobody else could have put code there: what is found there is run."""
    found = directory.stat()
    return found.st_uid == _user() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest() -> str:
    """A digest of all that is compiled: code of one module becomes part of another's."""
    digest = hashlib.sha256()
    here = resources.files(__package__)
    for file in sorted((file for file in here.iterdir() if file.name.endswith(".py")), key=lambda file: file.name):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def is_cached() -> bool:
    """Whether there is compiled code already, of these sources."""
    directory = cache_directory()
    return directory is not None and any(directory.glob("loop.advance*.nbc"))
