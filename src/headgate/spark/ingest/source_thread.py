"""The thread that reads all sources and appends their tuples to the streams."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from headgate.spark.ingest.parsing.records import Bad
from headgate.spark.ingest.sources import Batch, Reader
from headgate.spark.jvm.errors import one_line
from headgate.spark.store.log.stream_log import StreamLog

_FULL = 0.02  # seconds between two looks at a stream whose backlog is full, so that its source must wait
_LONGEST = 0.2  # seconds between two rounds at most, whatever the sources say


class Target(Protocol):
    """What the thread needs of the engine, to which it appends."""

    @property
    def logs(self) -> Mapping[str, StreamLog]: ...
    def now(self) -> float: ...
    def lagging_query(self, stream: str) -> str | None: ...
    def append(self, stream: str, rows: pa.Table, batch: str | None = None) -> int: ...
    def reject(self, stream: str, bad: tuple[Bad, ...]) -> None: ...
    def finish(self, stream: str) -> None: ...


@dataclass(slots=True)
class SourceThread:
    """Reads the sources of an engine in turn.

    When a source has ended, its stream is finished; when it fails, the reason is in `errors` by stream. What else
    users should know of a source is in `notes`.
    """

    engine: Target
    readers: dict[str, Reader] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _serving: threading.Lock = field(default_factory=threading.Lock)  # held while a source is read or forgotten
    _thread: threading.Thread | None = None

    def add(self, stream: str, reader: Reader) -> None:
        for told in (self.errors, self.notes):  # of an earlier source of the stream
            told.pop(stream, None)
        reader.resume(self.engine.logs[stream])
        with self._serving:
            self.readers = {**self.readers, stream: reader}
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="headgate-sources", daemon=True)
            self._thread.start()

    def forget(self, stream: str) -> None:
        """End the source of a stream that was dropped; nothing of it is appended any more, or told."""
        with self._serving:
            if (reader := self._without(stream)) is not None:
                self._close_reader(stream, reader)
            for told in (self.errors, self.notes):
                told.pop(stream, None)

    def _without(self, stream: str) -> Reader | None:
        """Serve a stream no more; gives its reader."""
        reader = self.readers.get(stream)
        self.readers = {name: other for name, other in self.readers.items() if name != stream}
        return reader

    @property
    def ended(self) -> bool:
        """Whether every source has ended."""
        return not self.readers

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for stream, reader in self.readers.items():
            self._close_reader(stream, reader)

    def _loop(self) -> None:
        while not self._stop.is_set():
            due = self.engine.now() + _LONGEST
            for stream, reader in list(self.readers.items()):
                with self._serving:
                    if self.readers.get(stream) is reader:  # else it was dropped meanwhile
                        due = min(due, self._serve(stream, reader))
            self._stop.wait(max(0.001, due - self.engine.now()))

    def _serve(self, stream: str, reader: Reader) -> float:
        """Append the tuples that a source has, and say when to read it again; a source that fails is given up."""
        if self.engine.lagging_query(stream) is not None:
            return self.engine.now() + _FULL
        try:
            for batch in reader.read(self.engine.now()):
                self._append(stream, reader, batch)
            if reader.note != self.notes.get(stream, ""):
                self.note(stream, reader.note)
            if not reader.done:
                return reader.due(self.engine.now())
            self.engine.finish(stream)
        except Exception as error:
            self.failed(stream, error)
        self._without(stream)
        self._close_reader(stream, reader)
        return math.inf

    def _append(self, stream: str, reader: Reader, batch: Batch) -> None:
        """Append a batch and acknowledge it to its source.

        The bad tuples of a batch that the log has already are dead letters already.
        """
        in_log = batch.batch is not None and batch.batch in self.engine.logs[stream].batches
        if batch.bad and not in_log:
            self.engine.reject(stream, batch.bad)
        if batch.rows.num_rows or batch.batch is not None:
            self.engine.append(stream, batch.rows, batch.batch)
        if batch.batch is not None:
            reader.appended(batch.batch)

    def _close_reader(self, stream: str, reader: Reader) -> None:
        try:
            reader.close()
        except Exception as error:
            self.failed(stream, error)

    def note(self, stream: str, text: str) -> None:
        """Keep what users should know of a stream's source; an empty text is nothing."""
        others = {name: told for name, told in self.notes.items() if name != stream}
        self.notes = {**others, stream: text} if text else others

    def failed(self, stream: str, error: Exception) -> None:
        """Keep the first error of a stream's source: later ones may only follow from it."""
        self.errors.setdefault(stream, one_line(error))
