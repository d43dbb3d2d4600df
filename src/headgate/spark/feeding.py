"""One thread that reads all sources and appends what they give."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from headgate.spark.engine import Engine
from headgate.spark.sources import Batch, Reader

_LONGEST = 0.2  # seconds between two looks, whatever the sources say


@dataclass(slots=True)
class Feeding:
    """The sources of an engine; a stream whose source has ended is finished, one whose source fails says so."""

    engine: Engine
    readers: dict[str, Reader] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def add(self, stream: str, reader: Reader) -> None:
        self.readers = {**self.readers, stream: reader}  # the thread may be looking at the old one
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="headgate-sources", daemon=True)
            self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether every source has ended."""
        return not self.readers

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for reader in self.readers.values():
            reader.close()

    def _loop(self) -> None:
        while not self._stop.is_set():
            due = self.engine.now() + _LONGEST
            for stream, reader in list(self.readers.items()):
                self._read(stream, reader)
                due = min(due, reader.due(self.engine.now()))
            self._stop.wait(max(0.001, due - self.engine.now()))

    def _read(self, stream: str, reader: Reader) -> None:
        try:
            for batch in reader.read(self.engine.now()):
                self._append(stream, reader, batch)
        except Exception as error:
            self.errors[stream] = " ".join(str(error).split()) or type(error).__name__
            self._drop(stream, reader)
            return
        if reader.done:
            self.engine.finish(stream)
            self._drop(stream, reader)

    def _append(self, stream: str, reader: Reader, batch: Batch) -> None:
        """Append a batch and say so; what was bad in a batch that comes again has been kept already."""
        again = batch.batch is not None and batch.batch in self.engine.logs[stream].batches
        if batch.bad and not again:
            self.engine.reject(stream, batch.bad)
        if batch.rows.num_rows or batch.batch is not None:
            self.engine.append(stream, batch.rows, batch.batch)
        if batch.batch is not None:
            reader.appended(batch.batch)

    def _drop(self, stream: str, reader: Reader) -> None:
        self.readers = {name: each for name, each in self.readers.items() if name != stream}
        reader.close()
