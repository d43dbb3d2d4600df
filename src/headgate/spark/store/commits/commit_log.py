"""What runs have done, in order: one record per run, and one fsync for all runs that are committed together.

    commits/GENERATION.log      frames; the first holds the state so far, each further one is a commit

Compaction writes the next generation, whose first frame replaces the history, and removes the old file; of several
generations the newest counts. What a record is: `records`; what is torn and what is damaged: `frames`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import remove_temporary, write_atomic
from headgate.spark.store.commits.records import Commit, CommittedState, decode, decode_state, encode, encode_state
from headgate.spark.store.frame_file import FrameFile, frame
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
        """The newest commit's number; they count from 1 and survive compaction."""
        return self.state.number

    @property
    def size(self) -> int:
        """Bytes on disk: a reason to compact."""
        return self._file.size

    def append(self, commit: Commit) -> int:
        """Make a run count; it is durable on return, which is the commit's number."""
        return self.append_all([commit])[0]

    def append_all(self, commits: Sequence[Commit]) -> list[int]:
        """Make several runs count with one write and one fsync; gives their numbers.

        All of them are durable on return, and none of them counts after an error. Only if the process dies meanwhile
        may some count and others not: those at the beginning, each of them whole.
        """
        with self._lock:
            numbers = [self.state.number + place for place in range(1, len(commits) + 1)]
            self._file.append_all([encode(commit, number) for commit, number in zip(commits, numbers, strict=True)])
            for commit in commits:
                self.state.apply(commit)
            return numbers

    def commits(self) -> Iterator[tuple[int, Commit]]:
        """The commits since the last compaction with their numbers."""
        with self._lock:
            file, places = self._file, list(self._file.places[1:])
        for index, place in enumerate(places, start=1):
            try:
                yield decode(file.read(place))
            except (KeyError, TypeError, ValueError) as error:
                raise HeadgateError(
                    f"record {index} cannot be read: {error}", where=str(file.path), hint="restore it from a copy"
                ) from error

    def base(self) -> CommittedState:
        """The sum of what came before those."""
        return decode_state(self._file.read(self._file.places[0]))

    def compact(self, upto: int | None = None) -> None:
        """Replace the commits up to that number, whose results must be safe in their sinks, by their sum."""
        with self._lock:
            state = self._state_at(upto)
            known = self.base().number
            if state.number <= known:
                return
            at("commit.compact.before")
            old = self._file
            places = old.places[1 + state.number - known :]
            data = b"".join((frame(encode_state(state)), *map(old.raw, places)))
            path = self.folder / _name(int(old.path.stem) + 1)
            try:
                write_atomic(path, data, point="commit.compact")
                at("commit.compact.written")
                self._file = FrameFile(path, point="commit.append")
            except BaseException:
                if path.exists():  # it counts for whoever opens the log: nothing may be added to the old one
                    old.refuse()
                raise
            disk.unlink(old.path)
            at("commit.compact.after")

    def _open(self) -> FrameFile:
        remove_temporary(self.folder)
        found = sorted(self.folder.glob("*.log"))
        if not found:
            found = [self.folder / _name(1)]
            write_atomic(found[0], frame(encode_state(CommittedState())))
        for old in found[:-1]:
            disk.unlink(old)
        file = FrameFile(found[-1], point="commit.append")
        if not file.places:  # it was renamed into place with its first record
            raise HeadgateError("the first record is missing", where=str(file.path), hint="restore it from a copy")
        return file

    def _state_at(self, upto: int | None) -> CommittedState:
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


def _name(generation: int) -> str:
    return f"{generation:020}.log"
