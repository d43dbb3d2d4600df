"""What every source offers to the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import pyarrow as pa

from headgate.spark.ingest.parsing.records import Bad

MOST_ROWS = 50_000  # of one read: a source that is far behind must not hold up the others


class Batch(NamedTuple):
    """Rows that came together, to be appended at once.

    `batch` is an id that stays the same when the batch comes again, so that the log can leave it out; None where a
    source cannot repeat itself.
    """

    rows: pa.Table
    batch: str | None = None
    bad: tuple[Bad, ...] = ()


class Reader(ABC):
    """An open source. One thread calls it; moments are seconds since the epoch."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether a finite source has ended, with everything read."""

    @abstractmethod
    def read(self, now: float) -> list[Batch]:
        """What has come by `now`, possibly nothing; does not wait."""

    @abstractmethod
    def due(self, now: float) -> float:
        """When to read again: `now` or earlier if something waits, infinity when done."""

    def appended(self, batch: str) -> None:
        """The batch with this id is durable in the log."""

    def close(self) -> None:
        """Let go of files, ports and threads; a second time does nothing."""
