"""Dead letters: tuples that a stream or its queries could not process. Each has a reason, and people can replay them.

They are late rows, rejected rows, texts that are no rows, and tuples on which an expression of a query failed. The
folder `deadletters` of the data directory has these files:

    NAME.jsonl              the dead letters of a stream: the first line is a header, each further line one letter
    NAME.taken-N.jsonl      letters that were taken for replay and are not settled yet

For example, a row without an event time, a late row (which is in the stream, with an offset), a text, and a row on
which query `fire` failed:

    {"reason":"no event time","arrival":100.0,"row":{"id":7,"ts":null},"append":3}
    {"reason":"late by 3.2 s","arrival":100.0,"offset":21,"append":3}
    {"reason":"broken JSON: …","arrival":101.0,"text":"{","append":0}
    {"reason":"division by zero: …","arrival":100.0,"offset":20,"append":0,"query":"fire","commit":120}

*Once.* After a crash the newest append or commit may be kept a second time. Its number, `append` or `commit`, is in
each letter and in the header, so letters that are in the file are not written again.

*Taking* letters writes `NAME.taken-N.jsonl`, then all other letters as a new `NAME.jsonl`, whose header counts how
often letters were taken. So a file whose N is higher than that count was left by a crash, and is removed.
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

from headgate.model import HeadgateError, times
from headgate.spark.store import disk
from headgate.spark.store.atomic_files import sync_folder, write_atomic, writing
from headgate.spark.store.json_lines import from_plain, line
from headgate.spark.store.kill_points import at
from headgate.spark.store.log.late_rows import is_unreadable
from headgate.spark.store.log.stream_log import Appended

P = ParamSpec("P")
R = TypeVar("R")
Choose = Callable[["Letter"], "Letter | None"]


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter: a row, a text, or the offsets of tuples in the stream."""

    reason: str
    arrival: float
    row: dict[str, Any] | None = None  # of a rejected row, which is not in the stream
    text: str | None = None  # of a tuple that is no row
    offset: int | None = None  # of a tuple that is in the stream
    append: int = 0  # the number of the append that rejected it
    query: str | None = None  # whose expression failed on it
    offsets: list[list[Any]] | None = None  # [stream, offset] of each tuple, if there are several
    closes: int | None = None  # for a group of tuples, the end of its window in microseconds
    values: str | None = None  # the values of which the expression was computed, as JSON
    commit: int = 0  # the number of the commit that has the failure

    def origins(self, stream: str) -> tuple[tuple[str, int], ...]:
        """The tuples that the letter is about, as (stream, offset); `stream` is the one whose letters these are."""
        if self.offsets is not None:
            return tuple((name, offset) for name, offset in self.offsets)
        return () if self.offset is None else ((stream, self.offset),)


@dataclass(frozen=True, slots=True)
class Taken:
    """Letters that were taken for replay: append them to the log with the id `batch`, then settle them.

    With this id they are appended once, even if a crash comes in between.
    """

    batch: str
    letters: tuple[Letter, ...]

    def rows(self, schema: pa.Schema) -> pa.Table:
        """The letters that are rows, with the stream's types."""
        return from_plain([letter.row for letter in self.letters if letter.row is not None], schema)


@dataclass(frozen=True, slots=True)
class Header:
    """What must be known of letters that were kept in the file once, even if they have been taken since."""

    takes: int = 0  # how often letters were taken
    append: int = 0  # the newest append of which there are letters
    kept: int = 0  # how many letters of that append were kept
    commit: int = 0  # the newest commit of which there are letters
    committed: int = 0  # how many letters of that commit were kept

    def with_letter(self, letter: Letter) -> Header:
        """The header after this letter has been kept too."""
        if letter.commit and letter.commit >= self.commit:
            count = self.committed + 1 if letter.commit == self.commit else 1
            return replace(self, commit=letter.commit, committed=count)
        if letter.append == 0 or letter.append < self.append:
            return self
        return replace(self, append=letter.append, kept=self.kept + 1 if letter.append == self.append else 1)


def _alone(method: Callable[Concatenate[DeadLetters, P], R]) -> Callable[Concatenate[DeadLetters, P], R]:
    """Let one thread at a time run a method; after a write that failed, read the files again first."""

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
        """Read the files, at the start and after a failed write; they are durable before anybody relies on them."""
        with writing(self.path):
            sync_folder(self.path.parent)
            self._cut_torn_line()
        self._header, letters = self._read(self.path)
        self._remove_unfinished()
        self._counts = _counted(letters)
        for letter in letters:
            self._header = self._header.with_letter(letter)
        self._unsure = False

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """If a change fails half way, the files are read again before anything else."""
        self._unsure = True
        yield
        self._unsure = False

    @_alone
    def keep(self, appended: Appended) -> int:
        """Keep the rejected and late rows of an append, unless they are kept already; gives how many were new."""
        if appended.number < self._header.append:
            return 0
        letters = [letter for rows, reason in appended.rejected for letter in _rejected(appended, rows, reason)]
        letters += [
            Letter(reason, appended.arrival, offset=offset, append=appended.number) for offset, reason in appended.late
        ]
        if appended.number == self._header.append:
            letters = letters[self._header.kept :]
        self._write(letters)
        return len(letters)

    @_alone
    def keep_committed(self, commit: int, failures: Sequence[Mapping[str, Any]]) -> None:
        """Keep the letters of a commit, unless they are kept already; commits come in rising order."""
        if commit < self._header.commit:
            return
        letters = [Letter(**fields, commit=commit) for fields in failures]
        self._write(letters[self._header.committed :] if commit == self._header.commit else letters)

    @_alone
    def add(self, letters: Sequence[Letter]) -> None:
        """Keep tuples that were refused before they were appended to the log."""
        self._write(letters)

    @_alone
    def failed(self, query: str) -> list[tuple[tuple[tuple[str, int], ...], int | None]]:
        """Where a query's expressions failed: the tuples, as (stream, offset), and the end of a group's window."""
        of_query = [letter for letter in self._read(self.path)[1] if letter.query == query]
        return [(letter.origins(unquote(self.path.stem)), letter.closes) for letter in of_query]

    @_alone
    def letters(self) -> list[Letter]:
        """All letters that have not been taken, oldest first."""
        return self._read(self.path)[1]

    def counts(self) -> Counter[str | None]:
        """How many letters there are of each query; under None those of the stream itself, rejected or late."""
        return self._counts.copy()

    @property
    def newest_append(self) -> int:
        """The number of the newest append of which letters were kept: the log has it, or has lost it."""
        return self._header.append

    def count(self) -> int:
        """How many letters there are."""
        return self.counts().total()

    def by_query(self) -> Counter[str]:
        """How many letters there are of each query; those of the stream itself are left out."""
        return of_queries(self.counts())

    @_alone
    def take(self, choose: Choose = lambda letter: letter) -> Taken | None:
        """Take letters for replay, or those that were taken before and are not settled; None if there are none.

        `choose` gives a letter, perhaps changed, to take it, and None to leave it.
        """
        if self._taken_file() is None:
            self._take(choose)
        return self.unsettled()

    def _take(self, choose: Choose) -> None:
        taken: list[Letter] = []
        rest: list[Letter] = []
        for letter in self.letters():
            chosen = choose(letter)
            if chosen is None:
                rest.append(replace(letter, append=0, commit=0))  # the new header counts it already
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
        self._header, self._counts = header, _counted(rest)

    @_alone
    def unsettled(self) -> Taken | None:
        """Letters that were taken and not settled, perhaps because of a crash: replay them before anything else."""
        file = self._taken_file()
        if file is None:
            return None
        return Taken(f"deadletters-{_number(file.stem):08}", tuple(self._read(file)[1]))

    @_alone
    def settle(self, taken: Taken) -> None:
        """Forget letters that are in the log now, or, if it rejected them, are dead letters again."""
        at("letters.settle.before")
        disk.unlink(self._taken_path(_number(taken.batch)), missing_ok=True)
        sync_folder(self.path.parent)
        at("letters.settle.after")

    def _write(self, letters: Sequence[Letter]) -> None:
        if not letters:
            return
        data = "".join(line(_fields(letter)) + "\n" for letter in letters).encode()
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
        self._counts.update(_counted(letters))

    def _write_all(self, path: Path, header: Header, letters: Iterable[Letter]) -> None:
        lines = (line(asdict(header)), *(line(_fields(letter)) for letter in letters))
        write_atomic(path, "".join(f"{text}\n" for text in lines).encode())

    def _remove_unfinished(self) -> None:
        """Remove taken letters if a crash came before the others were written: they are still in `NAME.jsonl`."""
        file = self._taken_file()
        if file is not None and _number(file.stem) > self._header.takes:
            disk.unlink(file)

    def _taken_file(self) -> Path | None:
        files = sorted(self.path.parent.glob(f"{self.path.stem}.taken-*.jsonl"))
        return files[0] if files else None

    def _taken_path(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.stem}.taken-{number:08}.jsonl")

    def _cut_torn_line(self) -> None:
        """Cut off a last line without its end, which was never acknowledged, and force the others to disk.

        They are written again first: after a failed fsync the operating system regards them as written, and another
        fsync alone would do nothing. Then a power cut could leave a gap before the lines that follow.
        """
        data = self.path.read_bytes()
        complete_lines = data[: data.rfind(b"\n") + 1]
        with disk.opened(self.path, os.O_WRONLY) as descriptor:
            if len(complete_lines) < len(data):
                disk.truncate(descriptor, len(complete_lines))
            disk.write_all(descriptor, complete_lines, 0)
            disk.fsync(descriptor)

    def _read(self, path: Path) -> tuple[Header, list[Letter]]:
        try:
            lines = self._lines(path)
            return Header(**next(lines)), [Letter(**fields) for fields in lines]
        except (StopIteration, ValueError, TypeError) as error:
            raise HeadgateError(
                "a line is not a dead letter", where=str(path), hint="correct the line or move the file away"
            ) from error

    def _lines(self, path: Path) -> Iterator[dict[str, Any]]:
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from map(json.loads, file)


def _rejected(appended: Appended, rows: pa.Table, reason: str) -> list[Letter]:
    """The letters of rows that an append rejected, or of records that were no rows."""
    arrival, number = appended.arrival, appended.number
    if is_unreadable(rows):
        return [Letter(each["reason"], arrival, text=each["text"], append=number) for each in rows.to_pylist()]
    return [Letter(reason, arrival, row=row, append=number) for row in times.rows(rows)]


def _counted(letters: Iterable[Letter]) -> Counter[str | None]:
    """How many letters there are of each query, and of none."""
    return Counter(letter.query for letter in letters)


def of_queries(counts: Counter[str | None]) -> Counter[str]:
    """The counts without those of the stream itself."""
    return Counter({query: count for query, count in counts.items() if query is not None})


def _number(name: str) -> int:
    """The number at the end of a name."""
    return int(name.rpartition("-")[2])


def _fields(letter: Letter) -> dict[str, Any]:
    """What of a letter is written: the fields that have a value."""
    fields = {name: getattr(letter, name) for name in Letter.__slots__}
    return {name: value for name, value in fields.items() if value is not None and (name != "commit" or value)}
