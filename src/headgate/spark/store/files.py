"""Writing files so that they are either there as a whole or not at all.

A file is written under a name that ends in `.tmp`, forced to disk and renamed; whoever opens a folder removes what is
left of such names. Small JSON files carry a checksum of their value.
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headgate.model import HeadgateError
from headgate.spark.store.killpoints import at

TEMPORARY = ".tmp"


def write_atomic(path: Path, data: Any, *, point: str = "", durable_name: bool = True) -> None:
    """Write all of `data` or nothing; with `durable_name` also the rename has reached the disk on return.

    `point` names the kill point `<point>.half`.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    view = memoryview(data)
    with open(temporary, "wb") as file:
        if point:
            at(f"{point}.half", first=lambda: os.write(file.fileno(), view[: len(view) // 2]))
        file.write(view)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    if durable_name:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Force the content of a file to disk that someone else has written."""
    sync_folder(path)


def remove_temporary(folder: Path) -> None:
    """Remove what an interrupted write left behind."""
    for path in folder.glob("*" + TEMPORARY):
        path.unlink()


def write_json(path: Path, value: Any, *, point: str = "") -> None:
    """Write a JSON value with its checksum, atomically."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    write_atomic(path, f'{{"crc32":{zlib.crc32(text.encode())},"value":{text}}}\n'.encode(), point=point)


def read_json(path: Path) -> Any:
    """The value that `write_json` wrote; anything else is refused with the name of the file."""
    try:
        found = json.loads(path.read_text("utf-8"))
        value = found["value"]
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        if zlib.crc32(text.encode()) != found["crc32"]:
            raise ValueError("checksum")
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path) from error
    return value


def damaged(path: Path, what: str = "the file") -> HeadgateError:
    """The refusal of a file whose bytes are not those that were written."""
    return HeadgateError(
        f"{what} is damaged: its checksum does not match",
        where=str(path),
        hint="restore it from a copy, or move the data directory away and start anew",
    )


def safe_name(name: str) -> str:
    """A file name for a stream's or query's name.

    >>> safe_name("sensors"), safe_name("a/b"), safe_name("..")
    ('sensors', 'a%2Fb', '%2E.')
    """
    quoted = quote(name, safe=" ")
    return "%2E" + quoted[1:] if quoted.startswith(".") else quoted
