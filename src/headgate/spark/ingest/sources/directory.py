"""The source `directory`: each file of a directory is one batch, whose id is the file's name and a digest of its bytes.

Files are read in the order of their names, new ones as they appear. A file must be complete when it gets its name:
write it under a name that begins with a dot, then rename it. What is read again leaves the log as it is, since that
remembers the ids: after a restart all files are read again. So

* a file that takes the place of another is a new batch, unless the log has had these contents under that name;
* a file that was changed after it had been read is left alone, since its rows would come twice, and the source's note
  names it. After a restart that is a file which begins with what was read under its name.

Files with an unknown suffix, and with `within` links that lead out of that folder, are left alone and named too. Files
that Headgate writes for itself are refused, wherever they are: results would come twice.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePath

import pyarrow as pa

from headgate import logs
from headgate.contained_files import open_file
from headgate.model import HeadgateError
from headgate.spark.ingest.file_identity import Identity, identity
from headgate.spark.ingest.listing import Files, State, check_pattern, state_of
from headgate.spark.ingest.parsing.files import FORMATS, check_suffix, format_of, whole
from headgate.spark.ingest.parsing.records import schema_of
from headgate.spark.ingest.sources.base import MOST_ROWS, Batch, Reader
from headgate.spark.ingest.sources.options import flag
from headgate.spark.ingest.sources.registry import SourceRequest, register
from headgate.spark.store.log.files import AGAIN, REMEMBERED
from headgate.spark.store.log.stream_log import StreamLog
from headgate.spark.store.own_files import check_source_folder

POLL = 0.1  # seconds between two looks for new files
MOST_NAMES = 5  # of files that are not read
MOST_BYTES = 64 << 20  # of one read, as for `MOST_ROWS`
DIGEST = 16  # bytes
HEADING = 64 << 10  # bytes; what is longer has rows

_SUFFIXES = ", ".join(suffix for suffix in FORMATS if not suffix.endswith(".gz"))
UNKNOWN = f"names must end in {_SUFFIXES}, or .gz behind it"
CHANGED = (
    "changed after it was read; write further rows to a new file, under a name that begins with a dot, then rename it"
)
_ID = re.compile(rf"{AGAIN}(.+) (\d+)-([0-9a-f]{{{2 * DIGEST}}})", re.DOTALL)

_logger = logs.logger("sources")


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a file: as much as is needed to tell whether it is the same again."""

    size: int
    digest: str

    @classmethod
    def of(cls, data: bytes | memoryview) -> Contents:
        return cls(len(data), hashlib.blake2b(data, digest_size=DIGEST).hexdigest())

    def begin(self, data: bytes) -> bool:
        """Whether these contents, and not nothing, are what longer ones begin with."""
        return 0 < self.size < len(data) and Contents.of(memoryview(data)[: self.size]) == self


@dataclass(frozen=True, slots=True)
class TakenFile:
    """A file that was read: which file it was, how it was then, and what was in it."""

    identity: Identity
    state: State
    contents: Contents
    gave: bool = False  # a row, or anything bad

    def written_to(self, which: Identity) -> bool:
        """Whether new contents were written to the same file, of which something was taken before."""
        return self.identity == which and self.gave


def batch_id(name: str, contents: Contents) -> str:
    r"""The id of a file's batch: its name, and what is in it.

    >>> batch_id("a.csv", Contents.of(b"id\n1\n"))
    'file a.csv 5-249176030fbb3b1883a1fe4703849845'
    """
    return f"{AGAIN}{_spelled(name)} {contents.size}-{contents.digest}"


def _spelled(name: str) -> str:
    """A name as it can be stored and shown: it may have bytes that are no text."""
    return os.fsencode(name).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


@dataclass(slots=True)
class RememberedFiles:
    """What a log has of the files of earlier sessions, by name."""

    contents: dict[str, list[Contents]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # files of former versions, whose batch's id was the name alone

    @classmethod
    def of(cls, log: StreamLog) -> RememberedFiles:
        found = cls()
        for batch in list(log.batches):
            if match := _ID.fullmatch(batch):
                found.contents.setdefault(match[1], []).append(Contents(int(match[2]), match[3]))
            elif format_of(batch) is not None and not batch.startswith("push "):  # ids that programs give
                found.names.add(batch)
        return found


class DirectoryReader(Reader):
    """Reads the files of a directory that match a pattern."""

    def __init__(self, files: Files, schema: pa.Schema, *, end: bool = False, poll: float = POLL) -> None:
        self._files, self._schema = files, schema
        self._end, self._poll = end, poll
        self._remembered = RememberedFiles()  # of files that were not read in this session, or that are away
        self._log: StreamLog | None = None
        self._unseen: tuple[str, ...] = ()  # folders that could not be looked at
        self._taken: dict[str, TakenFile] = {}
        self._there: dict[str, State] | None = None  # None: nobody has looked so far
        self._waiting: deque[str] = deque()
        self._unread: dict[str, str] = {}  # why a file is not read
        self._away = ""  # why the folder cannot be looked at
        self._done = False

    def resume(self, log: StreamLog) -> None:
        self._remembered, self._log = RememberedFiles.of(log), log
        log.comes_again = self._comes_again

    @property
    def done(self) -> bool:
        return self._done

    def read(self, now: float) -> list[Batch]:
        if not self._waiting:
            self._waiting.extend(self._new_files())
        fresh = any(name not in self._unread for name in self._waiting)
        batches: list[Batch] = []
        rows = size = 0
        while self._waiting and rows < MOST_ROWS and size < MOST_BYTES:
            batch, length = self._read(self._waiting.popleft())
            size += length
            if batch is not None:
                batches.append(batch)
                rows += batch.rows.num_rows
        over = not (fresh or batches or self._waiting or self._away)
        self._done = self._done or (self._end and over)
        return batches

    def due(self, now: float) -> float:
        if self._done:
            return math.inf
        return now if self._waiting else now + self._poll

    @property
    def note(self) -> str:
        return "; ".join([*([self._away] if self._away else []), *self._told(self._unread)])

    def _told(self, unread: dict[str, str]) -> list[str]:
        """Why some files are not read, by reason."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in unread.items():
            by_reason.setdefault(reason, []).append(name)
        return [
            f"{'1 file is' if len(names) == 1 else f'{len(names)} files are'} not read: {_few(names)} "
            f"in '{self._files.folder}'; {reason}"
            for reason, names in by_reason.items()
        ]

    def _comes_again(self, batch: str) -> bool:
        """Whether a batch may come again, so that the log must remember it: while its file is there."""
        match = _ID.fullmatch(batch)
        if match is None or not self._there:  # an empty folder may be one whose disk is away
            return match is not None
        name = match[1]
        return name in self._there or "\\" in name or name.startswith(self._unseen)

    def _new_files(self) -> list[str]:
        """Files that are new, or not as they were, in the order of their names."""
        try:
            listing = self._files.listed()
            self._away = ""
        except OSError as error:
            self._away = f"the folder '{self._files.folder}' cannot be looked at: {error.strerror}"
            return []
        there = self._there = listing.files
        self._unseen = tuple(listing.unseen)
        for name in [name for name in self._taken if name not in there and not name.startswith(self._unseen)]:
            taken = self._taken.pop(name)
            self._remembered.contents.setdefault(_spelled(name), []).append(taken.contents)
        self._forget()
        unread = {name: reason for name, reason in self._unread.items() if name in there} | listing.unread
        new = []
        for name, state in sorted(there.items()):
            before = self._taken.get(name)
            if (before is None or before.state != state) and unread.get(name) != UNKNOWN:
                if format_of(name) is None:
                    unread[name] = UNKNOWN
                else:
                    new.append(name)
        self._leave(unread)
        return new

    def _forget(self) -> None:
        """Of files that are away only what the log remembers is kept."""
        if self._log is not None and len(self._remembered.contents) > 2 * len(self._log.batches) + REMEMBERED:
            known = RememberedFiles.of(self._log)
            for name in self._taken:
                known.contents.pop(_spelled(name), None)
            self._remembered = known

    def _leave(self, unread: dict[str, str]) -> None:
        """Keep which files are not read, and warn of those that are new among them."""
        new = {name: reason for name, reason in unread.items() if self._unread.get(name) != reason}
        self._unread = unread
        by_reason: dict[str, list[str]] = {}
        for name, reason in new.items():
            by_reason.setdefault(reason, []).append(name)
        for reason, names in by_reason.items():
            _logger.warning(
                "files not read", files=_few(names), count=len(names), folder=self._files.folder, reason=reason
            )

    def _read(self, name: str) -> tuple[Batch | None, int]:
        """A file's batch, if it is to be appended, and how many bytes were read."""
        before = self._taken.get(name)
        try:
            with open_file(self._files.folder / name, self._files.within) as file:
                state, which = state_of(os.fstat(file.fileno())), identity(file.fileno())
                if before is not None and before.written_to(which) and state.size != before.contents.size:
                    self._changed(name, replace(before, state=state))  # not read: it may be long, and grow for hours
                    return None, 0
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):  # renamed or removed: under another name it is read
            self._taken.pop(name, None)
            return None, 0
        except OSError as error:  # tried again with the next look
            self._leave(self._unread | {name: error.strerror or str(error)})
            return None, 0
        taken = self._taken[name] = TakenFile(which, state, Contents.of(data))
        if before is None:
            return self._kept(name, self._first(name, taken, data)), len(data)
        if before.contents != taken.contents and before.written_to(which):
            self._changed(name, replace(taken, contents=before.contents, gave=before.gave))
            return None, len(data)
        self._unread.pop(name, None)
        if before.contents == taken.contents:
            self._taken[name] = replace(taken, gave=before.gave)
            return None, len(data)
        return self._kept(name, self._batch(name, taken.contents, data)), len(data)

    def _kept(self, name: str, batch: Batch | None) -> Batch | None:
        """Note whether a file gave anything."""
        if batch is not None:
            taken = self._taken[name]
            self._taken[name] = replace(taken, gave=taken.gave or not batch.is_empty)
        return batch

    def _first(self, name: str, taken: TakenFile, data: bytes) -> Batch | None:
        """The batch of a file that is read for the first time in this session."""
        self._unread.pop(name, None)
        spelled = _spelled(name)
        known = self._remembered.contents.pop(spelled, [])
        former = spelled in self._remembered.names
        self._remembered.names.discard(spelled)
        if taken.contents in known:
            self._taken[name] = replace(taken, gave=self._gives(name, data))
            return None
        if former and not known:  # it was read by a former version: from now on the log has its contents
            self._taken[name] = replace(taken, gave=True)
            return Batch(self._schema.empty_table(), batch_id(name, taken.contents))
        for contents in known:
            if contents.begin(data) and self._gives(name, data[: contents.size]):
                self._changed(name, replace(taken, contents=contents, gave=True))
                return None
        return self._batch(name, taken.contents, data)

    def _gives(self, name: str, data: bytes) -> bool:
        """Whether there is a row in it, or anything bad: the first lines of a CSV file may be its heading alone."""
        return len(data) > HEADING or not self._batch(name, Contents.of(data), data).is_empty

    def _changed(self, name: str, taken: TakenFile) -> None:
        self._taken[name] = taken
        self._leave(self._unread | {name: CHANGED})

    def _batch(self, name: str, contents: Contents, data: bytes) -> Batch:
        rows, bad = whole(PurePath(_spelled(name)).name, data, self._schema)
        return Batch(rows, batch_id(name, contents), tuple(bad))


def _few(names: list[str]) -> str:
    return ", ".join([*map(_spelled, islice(names, MOST_NAMES)), *(["…"] if len(names) > MOST_NAMES else [])])


@register("directory")
def open_directory(request: SourceRequest) -> DirectoryReader:
    """Open a directory from its settings: path, pattern, end, poll."""
    settings = request.settings
    settings.only(("path", "pattern", "end", "poll"))
    settings.need("path", "incoming")
    path, pattern = request.directory / str(settings.word("path")), settings.word("pattern") or "*"
    if not path.is_dir():
        raise HeadgateError(f"there is no directory '{path}'", hint="make it, or correct path")
    check_pattern(pattern)
    if Path(pattern).suffix and not set("*?[") & set(Path(pattern).suffix):
        check_suffix(pattern)
    check_source_folder(path)
    files = Files(path, pattern, request.within)
    try:
        files.listed()
    except OSError as error:
        raise HeadgateError(f"'{path}' cannot be looked at: {error.strerror}", hint="correct path") from None
    poll = settings.duration("poll", above=0.0)
    return DirectoryReader(files, schema_of(request.stream), end=flag(settings, "end"), poll=poll or POLL)
