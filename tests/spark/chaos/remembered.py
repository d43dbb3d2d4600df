"""What a disk remembers of files and folders: what has reached it for certain, and what has happened since.

Files and folders are known by themselves, not by their names, so that content stays with a file that is renamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

BLOCK = 512  # what a disk writes at once


class Written(NamedTuple):
    """Bytes written at a position; None if the file was cut off there."""

    position: int
    data: bytes | None

    def put(self, content: bytearray) -> None:
        if self.data is None:
            del content[self.position :]
        if len(content) < self.position:
            content.extend(bytes(self.position - len(content)))
        if self.data is not None:
            content[self.position : self.position + len(self.data)] = self.data


@dataclass(eq=False, slots=True)
class File:
    """Content at the last fsync, and what was written since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Written] = field(default_factory=list)

    def sync(self) -> None:
        for written in self.pending:
            written.put(self.durable)
        self.pending.clear()

    def after_power_cut(self, chance: Random, holes: float) -> bytearray:
        """What was forced to disk, and some of the rest: nothing, all, or up to some byte of some write."""
        kept = self.pending[: chance.choice((0, len(self.pending), chance.randint(0, len(self.pending))))]
        if len(kept) < len(self.pending) and chance.random() < 0.7:
            position, data = self.pending[len(kept)]
            if data:
                kept.append(Written(position, data[: chance.randrange(len(data))]))
        content = bytearray(self.durable)
        for written in kept:
            written.put(content)
        if kept and kept[-1].data and chance.random() < holes:
            _spoil(content, kept[-1].position, len(kept[-1].data), chance)
        return content


def _spoil(content: bytearray, position: int, length: int, chance: Random) -> None:
    """One block of the newest write has reached the disk as zeros or as anything else."""
    first = chance.randrange(position, position + length)
    last = min(position + length, (first // BLOCK + 1) * BLOCK)
    first = max(position, first // BLOCK * BLOCK)
    content[first:last] = bytes(last - first) if chance.random() < 0.5 else chance.randbytes(last - first)


@dataclass(eq=False, slots=True)
class Change:
    """One change of a folder's names: a name goes, a name comes, or both at once.

    What it requires, changes of other folders, reaches the disk before it: file systems do not lose a file that moves
    from one folder to another, and do not remove a folder that still has something in it.
    """

    folder: Folder
    goes: str | None = None
    comes: tuple[str, Node] | None = None
    requires: tuple[Change, ...] = ()
    durable: bool = False

    def put(self, names: dict[str, Node]) -> None:
        if self.goes is not None:
            names.pop(self.goes, None)
        if self.comes is not None:
            names[self.comes[0]] = self.comes[1]


@dataclass(eq=False, slots=True)
class Folder:
    """Names now, names at the last fsync, and how they have changed since."""

    live: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def change(
        self, goes: str | None = None, comes: tuple[str, Node] | None = None, requires: tuple[Change, ...] = ()
    ) -> Change:
        change = Change(self, goes, comes, requires)
        change.put(self.live)
        self.pending.append(change)
        return change

    def sync(self, upto: Change | None = None) -> None:
        """Bring changes to disk, all or up to one."""
        while self.pending:
            change = self.pending.pop(0)
            change.durable = True
            for required in change.requires:
                if not required.durable:
                    required.folder.sync(required)
            change.put(self.durable)
            if change is upto:
                return

    def adopt(self, path: Path, *, deep: bool) -> None:
        """Take in what somebody else has made in the real folder, `deep` also below it; nothing of it is durable."""
        for name in os.listdir(path):
            known = self.live.get(name)
            if known is None:
                found = path / name
                known = Folder() if found.is_dir() else File(pending=[Written(0, found.read_bytes())])
                self.change(comes=(name, known))
                if isinstance(known, Folder):
                    known.adopt(found, deep=True)
            elif deep and isinstance(known, Folder):
                known.adopt(path / name, deep=True)

    def settle(self) -> None:
        """Everything in it has reached the disk."""
        self.sync()
        for node in self.live.values():
            node.sync() if isinstance(node, File) else node.settle()


Node = File | Folder


def after_power_cut(tree: Folder, chance: Random, *, reorder: bool, holes: float) -> Folder:
    """The tree as the disk may have it, all of it durable."""
    kept: set[Change] = set()
    folders = list(_folders(tree, set()))
    for folder in folders:
        many = chance.randint(0, len(folder.pending))
        kept.update(chance.sample(folder.pending, many) if reorder else folder.pending[:many])
    _drop_unfounded(folders, kept, reorder=reorder)
    return _rebuilt(tree, kept, {}, chance, holes)


def _folders(folder: Folder, seen: set[int]) -> Iterator[Folder]:
    """Every folder that a name led to at some time since the last fsync."""
    if id(folder) in seen:
        return
    seen.add(id(folder))
    yield folder
    come = (change.comes[1] for change in folder.pending if change.comes is not None)
    for node in (*folder.durable.values(), *folder.live.values(), *come):
        if isinstance(node, Folder):
            yield from _folders(node, seen)


def _drop_unfounded(folders: list[Folder], kept: set[Change], *, reorder: bool) -> None:
    """Drop changes that require one that is lost, and in order also those after them, until none is left."""
    again = True
    while again:
        again = False
        for folder in folders:
            for index, change in enumerate(folder.pending):
                if change in kept and not all(each.durable or each in kept for each in change.requires):
                    kept.difference_update([change] if reorder else folder.pending[index:])
                    again = True


def _rebuilt(folder: Folder, kept: set[Change], contents: dict[int, bytearray], chance: Random, holes: float) -> Folder:
    names = dict(folder.durable)
    for change in folder.pending:
        if change in kept:
            change.put(names)
    found: dict[str, Node] = {}
    for name, node in names.items():
        if isinstance(node, Folder):
            found[name] = _rebuilt(node, kept, contents, chance, holes)
        else:  # under two names, if it was moved and only its new name has reached the disk: one content
            if id(node) not in contents:
                contents[id(node)] = node.after_power_cut(chance, holes)
            found[name] = File(bytearray(contents[id(node)]))
    return Folder(dict(found), found)


def build(path: Path, tree: Folder) -> None:
    """Make the real folder what the tree says; it is empty."""
    for name, node in tree.live.items():
        if isinstance(node, File):
            (path / name).write_bytes(node.durable)
        else:
            (path / name).mkdir()
            build(path / name, node)
