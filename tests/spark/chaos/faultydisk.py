"""A disk for tests that forgets what was not forced to it, refuses operations, and dies at any of them.

Operations are done in a real folder, so the code under test reads what it wrote. Beside it the disk remembers what a
power cut would leave: of a file its content at its last fsync and what was written since, of a folder its names at its
last fsync and how they have changed since. `crash` rebuilds the folder from that, as file systems may; `kill` leaves
everything that was written, as the death of a process does.

    disk = FaultyDisk(folder, seed=7)
    disk.crash_at = 12                      # the 12th operation raises Crash, and so does every one after it
    with use(disk), suppress(Crash):
        work(folder)
    disk.crash()                            # the power is cut and is back; from here on the disk works again
    with use(disk):
        look(folder)

The seed and an operation's number name a case: the same code does the same operations again.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from errno import ENOSPC
from pathlib import Path
from typing import Any

from tests.spark.chaos.remembered import File, Folder, Node, Written, after_power_cut, build

from headgate.spark.store.disk import Disk, Name

OPERATIONS = ("open", "write", "truncate", "fsync", "replace", "unlink", "mkdir", "rmdir")
GROWING = ("open", "write", "mkdir")  # what a full disk refuses
RECENT = 30  # operations told when a case fails


class Crash(BaseException):
    """The process is dead. Not an Exception: nothing under test goes on after it."""


@dataclass(slots=True)
class Fault:
    """An operation that is to fail, after so many of its name."""

    operation: str
    error: int
    after: int


class FaultyDisk(Disk):
    """One folder on such a disk; what lies outside it is passed through, and counted.

    `rates` are the chances that an operation fails: `{("fsync", errno.EIO): 0.01}`.
    """

    def __init__(self, root: Path, seed: int = 0, rates: Mapping[tuple[str, int], float] | None = None) -> None:
        self.root, self.seed, self.rates = root, seed, dict(rates or {})
        self.number = 0  # of the newest operation
        self.crash_at: int | None = None
        self.full = False  # while it is, nothing can be made or written
        self._start = f"{root}/"
        self._recent: deque[tuple[int, str, Name]] = deque(maxlen=RECENT)
        self._dead = False
        self._chance = random.Random(seed)
        self._faults: list[Fault] = []
        self._open: dict[int, tuple[Name, Node | None]] = {}
        self._tree = Folder()
        self._tree.adopt(root, deep=True)
        self._tree.settle()

    def fail_next(self, operation: str, error: int, after: int = 0) -> None:
        """Let the next operation of that name, or `any`, fail, or the one after so many of them."""
        if operation not in (*OPERATIONS, "any"):
            raise ValueError(f"there is no operation {operation}: any, {', '.join(OPERATIONS)}")
        self._faults.append(Fault(operation, error, after))

    def clear_faults(self) -> None:
        """From now on everything works, but for what `rates` and `full` say."""
        self._faults.clear()

    def crash(self, chance: random.Random | None = None, *, reorder: bool = False, holes: float = 0.0) -> None:
        """Cut the power, and come back with what the disk may have.

        Changes of names that were not forced to disk are there up to some moment, another for each folder; with
        `reorder` any of them may be missing. What was written and not forced to disk is there up to some byte; with
        that chance of `holes`, a block of it is zeros or garbage.
        """
        self._tree.adopt(self.root, deep=True)
        self._tree = after_power_cut(self._tree, chance or self._chance, reorder=reorder, holes=holes)
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        build(self.root, self._tree)
        self._restart()

    def kill(self) -> None:
        """End the process: nothing that was written is lost, and nothing has become durable by it."""
        for path in self.root.rglob("*"):
            if path.is_file():  # a new file, since the old one may be locked by what counts as dead now
                content = path.read_bytes()
                path.unlink()
                path.write_bytes(content)
        self._restart()

    def told(self) -> str:
        """What names this moment, for the message of a failing case."""
        lines = (f"\n  {number} {name} {os.fspath(path)}" for number, name, path in self._recent)
        return f"seed {self.seed}, operation {self.number}, the last of these:{''.join(lines)}"

    def open(self, path: Name, flags: int) -> int:
        folder, name = self._find(path)
        makes = bool(flags & os.O_CREAT) and not os.path.lexists(path)
        if makes or flags & os.O_TRUNC:
            self._step("open", path)
        elif self._dead:
            raise Crash
        descriptor = super().open(path, flags)
        if makes and folder is not None:
            folder.change(comes=(name, File()))
        node = self._node(folder, name, path)
        if flags & os.O_TRUNC and not makes and isinstance(node, File):
            node.pending.append(Written(0, None))
        self._open[descriptor] = path, node
        return descriptor

    def write(self, descriptor: int, data: Any, position: int) -> int:
        """A write that meets its end, or finds the disk full, may leave a part behind."""
        path, node = self._opened(descriptor)
        try:
            self._step("write", path)
        except Crash:
            self._write(descriptor, node, data[: self._chance.randint(0, len(data))], position)
            raise
        except OSError as error:
            part = self._chance.randrange(len(data)) if error.errno == ENOSPC and not self.full else 0
            if not part:
                raise
            self._faults.insert(0, Fault("write", ENOSPC, 0))
            return self._write(descriptor, node, data[:part], position)
        return self._write(descriptor, node, data, position)

    def truncate(self, descriptor: int, size: int) -> None:
        path, node = self._opened(descriptor)
        self._step("truncate", path)
        super().truncate(descriptor, size)
        if isinstance(node, File):
            node.pending.append(Written(size, None))

    def fsync(self, descriptor: int) -> None:
        """One that fails has lost what was written: the system takes it for written from then on, as Linux does."""
        path, node = self._opened(descriptor)
        try:
            self._step("fsync", path)
        except OSError:
            if isinstance(node, File):
                node.pending.clear()
            raise
        if isinstance(node, Folder):
            node.adopt(Path(path), deep=False)
        if node is not None:
            node.sync()
        else:
            super().fsync(descriptor)

    def replace(self, source: Name, target: Name) -> None:
        left, old = self._find(source)
        entered, new = self._find(target)
        node = self._node(left, old, source)
        self._step("replace", target)
        super().replace(source, target)
        if left is None or entered is None or node is None:
            return
        if left is entered:
            left.change(goes=old, comes=(new, node))
        else:
            left.change(goes=old, requires=(entered.change(comes=(new, node)),))

    def unlink(self, path: Name) -> None:
        folder, name = self._find(path)
        self._node(folder, name, path)
        self._step("unlink", path)
        super().unlink(path)
        if folder is not None:
            folder.change(goes=name)

    def mkdir(self, path: Name) -> None:
        folder, name = self._find(path)
        self._step("mkdir", path)
        super().mkdir(path)
        if folder is not None:
            folder.change(comes=(name, Folder()))

    def rmdir(self, path: Name) -> None:
        folder, name = self._find(path)
        node = self._node(folder, name, path)
        self._step("rmdir", path)
        super().rmdir(path)
        if folder is not None and isinstance(node, Folder):
            folder.change(goes=name, requires=tuple(node.pending))

    def _step(self, operation: str, path: Name) -> None:
        """Count an operation; die or fail here if that is asked for."""
        if self._dead:
            raise Crash
        self.number += 1
        self._recent.append((self.number, operation, path))
        if self.number == self.crash_at:
            self._dead = True
            raise Crash(self.told())
        error = self._fault(operation)
        if error:
            raise OSError(error, os.strerror(error), os.fspath(path))

    def _fault(self, operation: str) -> int:
        """The error that this operation meets, 0 if none."""
        if self.full and operation in GROWING:
            return ENOSPC
        for fault in self._faults:
            if fault.operation in (operation, "any"):
                fault.after -= 1
                if fault.after < 0:
                    self._faults.remove(fault)
                    return fault.error
        for (name, error), rate in self.rates.items():
            if name == operation and self._chance.random() < rate:
                return error
        return 0

    def _restart(self) -> None:
        self._dead, self.crash_at = False, None
        self._faults.clear()
        self._open.clear()

    def _write(self, descriptor: int, node: Node | None, data: Any, position: int) -> int:
        written = super().write(descriptor, data, position)
        if isinstance(node, File):
            node.pending.append(Written(position, bytes(data[:written])))
        return written

    def _opened(self, descriptor: int) -> tuple[Name, Node | None]:
        """The file of a descriptor; one that is not known is of a process that has ended."""
        if descriptor not in self._open:
            raise Crash(f"descriptor {descriptor} was opened before the last crash")
        return self._open[descriptor]

    def _find(self, path: Name) -> tuple[Folder | None, str]:
        """The folder that a path is in, None if that is outside or missing, and the name in it."""
        text = os.fspath(path)
        if not text.startswith(self._start):
            return None, text
        *above, name = text[len(self._start) :].split("/")
        folder = self._tree
        for depth, each in enumerate(above):
            node = folder.live.get(each)
            if node is None:
                node = self._node(folder, each, self._start + "/".join(above[: depth + 1]))
            if not isinstance(node, Folder):
                return None, name
            folder = node
        return folder, name

    def _node(self, folder: Folder | None, name: str, path: Name) -> Node | None:
        """The file or folder of a name; one that somebody else has made is taken in."""
        if folder is None:
            return self._tree if os.fspath(path) == os.fspath(self.root) else None
        if name not in folder.live and os.path.lexists(path):
            folder.adopt(Path(path).parent, deep=False)
        return folder.live.get(name)
