"""The commit log of a data directory: a run of queries counts as soon as its record is durable here.

    commits/GENERATION.log      a frame file: the first frame is the state so far, each further one is a commit

For example, after 120 commits of which the first 100 have been merged into one state:

    00000000000000000002.log    state after commit 100 | commit 101 | commit 102 | … | commit 120

A commit has the new offsets of the queries together with their results (see `records`), so both are durable or neither
is. After a crash the engine delivers the results of all commits in the log again, and every query goes on at its
committed offsets: *exactly once*. Runs that end at about the same time are committed with one write and one fsync.

*Compaction* shortens the log: it writes the next generation, whose first frame has the state after the commits that are
dropped, and then removes the old file. If a crash leaves several generations, the newest counts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import remove_temporary, write_atomic
from headgate.spark.store.commits.records import Commit, CommittedState, decode, decode_state, encode, encode_state
from headgate.spark.store.frame_file import FrameFile, frame, read_frames
from headgate.spark.store.kill_points import at


class CommitLog:
    """The commits of a data directory; several threads may append."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._file = self._open()
        self.state = self._state_at(None)

    def close(self) -> None:
        self._file.close()

    @property
    def number(self) -> int:
        """The number of the newest commit; they are counted from 1, and compaction does not change them."""
        return self.state.number

    @property
    def size(self) -> int:
        """Bytes on disk, from which follows when to compact."""
        return self._file.size

    def append(self, commit: Commit) -> int:
        """Commit a run; it is durable on return. Gives the number of the commit."""
        return self.append_all([commit])[0]

    def append_all(self, commits: Sequence[Commit]) -> list[int]:
        """Commit several runs with one write and one fsync; gives the numbers of the commits.

        All of them are durable on return, and none of them counts after an error. Only if the process dies meanwhile,
        some at the beginning may count and the others not.
        """
        with self._lock:
            numbers = [self.state.number + step for step in range(1, len(commits) + 1)]
            self._file.append_all([encode(commit, number) for commit, number in zip(commits, numbers, strict=True)])
            for commit in commits:
                self.state.apply(commit)
            return numbers

    def commits(self) -> Iterator[tuple[int, Commit]]:
        """The commits in the log, with their numbers: those since the state of the first frame."""
        with self._lock:
            file, locations = self._file, list(self._file.frames[1:])
        for index, location in enumerate(locations, start=1):
            try:
                yield decode(file.read(location))
            except (KeyError, TypeError, ValueError) as error:
                raise HeadgateError(
                    f"record {index} cannot be read: {error}", where=str(file.path), hint="restore it from a copy"
                ) from error

    def base(self) -> CommittedState:
        """The state before these commits, from the first frame."""
        return decode_state(self._file.read(self._file.frames[0]))

    def compact(self, upto: int | None = None) -> None:
        """Replace the commits up to a number by their sum; their results must be durable in their sinks."""
        with self._lock:
            state = self._state_at(upto)
            base = self.base().number
            if state.number <= base:
                return
            at("commit.compact.before")
            old = self._file
            locations = old.frames[1 + state.number - base :]
            data = b"".join((frame(encode_state(state)), *map(old.raw, locations)))
            path = self.folder / _name(int(old.path.stem) + 1)
            try:
                write_atomic(path, data, point="commit.compact")
                at("commit.compact.written")
                self._file = FrameFile(path, point="commit.append")
            except BaseException:
                if path.exists():  # whoever opens the log takes the newer file: nothing may be added to the old one
                    old.refuse()
                raise
            disk.unlink(old.path)
            at("commit.compact.after")

    def _open(self) -> FrameFile:
        remove_temporary(self.folder)
        generations = sorted(self.folder.glob("*.log"))
        if not generations:
            generations = [self.folder / _name(1)]
            write_atomic(generations[0], frame(encode_state(CommittedState())))
        for old in generations[:-1]:
            disk.unlink(old)
        file = FrameFile(generations[-1], point="commit.append")
        if not file.frames:  # damage: the file got its name with its first frame in it
            raise HeadgateError("the first record is missing", where=str(file.path), hint="restore it from a copy")
        return file

    def _state_at(self, upto: int | None) -> CommittedState:
        """The state after the commit with a number, or after the newest."""
        state = self.base()
        for number, commit in self.commits():
            if upto is not None and number > upto:
                break
            if number != state.number + 1:
                raise HeadgateError(
                    f"commit {state.number + 1} is missing, commit {number} is there",
                    where=str(self._file.path),
                    hint="restore it from a copy",
                )
            state.apply(commit)
        return state


def read_state(folder: Path) -> CommittedState:
    """The state after the newest commit, read without opening the log, which needs the lock of the directory."""
    generations = sorted(folder.glob("*.log")) if folder.is_dir() else []
    if not generations:
        return CommittedState()
    frames = read_frames(generations[-1])
    first = next(frames, None)
    if first is None:
        raise HeadgateError("the first record is missing", where=str(generations[-1]), hint="restore it from a copy")
    state = decode_state(first)
    for payload in frames:
        state.apply(decode(payload, only=())[1])
    return state


def _name(generation: int) -> str:
    return f"{generation:020}.log"
