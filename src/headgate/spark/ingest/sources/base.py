"""What every source implements: a `Reader`, which gives its tuples in batches when it is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import pyarrow as pa

from headgate.spark.ingest.parsing.records import Bad
from headgate.spark.store.log.stream_log import StreamLog

MOST_ROWS = 50_000  # of one read: one thread reads all sources, and one with a long backlog must not hold up the others


class Batch(NamedTuple):
    """Rows that came together, to be appended to the log at once.

    `batch` is an id that stays the same when a source sends the batch again, so that the log can leave it out; None
    for a source that never sends anything again. `bad` are tuples that are no rows of the stream.
    """

    rows: pa.Table
    batch: str | None = None
    bad: tuple[Bad, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no tuple in it, neither a row nor a bad one."""
        return not self.rows.num_rows and not self.bad


class Reader(ABC):
    """An open source. Only one thread calls it; times are seconds since the epoch."""

    def resume(self, log: StreamLog) -> None:
        """Called before the first read with the log of the stream: it knows which batches came in earlier sessions."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether a finite source has ended and all its tuples have been read."""

    @abstractmethod
    def read(self, now: float) -> list[Batch]:
        """The tuples that have come by `now`, possibly none; never waits."""

    @abstractmethod
    def due(self, now: float) -> float:
        """When to read again: `now` or earlier if tuples wait, infinity when done."""

    @property
    def note(self) -> str:
        """What a user should know although nothing has failed: in one line, empty if there is nothing."""
        return ""

    def appended(self, batch: str) -> None:
        """Called when the batch with this id is durable in the log."""

    def close(self) -> None:
        """Release files, ports and threads; a second call does nothing."""
