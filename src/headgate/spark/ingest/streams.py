"""The streams of an engine: each has a log of its tuples, and dead letters for those that were rejected or late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headgate.model import ConflictError, HeadgateError, Stream, closed, unknown
from headgate.model.errors import DiskError
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.ingest.dead_letter_replay import LetterReplay, complete, replay
from headgate.spark.ingest.parsing.records import Bad, within_years
from headgate.spark.store.dead_letters import DeadLetters, Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import RESTORE, Appended, StreamLog

Chunks = tuple[tuple[float, int], ...]  # (time of arrival, number of tuples)


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of the rows of a push: how many the stream has now, and how many are dead letters instead.

    Late ones are among the accepted. For a repeated push these are the numbers of the first time.
    """

    accepted: int
    rejected: int
    late: int
    repeated: bool = False  # the log had a batch of this id already, and nothing was changed


def _before(log: StreamLog, appended: Appended, given: int) -> Pushed:
    """What became of a batch the first time; what was given then and is not in the log was rejected."""
    accepted = appended.last - appended.first
    late = log.late(appended.first, appended.last) if appended.first >= log.start else 0
    return Pushed(accepted, max(0, given - accepted), late, repeated=True)


def _check_appends(log: StreamLog, letters: DeadLetters) -> None:
    """Refuse a log that has lost appends whose rejected rows are dead letters already."""
    if log.appends < letters.newest_append:
        raise ConflictError(
            f"the log of stream '{log.stream.name}' has {log.appends:,} appends, and there are dead letters of append "
            f"{letters.newest_append:,}: acknowledged rows are missing",
            where=str(log.folder),
            hint=RESTORE,
        )


def _refusal(stream: str, reached: int, error: HeadgateError) -> HeadgateError:
    """Why a stream is refused, and what to do."""
    if isinstance(error, ConflictError):
        return error
    rows = f", of which {reached:,} rows were read" if reached else ""
    return ConflictError(
        f"the log of stream '{stream}'{rows}, cannot be read: {error.message}", where=error.where, hint=RESTORE
    )


class StreamIngest:
    """The streams of a data directory; several threads may append to different streams."""

    def __init__(self, directory: DataDirectory, now: Callable[[], float]) -> None:
        self.streams: dict[str, Stream] = {}
        self.logs: dict[str, StreamLog] = {}
        self.letters: dict[str, DeadLetters] = {}
        self.refused: dict[str, HeadgateError] = {}  # streams without a log: theirs has lost rows, or cannot be read
        self._directory, self._now = directory, now
        self._appending: dict[str, threading.Lock] = {}  # a log and its dead letters change together
        self._reporting: dict[str, threading.Lock] = {}  # appends are reported to the engine in the order of offsets
        self._owing: set[str] = set()  # streams whose newest append has rejected rows that are not dead letters yet
        self._closed = False

    def add(self, stream: Stream, *, fresh: bool = False, reached: int = 0) -> StreamLog:
        """Open a stream's log, or make it; a `fresh` one has nothing of a dropped stream of its name.

        A log that ends before the offset `reached` is refused before anything is appended to it.
        """
        if stream.name in self.streams:
            raise ConflictError(f"stream '{stream.name}' exists already", hint="choose another name")
        if self._closed:
            raise closed()
        schema = arrow_schema(stream)
        if fresh:
            self._directory.remove_stream(stream.name)
        log = StreamLog.open(self._directory.stream(stream.name), stream, schema)
        try:
            log.require(reached)
            letters = DeadLetters(self._directory.letters(stream.name))
            _check_appends(log, letters)
            complete(log, letters, self._now())
        except BaseException:
            log.close()
            raise
        self._appending[stream.name], self._reporting[stream.name] = threading.Lock(), threading.Lock()
        self.letters[stream.name], self.logs[stream.name] = letters, log
        self.streams[stream.name] = stream
        return log

    def add_known(self, stream: Stream, reached: int) -> HeadgateError | None:
        """Open the log of a stream that commits know, which was read up to an offset at least.

        If its log ends before that or cannot be opened, the stream is refused, and the error is given: it takes no rows
        and gives none, so that no offset is used again. It can be dropped, and its dead letters can be read.
        """
        folder = self._directory.stream(stream.name)
        try:
            if not (folder / "stream.json").is_file():
                raise HeadgateError("it is missing", where=str(folder / "stream.json"), hint=RESTORE)
            self.add(stream, reached=reached)
        except DiskError:  # the disk, not the log: it may work the next time
            raise
        except HeadgateError as error:
            self.streams[stream.name] = stream
            self.refused[stream.name] = _refusal(stream.name, reached, error)
            with suppress(HeadgateError):
                self.letters[stream.name] = DeadLetters(self._directory.letters(stream.name))
        return self.refused.get(stream.name)

    def retire(self, stream: str) -> None:
        """Take nothing more for a stream that was dropped; an append that is under way ends first."""
        if self.refused.pop(stream, None) is not None:
            del self.streams[stream]
            self.letters.pop(stream, None)
            return
        with self._reporting[stream], self._appending[stream]:
            log = self.logs.pop(stream)
            del self.streams[stream], self.letters[stream]
            self._owing.discard(stream)
            log.close()

    def remove_files(self, stream: str) -> None:
        """Remove all that is kept of a stream that was retired."""
        self._directory.remove_stream(stream)

    def check(self, stream: str) -> None:
        """Raise the error of a stream that is refused."""
        if stream in self.refused:
            raise self.refused[stream]

    def log(self, stream: str) -> StreamLog:
        self.check(stream)
        if stream not in self.logs:
            raise unknown("stream", stream, self.logs)
        return self.logs[stream]

    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int:
        """Append rows to a stream, durable on return; gives how many got an offset, late ones included."""
        pushed = self.push(stream, rows, batch=batch)
        return 0 if pushed.repeated else pushed.accepted

    def push(self, stream: str, rows: pa.Table, bad: Sequence[Bad] = (), batch: str | None = None) -> Pushed:
        """Append rows together with records that are no rows and become dead letters, all by one write.

        A batch that the log remembers changes nothing. It remembers the ids of all batches of which it still has
        tuples, and the newest `log.files.REMEMBERED` of those before.
        """
        with self._changing(stream) as log:
            self._keep_rejected(stream)
            repeated = batch is not None and batch in log.batches
            taken, outside = within_years(rows, log.schema)
            appended = log.append(taken, self._now(), batch, [*bad, *outside])
            if repeated:
                return _before(log, appended, rows.num_rows + len(bad))
            if appended.rejected or appended.late:
                self._owing.add(stream)
                with suppress(HeadgateError, OSError):  # the append itself is durable: the next one tries this again
                    self._keep_rejected(stream)
            rejected = sum(table.num_rows for table, _ in appended.rejected)
            return Pushed(appended.last - appended.first, rejected, len(appended.late))

    def finish(self, stream: str) -> None:
        """Mark the end of a stream: its source has ended."""
        with self._changing(stream) as log:
            self._keep_rejected(stream)
            log.finish(self._now())

    def keep(self, stream: str, letters: Iterable[Letter]) -> None:
        """Keep tuples that could not be read, or on which an expression failed, as dead letters."""
        with self._changing(stream):
            self.letters[stream].add(list(letters))

    def keep_committed(self, commit: int, stream: str, letters: Sequence[Mapping[str, Any]]) -> None:
        """Keep the dead letters that a commit has: tuples on which an expression of a query failed."""
        if (kept := self.letters.get(stream)) is not None:  # else it was dropped meanwhile
            kept.keep_committed(commit, letters)

    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Append a stream's dead letters to it again, all or those whose reason contains a text."""
        with self._changing(stream) as log:
            return replay(log, self.letters[stream], self._now(), reason)

    @contextmanager
    def changing(self, stream: str, grown: Callable[[str, int, int], None]) -> Iterator[None]:
        """Report growth: `grown` gets the offsets before and after, in order, as one change is made at a time."""
        log = self.log(stream)
        with self._reporting[stream]:
            self._check_there(stream, log)
            before = log.end
            try:
                yield
            finally:
                if log.end > before:
                    grown(stream, before, log.end)

    @contextmanager
    def _changing(self, stream: str) -> Iterator[StreamLog]:
        """One change at a time, and none after `close`."""
        log = self.log(stream)
        with self._appending[stream]:
            if self._closed:
                raise closed()
            self._check_there(stream, log)
            yield log

    def _check_there(self, stream: str, log: StreamLog) -> None:
        """Refuse a stream that was dropped while somebody waited for it, even if there is a new one of its name."""
        if self.logs.get(stream) is not log:
            raise unknown("stream", stream, self.logs)

    def _keep_rejected(self, stream: str) -> None:
        """Make dead letters of what the newest append rejected.

        If that failed when the rows were appended, say because the disk was full, it is tried before the next append.
        """
        newest = self.logs[stream].newest
        if stream in self._owing and newest is not None:
            self.letters[stream].keep(newest)
            self._owing.discard(stream)

    def chunks(self, stream: str, first: int, last: int) -> Chunks:
        """When the tuples of a range of offsets arrived; the marker of a stream's end has an offset but no row."""
        chunks = self.logs[stream].arrivals(first, last)
        missing = last - first - sum(count for _, count in chunks)
        return (*chunks, (self._now(), missing)) if missing else tuple(chunks)

    def close(self) -> None:
        """Close all logs: appends that are under way end first, later ones are refused."""
        self._closed = True
        for stream, log in list(self.logs.items()):
            with self._appending[stream]:
                log.close()
