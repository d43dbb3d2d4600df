"""Small private files in the folder `access` of a data directory: written atomically, read again when they change."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from headgate.model import HeadgateError
from headgate.spark.store.atomic_files import TEMPORARY, disk_error, sync_folder
from headgate.spark.store.directory import ACCESS, check_ours

FORMAT = 1
LOCK = "lock"
T = TypeVar("T")


@contextmanager
def changing(directory: Path) -> Iterator[Path]:
    """The folder `access` of a data directory, made if need be, while no other process changes its files.

    The directory may be in use by a server, or never have been used: then it is made.
    """
    check_ours(directory)
    folder = directory / ACCESS
    try:
        directory.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise disk_error(error, folder) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)


def write(path: Path, kind: str, value: Any) -> None:
    """Write a file that only its owner may read: all of it or nothing."""
    temporary = path.with_name(path.name + TEMPORARY)
    text = json.dumps({"format": FORMAT, kind: value}, indent=1, sort_keys=True, ensure_ascii=False)
    try:
        with suppress(FileNotFoundError):
            temporary.unlink()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise disk_error(error, path) from error
    sync_folder(path.parent)


def read(path: Path, kind: str) -> Any:
    """What `write` wrote; None if there is no file."""
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["format"] != FORMAT:
            raise ValueError("format")
        return content[kind]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not what Headgate writes"
        hint = "restore it from a copy, or remove it and add everything again"
        raise HeadgateError(f"cannot be read: {reason}", where=str(path), hint=hint) from None


class Watched(Generic[T]):
    """What is in a file, read again as soon as the file has changed."""

    def __init__(self, path: Path, kind: str, made: Callable[[Any], T]) -> None:
        self._path, self._kind, self._made = path, kind, made
        self._seen: tuple[int, ...] | None = None
        self._value = made(None)

    def value(self) -> T:
        """What is in the file now."""
        seen = self._stamp()
        if seen != self._seen:
            self._value = self._content()
            self._seen = seen
        return self._value

    def _stamp(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _content(self) -> T:
        try:
            return self._made(read(self._path, self._kind))
        except (KeyError, TypeError, ValueError, AttributeError):
            hint = "restore it from a copy, or remove it and add everything again"
            raise HeadgateError("it is not what Headgate writes", where=str(self._path), hint=hint) from None
