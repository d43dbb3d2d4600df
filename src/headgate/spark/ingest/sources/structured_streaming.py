"""Any source of Spark Structured Streaming: each micro-batch is acknowledged once it is durable in the stream's log.

After a crash Spark sends a micro-batch that was not acknowledged again, with the same number; that number is the
batch's id, so the log leaves it out if it has it already. It is given as a DataFrame, so no string names it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headgate.model import HeadgateError, Stream, unknown
from headgate.spark.ingest.parsing.records import conform, schema_of
from headgate.spark.ingest.sources.base import Batch, Reader
from headgate.spark.jvm.process import Java

POLL = 0.01  # seconds between two reads


class ClosedError(RuntimeError):
    """Tells Spark that a micro-batch was not appended, because the reader was closed first."""


def _unexpected(record: logging.LogRecord) -> bool:
    return not (record.exc_info and record.exc_info[0] and issubclass(record.exc_info[0], ClosedError))


class StructuredReader(Reader):
    """A streaming query whose micro-batches are appended to a stream, with the ids `ss-0`, `ss-1`, ...

    `trigger` is what `DataStreamWriter.trigger` takes; with `{"availableNow": True}` the source is finite. Checkpoint
    and log belong together: with a fresh checkpoint the numbers begin at 0 again, and the log must be empty too.
    """

    def __init__(
        self,
        frame: DataFrame,
        stream: Stream,
        checkpoint: Path,
        trigger: Mapping[str, Any] | None = None,
        poll: float = POLL,
    ) -> None:
        self._schema, self._poll = schema_of(stream), poll
        self._queue: queue.Queue[Batch] = queue.Queue()
        self._unacknowledged: dict[str, threading.Event] = {}
        self._closed = False
        # Py4J logs every exception of a callback with its stack trace, also the one that closes a source as usual.
        logging.getLogger("py4j.clientserver").addFilter(_unexpected)
        self._name = stream.name
        self._java = Java()
        writer = _selected(frame, stream).writeStream.foreachBatch(self._hand_over)
        writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("append")
        self._query = (writer.trigger(**trigger) if trigger else writer).start()

    @property
    def done(self) -> bool:
        if self._closed:
            return True
        return not self._active and self._query.exception() is None and self._queue.empty()

    @property
    def _active(self) -> bool:
        try:
            return self._query.isActive
        except Exception as error:
            if self._java.blame(error) is error:
                raise
            raise HeadgateError(
                f"the streaming query of '{self._name}' is gone: Spark's Java process has died",
                hint="start it again: its checkpoint knows where it was",
            ) from error

    def read(self, now: float) -> list[Batch]:
        batches: list[Batch] = []
        with contextlib.suppress(queue.Empty):
            while True:
                batches.append(self._queue.get_nowait())
        if not batches and not self._closed and not self._active:
            self._raise_failure()
        return batches

    def due(self, now: float) -> float:
        if self.done:
            return math.inf
        return now + self._poll if self._queue.empty() else now

    def appended(self, batch: str) -> None:
        """Acknowledge the micro-batch to Spark."""
        if (event := self._unacknowledged.pop(batch, None)) is not None:
            event.set()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for event in list(self._unacknowledged.values()):
            event.set()
        # The query may end with the error of the micro-batch that was refused, or its Java process may have died.
        with contextlib.suppress(PySparkException, Py4JError, ConnectionError):
            self._query.stop()

    def _hand_over(self, frame: DataFrame, number: int) -> None:
        """Called by Spark in its own thread with each micro-batch; returning acknowledges it."""
        rows, bad = conform(frame.toArrow(), self._schema)
        if not rows.num_rows and not bad:
            return
        name = f"ss-{number}"
        event = self._unacknowledged[name] = threading.Event()
        self._queue.put(Batch(rows, name, tuple(bad)))
        while not event.wait(0.5):
            if self._closed:  # `close` did not see the event if it ran just before it was added
                break
        if name in self._unacknowledged:
            raise ClosedError(f"the source was closed before {name} was appended")

    def _raise_failure(self) -> None:
        if (error := self._query.exception()) is not None:
            first = str(error).strip().splitlines()[0]
            hint = "correct the source, then start again: its checkpoint knows where it was"
            raise HeadgateError(f"the streaming query of '{self._name}' failed: {first}", hint=hint)


def _selected(frame: DataFrame, stream: Stream) -> DataFrame:
    if not frame.isStreaming:
        raise HeadgateError(f"the frame for '{stream.name}' does not stream", hint="make it with spark.readStream")
    for column in stream.columns:
        if column not in frame.columns:
            raise unknown("column", column, frame.columns, where=f"stream {stream.name}")
    return frame.select(*stream.columns)
