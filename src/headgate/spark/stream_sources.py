"""The sources of a session's streams: opened when a stream is declared, or again when its directory is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headgate.model import ConflictError, HeadgateError, Stream
from headgate.spark.engine.catalog_entries import SourceText, stored_source
from headgate.spark.engine.engine import Engine
from headgate.spark.ingest.source_thread import SourceThread
from headgate.spark.ingest.sources import Reader, open_source
from headgate.spark.machine.definitions import STREAMS


class StreamSources:
    """Declares streams together with their sources, which one thread reads."""

    def __init__(self, engine: Engine) -> None:
        self.thread = SourceThread(engine)
        self._engine = engine
        engine.end_source = self.thread.forget

    def open_stored(self) -> None:
        """Read every stream from where the directory says; `status` tells what goes wrong, and what is missing."""
        for name, entry in list(self._engine.stored(STREAMS).items()):
            if (refusal := self._engine.ingest.refused.get(name)) is not None:
                self.thread.failed(name, refusal)  # what its source has stays there
            elif name not in self.thread.readers and not self.ended(name):
                self._open_stored(name, entry)

    def _open_stored(self, name: str, entry: Mapping[str, Any]) -> None:
        source = stored_source(entry)
        if source is not None:
            try:
                self.thread.add(name, self._open(source, self._engine.streams[name]))
            except HeadgateError as error:
                self.thread.failed(name, error)
        elif entry.get("given"):
            kind = entry["given"]
            self.thread.note(name, f"it waits for its source, {kind}: declare the stream again with one")

    def add_text(self, stream: Stream, source: SourceText) -> None:
        """Declare a stream that is read from where a text says."""
        self._add(stream, source, lambda: self._open(source, stream))

    def add_object(self, stream: Stream, kind: str, open_reader: Callable[[Stream], Reader]) -> None:
        """Declare a stream that is read from an object, of which the directory keeps only the kind."""
        if stream.name in self.thread.readers:
            hint = "wait until it has ended, or declare another stream"
            raise ConflictError(f"stream '{stream.name}' is being read already", hint=hint)
        self._add(stream, kind, lambda: open_reader(stream))

    def _add(self, stream: Stream, source: SourceText | str, open_reader: Callable[[], Reader]) -> None:
        self._engine.ingest.check(stream.name)
        if stream.name in self.thread.readers:
            self._engine.add_stream(stream, source)  # refuses another stream of this name; the same is being read
            return
        reader = open_reader()
        try:
            self._engine.add_stream(stream, source)
        except BaseException:
            reader.close()
            raise
        if self.ended(stream.name):
            reader.close()
            self.thread.note(stream.name, "it has ended, and nothing more is read")
        else:
            self.thread.add(stream.name, reader)

    def ended(self, stream: str) -> bool:
        """Whether a stream has ended, maybe in an earlier session, so that nothing more can be read."""
        return self._engine.logs[stream].finished_at is not None

    def _open(self, source: SourceText, stream: Stream) -> Reader:
        settings, now = self._engine.settings, self._engine.now()
        return open_source(source.text, stream, source.base, settings.seed, now, source.within)
