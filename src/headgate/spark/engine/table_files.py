"""Where Spark reads the files of a stored table: in their place, or in a copy if they must lie in a folder.

Spark opens files by their names, whenever it needs them, so a link could be put in a file's place after it was checked.
Files that must lie in a folder (`Table.within`) are therefore opened here, as `contained_files` says, and copied into
the data directory's folder `aside`, which all machines of a cluster see. Copies that are left over are removed when the
directory is opened.
"""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from headgate.contained_files import inner_file, inner_folder, open_file, opened_folder
from headgate.model import HeadgateError, Table
from headgate.spark.store.own_files import check_table_path


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Says where to read tables; results of queries are refused."""

    copies: Path  # the folder of copies

    def __call__(self, table: Table) -> Table:
        """The table as Spark is to read it."""
        if table.path is None:
            return table
        check_table_path(table.path)
        if table.within is None:
            return table
        copy = self.copies.absolute() / f"table-{uuid4().hex}"
        copy.mkdir(parents=True)
        try:
            path = _copied(Path(table.path), Path(table.within), copy)
        except (OSError, RecursionError) as caught:
            error = (
                caught if isinstance(caught, OSError) else OSError(errno.ENAMETOOLONG, "folders are nested too deeply")
            )
            shutil.rmtree(copy, ignore_errors=True)
            raise HeadgateError(
                f"table '{table.name}' cannot be read: {error.strerror or error}",
                where=str(error.filename or table.path),
                hint=f"put plain files below '{table.within}'; links there may lead to files of that folder",
            ) from None
        return replace(table, path=str(path), within=None)


def _copied(path: Path, within: Path, target: Path) -> Path:
    """A copy of a file or of a folder with all that is in it, under its name in the target folder."""
    copy = target / (path.name if path.name not in ("", "..") else "files")
    try:
        with opened_folder(path, within) as descriptor:
            if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(path)):
                raise OSError(errno.EINVAL, "the data directory is in it", str(path))
            _copy_folder(descriptor, path, within, copy)
    except NotADirectoryError:
        with open_file(path, within) as file, open(copy, "xb") as written:
            shutil.copyfileobj(file, written)
    return copy


def _copy_folder(descriptor: int, path: Path, within: Path, target: Path) -> None:
    target.mkdir()
    with os.scandir(descriptor) as scan:
        entries = [entry for entry in scan if entry.name[0] not in "._"]
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            with inner_folder(entry.name, descriptor, follow=False) as inner:
                _copy_folder(inner, path / entry.name, within, target / entry.name)
        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
            _copy_file(entry, descriptor, path / entry.name, within, target / entry.name)


def _copy_file(entry: os.DirEntry[str], folder: int, path: Path, within: Path, target: Path) -> None:
    try:
        opened = open_file(path, within) if entry.is_symlink() else inner_file(entry.name, folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    with opened as file, open(target, "xb") as written:
        shutil.copyfileobj(file, written)
