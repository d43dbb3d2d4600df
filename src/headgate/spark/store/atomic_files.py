"""Writes files atomically: after a crash a file is there with all its content, or not at all.

A file is written under a name that ends in `.tmp`, forced to disk and renamed. Whoever opens a folder removes temporary
files that a crash has left (`remove_temporary`). Small JSON files have a checksum: `{"crc32":…,"value":{"format":3}}`.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headgate.model import HeadgateError
from headgate.model.errors import DiskError
from headgate.spark.store import disk, disk_watch
from headgate.spark.store.kill_points import at

TEMPORARY = ".tmp"


def write_atomic(path: Path, data: Any, *, point: str = "", durable_name: bool = True) -> None:
    """Write all of `data` or nothing; with `durable_name` the rename is durable on return too.

    `point` is the beginning of the name of the kill point `<point>.half`.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    with writing(path):
        try:
            _write(temporary, memoryview(data), point)
            disk.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                disk.unlink(temporary)  # the disk may be full because of it
            raise
        if durable_name:
            sync_folder(path.parent)


def _write(path: Path, view: memoryview, point: str) -> None:
    with disk.opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        if point:
            at(f"{point}.half", first=lambda: disk.write_all(descriptor, view[: len(view) // 2], 0))
        disk.write_all(descriptor, view, 0)
        disk.fsync(descriptor)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of the disk into errors with the path and a hint."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


def disk_error(error: OSError, path: str | Path | None = None) -> HeadgateError:
    """An error of the operating system, with what to do about it.

    >>> import errno
    >>> print(disk_error(OSError(errno.ENOSPC, "No space left on device"), "out/costs.json"))
    out/costs.json: cannot write: No space left on device; free space on the disk and start again
    """
    full = error.errno in disk_watch.FULL
    hint = "free space on the disk and start again" if full else "look at the disk and its rights, then start again"
    reason = error.strerror or str(error) or type(error).__name__
    found = path if path is not None else error.filename
    where = "" if found is None else str(found)
    disk_watch.refused(where, error, reason)
    return DiskError(f"cannot write: {reason}", where=where, hint=hint)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk."""
    with writing(folder):
        disk.sync(folder)


def sync_file(path: Path) -> None:
    """Force the content of a file to disk that another process has written."""
    disk.sync(path)


def remove_temporary(folder: Path) -> None:
    """Remove what interrupted writes have left in a folder, and force the other names to disk.

    A process that was killed may have renamed files without forcing their names to disk. Whoever opens the folder
    relies on these files, so a power cut must not undo the renames.
    """
    for path in folder.glob("*" + TEMPORARY):
        disk.unlink(path)
    disk.sync(folder)


def write_json(path: Path, value: Any, *, point: str = "") -> None:
    """Write a JSON value with its checksum, atomically."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    write_atomic(path, f'{{"crc32":{zlib.crc32(text.encode())},"value":{text}}}\n'.encode(), point=point)


def read_json(path: Path) -> Any:
    """The value that `write_json` wrote; a damaged file is refused with its name."""
    try:
        content = json.loads(path.read_text("utf-8"))
        value = content["value"]
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        if zlib.crc32(text.encode()) != content["crc32"]:
            raise ValueError("checksum")
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path) from error
    return value


def damaged(path: Path, what: str = "the file") -> HeadgateError:
    """The error for a file whose bytes are not those that were written."""
    return HeadgateError(
        f"{what} is damaged: its checksum does not match",
        where=str(path),
        hint="restore it from a copy, or move the data directory away and start anew",
    )


def unreadable(path: str | Path, why: object) -> HeadgateError:
    """The error for a file that is there, or should be, and cannot be read."""
    reason = (why.strerror if isinstance(why, OSError) else None) or (str(why).splitlines() or [type(why).__name__])[0]
    return HeadgateError(f"the file cannot be read: {reason}", where=str(path), hint="restore it from a copy")


def safe_name(name: str) -> str:
    """A file name for a stream's or query's name.

    >>> safe_name("sensors"), safe_name("a/b"), safe_name("..")
    ('sensors', 'a%2Fb', '%2E.')
    """
    quoted = quote(name, safe=" ")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted
