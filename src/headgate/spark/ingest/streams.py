"""What comes in: the logs of the streams and the dead letters of what they could not take, or not in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from headgate.model import HeadgateError, Stream, closed, unknown
from headgate.spark.compile.schemas import arrow_schema
from headgate.spark.ingest.dead_letter_replay import LetterReplay, complete, replay
from headgate.spark.store.dead_letters import DeadLetters, Letter
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog

Chunks = tuple[tuple[float, int], ...]  # (arrival, how many)


class StreamIngest:
    """The streams of a data directory; several threads may append to different streams."""

    def __init__(self, directory: DataDirectory, now: Callable[[], float]) -> None:
        self.streams: dict[str, Stream] = {}
        self.logs: dict[str, StreamLog] = {}
        self.letters: dict[str, DeadLetters] = {}
        self._directory, self._now = directory, now
        self._appending: dict[str, threading.Lock] = {}  # a log and its dead letters change together
        self._telling: dict[str, threading.Lock] = {}  # what has been appended is told in that order
        self._owing: set[str] = set()  # streams whose newest append has rejected rows that are not kept yet
        self._closed = False

    def add(self, stream: Stream) -> StreamLog:
        """Open a stream's log, or make it."""
        if stream.name in self.streams:
            raise HeadgateError(f"stream '{stream.name}' exists already", hint="choose another name")
        if self._closed:
            raise closed()
        schema = arrow_schema(stream)
        log = StreamLog.open(self._directory.stream(stream.name), stream, schema)
        try:
            letters = DeadLetters(self._directory.letters(stream.name))
            complete(log, letters, self._now())
        except BaseException:
            log.close()
            raise
        self._appending[stream.name], self._telling[stream.name] = threading.Lock(), threading.Lock()
        self.letters[stream.name], self.logs[stream.name] = letters, log
        self.streams[stream.name] = stream
        return log

    def log(self, stream: str) -> StreamLog:
        if stream not in self.logs:
            raise unknown("stream", stream, self.logs)
        return self.logs[stream]

    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int:
        """Add rows to a stream; durable on return. How many were new and got an offset, late ones among them."""
        with self._changing(stream) as log:
            self._keep_rejected(stream)
            before = log.end
            appended = log.append(rows, self._now(), batch)
            if appended.rejected or appended.late:
                self._owing.add(stream)
                with suppress(HeadgateError, OSError):  # the rows are taken: their letters are kept before the next
                    self._keep_rejected(stream)
            return log.end - before

    def finish(self, stream: str) -> None:
        """The source has ended."""
        with self._changing(stream) as log:
            self._keep_rejected(stream)
            log.finish(self._now())

    def keep(self, stream: str, letters: Iterable[Letter]) -> None:
        """Keep tuples that could not be read or computed with."""
        with self._changing(stream):
            self.letters[stream].add(list(letters))

    def keep_committed(self, commit: int, stream: str, letters: Sequence[Mapping[str, Any]]) -> None:
        """Keep what a commit says that expressions failed on."""
        self.letters[stream].keep_committed(commit, letters)

    def replay(self, stream: str, reason: str = "") -> LetterReplay:
        """Give a stream its dead letters again, all or those whose reason contains a text."""
        with self._changing(stream) as log:
            return replay(log, self.letters[stream], self._now(), reason)

    @contextmanager
    def changing(self, stream: str, grown: Callable[[str, int, int], None]) -> Iterator[None]:
        """One change of a stream at a time; `grown` hears from where to where its log has grown, in order."""
        log = self.log(stream)
        with self._telling[stream]:
            before = log.end
            try:
                yield
            finally:
                if log.end > before:
                    grown(stream, before, log.end)

    @contextmanager
    def _changing(self, stream: str) -> Iterator[StreamLog]:
        """One at a time, and none once it is closed."""
        log = self.log(stream)
        with self._appending[stream]:
            if self._closed:
                raise closed()
            yield log

    def _keep_rejected(self, stream: str) -> None:
        """What the newest append rejected; a disk that was full then has them once it can, before anything follows."""
        newest = self.logs[stream].newest
        if stream in self._owing and newest is not None:
            self.letters[stream].keep(newest)
            self._owing.discard(stream)

    def chunks(self, stream: str, first: int, last: int) -> Chunks:
        """The arrivals of a piece of a log; the marker of a stream's end has no row but takes an offset."""
        chunks = self.logs[stream].arrivals(first, last)
        missing = last - first - sum(count for _, count in chunks)
        return (*chunks, (self._now(), missing)) if missing else tuple(chunks)

    def close(self) -> None:
        """Appends under way end first, later ones are refused."""
        self._closed = True
        for stream, log in self.logs.items():
            with self._appending[stream]:
                log.close()
