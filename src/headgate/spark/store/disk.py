"""The one place through which the store changes files.

Nine operations of the operating system (`Disk`), and a few made of them. The store calls the functions of this module,
which go to the disk in use: the real one, unless a test has put another in its place that counts operations, refuses
some, or forgets what was not forced to disk. Reading needs no such place: any disk in use is a real folder.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "a" / "file"
...     make_folder(path.parent)
...     with opened(path, os.O_WRONLY | os.O_CREAT) as descriptor:
...         write_all(descriptor, b"12345", 0)
...         fsync(descriptor)
...     sync(path.parent)
...     path.read_bytes()
b'12345'
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

Name = str | os.PathLike[str]


class Disk:
    """The operations that change files, as the operating system does them."""

    def open(self, path: Name, flags: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC, 0o666)

    def write(self, descriptor: int, data: Any, position: int) -> int:
        """How many bytes were written: perhaps not all, as on a disk that is nearly full."""
        return os.pwrite(descriptor, data, position)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def replace(self, source: Name, target: Name) -> None:
        os.replace(source, target)

    def unlink(self, path: Name) -> None:
        os.unlink(path)

    def mkdir(self, path: Name) -> None:
        os.mkdir(path)

    def rmdir(self, path: Name) -> None:
        os.rmdir(path)


_in_use = Disk()


@contextmanager
def use(other: Disk) -> Iterator[None]:
    """Change files through another disk meanwhile; for tests."""
    global _in_use
    before, _in_use = _in_use, other
    try:
        yield
    finally:
        _in_use = before


def open(path: Name, flags: int) -> int:
    """A descriptor, which the caller closes with `os.close`."""
    return _in_use.open(path, flags)


@contextmanager
def opened(path: Name, flags: int) -> Iterator[int]:
    """A descriptor for as long as the block takes."""
    descriptor = _in_use.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: Any, position: int) -> None:
    """Write all of it: one call may write a part."""
    view = memoryview(data).cast("B")
    while view:
        written = _in_use.write(descriptor, view, position)
        position, view = position + written, view[written:]


def truncate(descriptor: int, size: int) -> None:
    """Cut a file off at that size."""
    _in_use.truncate(descriptor, size)


def fsync(descriptor: int) -> None:
    """Force a file's content, or a folder's names, to disk."""
    _in_use.fsync(descriptor)


def sync(path: Name) -> None:
    """The same for a file or folder that is not open."""
    with opened(path, os.O_RDONLY) as descriptor:
        _in_use.fsync(descriptor)


def replace(source: Name, target: Name) -> None:
    """Give a file another name, in place of the file that had it."""
    _in_use.replace(source, target)


def unlink(path: Name, *, missing_ok: bool = False) -> None:
    """Remove a file."""
    try:
        _in_use.unlink(path)
    except FileNotFoundError:
        if not missing_ok:
            raise


def mkdir(path: Name) -> None:
    """Make a folder, unless it is there; its name has not reached the disk for certain."""
    try:
        _in_use.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_folder(path: Path) -> None:
    """Make a folder with those above it that are missing; their names have reached the disk on return.

    The name of the folder that is there already is forced to disk too: its maker may have died before it could do so.
    """
    if not path.is_dir():
        make_folder(path.parent)
        mkdir(path)
    with suppress(PermissionError):  # a folder above need not be readable
        sync(path.parent)


def rmtree(path: Name) -> None:
    """Remove a folder with everything in it."""
    with os.scandir(path) as entries:
        found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for each, folder in found:
        rmtree(each) if folder else _in_use.unlink(each)
    _in_use.rmdir(path)
