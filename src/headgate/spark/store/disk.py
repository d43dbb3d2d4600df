"""The only module through which the store changes files, so that tests can replace the disk by a faulty one.

`Disk` has the operations of the operating system that change files. The store calls the functions of this module, which
use the real disk unless a test has put another in its place: one that counts operations, lets some fail, or loses what
was not forced to disk. Files are read directly, since also such a disk keeps them in a real folder.

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
        """Write and give the number of bytes written, perhaps not all, as on a disk that is nearly full."""
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
    """Use another disk meanwhile; for tests."""
    global _in_use
    before, _in_use = _in_use, other
    try:
        yield
    finally:
        _in_use = before


def open(path: Name, flags: int) -> int:
    """Open a file; the caller closes the descriptor with `os.close`."""
    return _in_use.open(path, flags)


@contextmanager
def opened(path: Name, flags: int) -> Iterator[int]:
    """Open a file for the duration of a `with` block."""
    descriptor = _in_use.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: Any, position: int) -> None:
    """Write all of the data, with several calls if need be."""
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
    """Force a file or folder that is not open to disk."""
    with opened(path, os.O_RDONLY) as descriptor:
        _in_use.fsync(descriptor)


def replace(source: Name, target: Name) -> None:
    """Rename a file; a file that has the new name already is replaced."""
    _in_use.replace(source, target)


def unlink(path: Name, *, missing_ok: bool = False) -> None:
    """Remove a file."""
    try:
        _in_use.unlink(path)
    except FileNotFoundError:
        if not missing_ok:
            raise


def mkdir(path: Name) -> None:
    """Create a folder unless it exists; its name is not forced to disk."""
    try:
        _in_use.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_folder(path: Path) -> None:
    """Create a folder and those above it that are missing; their names are durable on return.

    The name of a folder that exists is forced to disk too: whoever created it may have died before doing so.
    """
    if not path.is_dir():
        make_folder(path.parent)
        mkdir(path)
    with suppress(PermissionError):  # a folder above need not be readable
        sync(path.parent)


def rmtree(path: Name) -> None:
    """Remove a folder with everything in it."""
    with os.scandir(path) as entries:
        content = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in content:
        rmtree(name) if is_folder else _in_use.unlink(name)
    _in_use.rmdir(path)
