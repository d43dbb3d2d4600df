"""A Python iterable as a source: its items are records or Arrow tables."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa

from headgate.model import HeadgateError, Stream
from headgate.spark.ingest.parsing.records import Read, conform, rows_of, schema_of
from headgate.spark.ingest.sources.base import Batch, Reader
from headgate.spark.ingest.sources.registry import SourceRequest, register

POLL = 0.005  # seconds between two reads
AHEAD = 10_000  # items that are taken from the iterator before the engine has read them
PATIENCE = 0.05  # seconds after which a thread that waits checks whether the reader was closed


class IteratorReader(Reader):
    """Takes items in its own thread, since an iterator may take any time to give the next one."""

    def __init__(self, items: Iterable[Any], schema: pa.Schema, poll: float = POLL) -> None:
        self._items, self._schema, self._poll = items, schema, poll
        self._queue: queue.Queue[Any] = queue.Queue(AHEAD)
        self._closed, self._ended = threading.Event(), threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._pull, name="headgate-iterator", daemon=True)

    @property
    def done(self) -> bool:
        return self._ended.is_set() and self._queue.empty() and self._error is None

    def read(self, now: float) -> list[Batch]:
        if self._thread.ident is None and not self._closed.is_set():
            self._thread.start()
        ended = self._ended.is_set()  # asked before the queue is emptied: if it has ended, no item comes after these
        items = self._queued_items()
        if not items and ended and self._error is not None:
            error, self._error = self._error, None
            raise HeadgateError(f"the iterator failed: {type(error).__name__}: {error}") from error
        return [Batch(rows, None, tuple(bad)) for rows, bad in self._tables(items) if rows.num_rows or bad]

    def due(self, now: float) -> float:
        if self.done:
            return math.inf
        return now + self._poll if self._queue.empty() else now

    def close(self) -> None:
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join(2 * PATIENCE)  # a thread that waits inside the iterator is left behind, as a daemon
        else:
            self._ended.set()

    def _pull(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()

    def _put(self, item: Any) -> bool:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=PATIENCE)
                return True
        return False

    def _queued_items(self) -> list[Any]:
        items: list[Any] = []
        with contextlib.suppress(queue.Empty):
            while len(items) < AHEAD:
                items.append(self._queue.get_nowait())
        return items

    def _tables(self, items: list[Any]) -> Iterable[Read]:
        """Records that follow each other become one batch, each table is a batch of its own."""
        for are_tables, group in groupby(items, lambda item: isinstance(item, pa.Table | pa.RecordBatch)):
            if are_tables:
                yield from (conform(_as_table(table), self._schema) for table in group)
            else:
                yield rows_of(group, self._schema)


def iterator_source(items: Iterable[Mapping[str, object] | str | pa.Table], stream: Stream) -> IteratorReader:
    """A source from mappings, JSON texts, Arrow tables or record batches; it ends when they end."""
    return IteratorReader(items, schema_of(stream))


@register("iterator")
def open_iterator(request: SourceRequest) -> Reader:
    """Refuse: no string can describe an iterable, but the name should not be unknown."""
    raise HeadgateError("an iterator has no string", hint="give the iterable itself to iterator_source")


def _as_table(item: Any) -> pa.Table:
    return pa.Table.from_batches([item]) if isinstance(item, pa.RecordBatch) else item
