"""Opens files and folders by their names; with `within` only those in that folder, whatever links are in the way.

Over the network only what lies below `headgate serve --allow-path` may be read, and somebody may put links there that
lead elsewhere. To look where a name leads and to open it afterwards is not enough, since a link may be put in its place
between the two. So the name is resolved first, and what it resolves to is opened from the folder `within` on, one part
after the other, each in the open folder before it and none of them through a link. Links that end inside the folder can
be used, as the name is resolved; one that is swapped meanwhile is an error.

>>> import os, tempfile
>>> with tempfile.TemporaryDirectory() as name:
...     folder = Path(name).resolve()
...     _ = (folder / "rows.csv").write_text("id")
...     os.symlink("rows.csv", folder / "newest.csv")
...     os.symlink("/etc/hostname", folder / "other.csv")
...     with open_file(folder / "newest.csv", folder) as file:
...         file.read()
...     try:
...         open_file(folder / "other.csv", folder)
...     except OSError as error:
...         error.strerror
b'id'
'it leads out of the allowed folder'

Hard links and mounts are not links in this sense: a file has no name of its own, so that nobody can tell.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # or opening a pipe would wait for whoever writes to it
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY


def open_file(path: Path, within: Path | None = None) -> BinaryIO:
    """Open a file to read its bytes; `OSError` if it is no plain file, or not in the folder."""
    return _file(_open(path, within, _FILE), str(path))


def inner_file(name: str, folder: int) -> BinaryIO:
    """Open a file in an open folder, which must not be a link."""
    return _file(os.open(name, _FILE | os.O_NOFOLLOW, dir_fd=folder), name)


def _file(descriptor: int, name: str) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file", name)
    return os.fdopen(descriptor, "rb")


@contextmanager
def opened_folder(path: Path, within: Path | None = None) -> Iterator[int]:
    """The descriptor of a folder, to list it and to open what is in it."""
    descriptor = _open(path, within, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def inner_folder(name: str, folder: int, *, follow: bool) -> Iterator[int]:
    """The descriptor of a folder in an open one; without `follow` it must not be a link."""
    descriptor = os.open(name, _FOLDER | (0 if follow else os.O_NOFOLLOW), dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path, within: Path | None, flags: int) -> int:
    if within is None:
        return os.open(path, flags)
    parts = _parts(path, within)
    descriptor = os.open(within, _FOLDER)
    for number, part in enumerate(parts, 1):
        above = descriptor
        try:
            descriptor = os.open(part, (flags if number == len(parts) else _FOLDER) | os.O_NOFOLLOW, dir_fd=above)
        finally:
            os.close(above)
    return descriptor


def _parts(path: Path, within: Path) -> tuple[str, ...]:
    """Where a path leads now, as seen from the folder."""
    found, folder = Path(os.path.realpath(path)), Path(os.path.realpath(within))
    if not found.is_relative_to(folder):
        raise OSError(errno.EXDEV, "it leads out of the allowed folder")
    return found.relative_to(folder).parts
