"""Which files of a folder match a pattern, and how they are now: one look, without opening any file."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from headgate.contained_files import inner_folder, open_file, opened_folder
from headgate.model import HeadgateError
from headgate.spark.store.own_files import (
    OWN_FILES,
    OWN_FOLDERS,
    RESULTS,
    check_source_folder,
    is_data_directory,
    is_result,
    not_for_sources,
)


class State(NamedTuple):
    """What changes when a file is written or another one is put in its place."""

    inode: int
    size: int
    written: int  # nanoseconds
    changed: int  # likewise: also when its name or its rights were


def state_of(found: os.stat_result) -> State:
    """How a file was found."""
    return State(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@dataclass(frozen=True)
class Files:
    """The files below a folder that match a pattern; `**` stands for any folders, and does not go through links.

    With `within`, what leads out of that folder is not followed.
    """

    folder: Path
    pattern: str
    within: Path | None = None

    def listed(self) -> Listing:
        """The files as they are now; files that Headgate writes for itself are refused, wherever they are."""
        listing = Listing()
        with opened_folder(self.folder, self.within) as descriptor:
            self._list(descriptor, "", frozenset({0}), "", listing)
        return listing

    @cached_property
    def _parts(self) -> list[re.Pattern[str] | None]:
        """A pattern for each part of a path; None is `**`."""
        parts = PurePosixPath(self.pattern).parts
        return [None if part == "**" else re.compile(translate(part)) for part in parts]

    def _list(self, descriptor: int, prefix: str, places: frozenset[int], own: str, listing: Listing) -> None:
        """List a folder in which the next name may match any of the pattern's parts at these places."""
        places = self._with_skipped(places)
        last = len(self._parts) - 1
        with os.scandir(descriptor) as scan:
            entries = list(scan)
        ours = is_data_directory({entry.name for entry in entries})
        for entry in entries:
            name = prefix + entry.name
            matching = [place for place in places if self._fits(place, entry.name)]
            if last in matching and entry.name[0] not in "._" and (file := self._file(entry, name, listing)):
                if own or is_result(entry.name) or (ours and entry.name in OWN_FILES):
                    results = own == RESULTS or is_result(entry.name)
                    raise not_for_sources((self.folder / name).parent, results=results)
                listing.files[name] = file
            inner = frozenset(place + 1 for place in matching if place < last)
            hidden = entry.name[0] in "._"  # as what Spark is still writing: ** does not go there
            deeper = frozenset(place for place in places if self._parts[place] is None and not hidden)
            if inner or deeper:
                belongs = own or (entry.name if ours and entry.name in OWN_FOLDERS else "")
                self._descend(entry, descriptor, name, (inner, deeper), belongs, listing)

    def _descend(
        self,
        entry: os.DirEntry[str],
        above: int,
        name: str,
        places: tuple[frozenset[int], frozenset[int]],
        own: str,
        listing: Listing,
    ) -> None:
        """List a folder in a folder; one that has gone, or that may not be read, is left out."""
        inner, deeper = places
        link = entry.is_symlink()
        following = inner if link else inner | deeper
        with suppress(OSError):  # a link that leads nowhere
            if not following or not entry.is_dir():
                return
            if link and self.within is not None:
                listing.unread[name] = "links to folders are not followed"
                return
        if link:
            check_source_folder(self.folder / name)
        try:
            with inner_folder(entry.name, above, follow=self.within is None) as descriptor:
                self._list(descriptor, f"{name}/", following, own, listing)
        except (OSError, RecursionError):  # away, not to be read, or nested too deeply
            listing.unseen.append(f"{name}/")

    def _file(self, entry: os.DirEntry[str], name: str, listing: Listing) -> State | None:
        """How a file is now; None for what is no file, has gone, or must not be read."""
        with suppress(OSError):  # gone, or a link that leads nowhere
            if entry.is_symlink():
                check_source_folder(self.folder / name)
            if self.within is None or not entry.is_symlink():
                found = entry.stat(follow_symlinks=self.within is None)
                return state_of(found) if stat.S_ISREG(found.st_mode) else None
            if not entry.is_dir():
                return self._linked(name, listing)
        return None

    def _linked(self, name: str, listing: Listing) -> State | None:
        try:
            with open_file(self.folder / name, self.within) as file:
                return state_of(os.fstat(file.fileno()))
        except OSError as error:
            listing.unread[name] = error.strerror or str(error)
        return None

    def _fits(self, place: int, name: str) -> bool:
        part = self._parts[place]
        return part is not None and part.match(name) is not None

    def _with_skipped(self, places: frozenset[int]) -> frozenset[int]:
        """With the places behind each `**`, which may stand for no folder."""
        skipped = set(places)
        for place in sorted(places):
            while place < len(self._parts) - 1 and self._parts[place] is None:
                place += 1
                skipped.add(place)
        return frozenset(skipped)


@dataclass(slots=True)
class Listing:
    """What one look has found."""

    files: dict[str, State] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)  # what must not be read, and why
    unseen: list[str] = field(default_factory=list)  # folders that could not be looked at, with a slash behind them


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that leaves the folder or names nothing."""
    path = PurePosixPath(pattern)
    if path.is_absolute() or ".." in path.parts:
        raise HeadgateError(f"pattern '{pattern}' leaves the directory", hint="put the directory into path")
    if not path.parts or path.parts[-1] == "**":
        raise HeadgateError(f"pattern '{pattern}' names no files", hint="write for example *.csv, or **/*.csv")
