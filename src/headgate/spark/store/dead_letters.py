"""What a stream or its queries could not take: late rows, text that is no row, rows that an expression failed on.

    NAME.jsonl              the first line says where it begins, each further line is one letter
    NAME.taken-N.jsonl      letters taken for replay and not yet settled

Taking writes the file of those taken, then the other letters as a new NAME.jsonl, whose first line counts the takes: a
file of letters taken with a higher number is a leftover.

A line: {"append": …, "reason": …, "offset": …, "arrival": …, "row": {…}} or with "text" for what could not be read.
With an offset and no row it is of a tuple that is in the stream: a late one, or one on which a query failed.
`append` is the number of the log's append, so that keeping the same append twice keeps it once. What an expression of a
query failed on has its "query", the "commit" that says so, and "offset" or "offsets": the tuples are in the stream.
"""

from __future__ import annotations

import functools
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from headgate.model import HeadgateError
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import sync_folder, write_atomic, writing
from headgate.spark.store.json_lines import from_plain, line
from headgate.spark.store.kill_points import at
from headgate.spark.store.log.stream_log import Appended

P = ParamSpec("P")
R = TypeVar("R")
Choose = Callable[["Letter"], "Letter | None"]


@dataclass(frozen=True, slots=True)
class Letter:
    """A row that a stream could not take, text that should have been one, or what a query's expression failed on."""

    reason: str
    arrival: float
    row: dict[str, Any] | None = None
    text: str | None = None
    offset: int | None = None
    append: int = 0
    query: str | None = None  # whose expression failed on it
    offsets: list[list[Any]] | None = None  # [stream, offset] of each tuple, where it is more than one
    closes: int | None = None  # of a group: the end of its window, microseconds
    values: str | None = None  # what the expression was computed of, as JSON
    commit: int = 0

    def origins(self, stream: str) -> tuple[tuple[str, int], ...]:
        """The tuples that it is about, in a stream's letters, as (stream, offset)."""
        if self.offsets is not None:
            return tuple((name, offset) for name, offset in self.offsets)
        return () if self.offset is None else ((stream, self.offset),)


@dataclass(frozen=True, slots=True)
class Taken:
    """Letters taken for replay. Append them under `batch`, then settle: also after a crash they go in once."""

    batch: str
    letters: tuple[Letter, ...]

    def rows(self, schema: pa.Schema) -> pa.Table:
        """Those that are rows, with the stream's types."""
        return from_plain([letter.row for letter in self.letters if letter.row is not None], schema)


@dataclass(frozen=True, slots=True)
class Header:
    """What a file must know of letters that are gone: how often some were taken, the newest append, how much of it.

    The same of the newest commit, which has letters of queries.
    """

    takes: int = 0
    append: int = 0
    kept: int = 0
    commit: int = 0
    committed: int = 0

    def with_letter(self, letter: Letter) -> Header:
        """The header of a file that would follow after this letter."""
        if letter.commit and letter.commit >= self.commit:
            count = self.committed + 1 if letter.commit == self.commit else 1
            return replace(self, commit=letter.commit, committed=count)
        if letter.append == 0 or letter.append < self.append:
            return self
        return replace(self, append=letter.append, kept=self.kept + 1 if letter.append == self.append else 1)


def _alone(method: Callable[Concatenate[DeadLetters, P], R]) -> Callable[Concatenate[DeadLetters, P], R]:
    """One thread at a time: the appender keeps letters while others list or take them."""

    @functools.wraps(method)
    def alone(self: DeadLetters, /, *arguments: P.args, **named: P.kwargs) -> R:
        with self._lock:
            if self._unsure:
                self._load()
            return method(self, *arguments, **named)

    return alone


class DeadLetters:
    """The dead letters of one stream; several threads may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._unsure = True
        disk.make_folder(path.parent)
        if not path.exists():
            self._write_all(path, Header(), ())
        self._load()

    def _load(self) -> None:
        """What the files say, at the start and after a write that failed; it is durable before anyone builds on it."""
        with writing(self.path):
            sync_folder(self.path.parent)
            self._cut_torn_line()
        self._header, letters = self._read(self.path)
        self._remove_unfinished()
        self._reasons = Counter(letter.reason for letter in letters)
        for letter in letters:
            self._header = self._header.with_letter(letter)
        self._unsure = False

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """What the files say is not known if this breaks off."""
        self._unsure = True
        yield
        self._unsure = False

    @_alone
    def keep(self, appended: Appended) -> int:
        """Keep what an append rejected or found late; the second time nothing happens. Returns how many were new."""
        if appended.number < self._header.append:
            return 0
        letters = [
            Letter(reason, appended.arrival, row=row, append=appended.number)
            for rows, reason in appended.rejected
            for row in rows.to_pylist()
        ]
        letters += [
            Letter(reason, appended.arrival, offset=offset, append=appended.number) for offset, reason in appended.late
        ]
        if appended.number == self._header.append:
            letters = letters[self._header.kept :]
        self._write(letters)
        return len(letters)

    @_alone
    def keep_committed(self, commit: int, told: Sequence[Mapping[str, Any]]) -> None:
        """Keep what a commit says of this stream; the second time nothing happens. Commits come in rising order."""
        if commit < self._header.commit:
            return
        letters = [Letter(**each, commit=commit) for each in told]
        self._write(letters[self._header.committed :] if commit == self._header.commit else letters)

    @_alone
    def add(self, letters: Sequence[Letter]) -> None:
        """Keep tuples that were refused before they came to the log."""
        self._write(letters)

    @_alone
    def failed(self, query: str) -> list[tuple[tuple[tuple[str, int], ...], int | None]]:
        """What a query's expressions failed on: the tuples, as (stream, offset), and the end of a group's window."""
        found = [letter for letter in self._read(self.path)[1] if letter.query == query]
        return [(letter.origins(unquote(self.path.stem)), letter.closes) for letter in found]

    @_alone
    def letters(self) -> list[Letter]:
        """All that have not been taken, oldest first."""
        return self._read(self.path)[1]

    def count(self, reason: str | None = None) -> int:
        return self._reasons.total() if reason is None else self._reasons[reason]

    @_alone
    def take(self, choose: Choose = lambda letter: letter) -> Taken | None:
        """Take letters for replay, or those taken before and not settled; None where there are none.

        `choose` may change a letter, or leave it where it is (None).
        """
        if self._taken() is None:
            self._take(choose)
        return self.unsettled()

    def _take(self, choose: Choose) -> None:
        taken: list[Letter] = []
        rest: list[Letter] = []
        for letter in self.letters():
            chosen = choose(letter)
            if chosen is None:
                rest.append(replace(letter, append=0, commit=0))  # the header counts it already
            else:
                taken.append(chosen)
        if not taken:
            return
        header = replace(self._header, takes=self._header.takes + 1)
        with self._changing():
            self._write_all(self._taken_path(header.takes), Header(), taken)
            at("letters.take.written")
            self._write_all(self.path, header, rest)
        at("letters.take.after")
        self._header, self._reasons = header, Counter(letter.reason for letter in rest)

    @_alone
    def unsettled(self) -> Taken | None:
        """Letters that were taken before a crash, perhaps: replay them before anything else."""
        waiting = self._taken()
        if waiting is None:
            return None
        return Taken(f"deadletters-{_number(waiting.stem):08}", tuple(self._read(waiting)[1]))

    @_alone
    def settle(self, taken: Taken) -> None:
        """The letters are in the log, and those that it rejected are kept: forget them."""
        at("letters.settle.before")
        disk.unlink(self._taken_path(_number(taken.batch)), missing_ok=True)
        sync_folder(self.path.parent)
        at("letters.settle.after")

    def _write(self, letters: Sequence[Letter]) -> None:
        if not letters:
            return
        data = "".join(line(_told(letter)) + "\n" for letter in letters).encode()
        at("letters.keep.before")
        with self._changing(), writing(self.path), disk.opened(self.path, os.O_WRONLY) as descriptor:
            size = os.fstat(descriptor).st_size
            at("letters.keep.half", first=lambda: disk.write_all(descriptor, data[: len(data) // 2], size))
            try:
                disk.write_all(descriptor, data, size)
                disk.fsync(descriptor)
            except OSError:
                disk.truncate(descriptor, size)  # half a letter would make the next one unreadable
                raise
        at("letters.keep.after")
        for letter in letters:
            self._header = self._header.with_letter(letter)
            self._reasons[letter.reason] += 1

    def _write_all(self, path: Path, header: Header, letters: Iterable[Letter]) -> None:
        lines = (line(asdict(header)), *(line(_told(letter)) for letter in letters))
        write_atomic(path, "".join(f"{each}\n" for each in lines).encode())

    def _remove_unfinished(self) -> None:
        """Letters whose taking was broken off are all in the file still."""
        waiting = self._taken()
        if waiting is not None and _number(waiting.stem) > self._header.takes:
            disk.unlink(waiting)

    def _taken(self) -> Path | None:
        found = sorted(self.path.parent.glob(f"{self.path.stem}.taken-*.jsonl"))
        return found[0] if found else None

    def _taken_path(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.stem}.taken-{number:08}.jsonl")

    def _cut_torn_line(self) -> None:
        """A line without its end was never acknowledged; the others may not have reached the disk either.

        They are written again: after an fsync that failed the system takes them for written, and another fsync alone
        would do nothing. What follows them would then be behind a hole after a power cut.
        """
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        with disk.opened(self.path, os.O_WRONLY) as descriptor:
            if len(whole) < len(data):
                disk.truncate(descriptor, len(whole))
            disk.write_all(descriptor, whole, 0)
            disk.fsync(descriptor)

    def _read(self, path: Path) -> tuple[Header, list[Letter]]:
        try:
            lines = self._lines(path)
            return Header(**next(lines)), [Letter(**told) for told in lines]
        except (StopIteration, ValueError, TypeError) as error:
            raise HeadgateError(
                "a line is not a dead letter", where=str(path), hint="correct the line or move the file away"
            ) from error

    def _lines(self, path: Path) -> Iterator[dict[str, Any]]:
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from map(json.loads, file)


def _number(name: str) -> int:
    """The number at the end of a name."""
    return int(name.rpartition("-")[2])


def _told(letter: Letter) -> dict[str, Any]:
    told = {name: getattr(letter, name) for name in Letter.__slots__}
    return {name: value for name, value in told.items() if value is not None and (name != "commit" or value)}
