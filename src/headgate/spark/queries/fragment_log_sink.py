"""Rows that wait inside a query, as a sink: a commit leaves them there exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import Stream
from headgate.spark.sinks.registry import Results
from headgate.spark.store.log.stream_log import StreamLog


class WaitingRows:
    """Appends what commits say to a log; the number of the commit is the batch, so a second time adds nothing."""

    durable = True

    def __init__(self, name: str, folder: Path, log: StreamLog | None = None) -> None:
        self._name, self._folder = name, folder
        self._log, self._own = log, log is None

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if self._log is None:  # after a crash nobody has opened it yet, and the rows tell its columns
            self._log = StreamLog.open(self._folder, Stream(name=self._name), table.schema)
        self._log.append(table, 0.0, str(number))

    def roll_forward_all(self, results: Results) -> None:
        for number, table in results:
            self.roll_forward(number, table)

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        self.roll_forward(number, pa.concat_tables([pq.read_table(file, partitioning=None) for file in files]))

    def sync(self) -> None:
        """An append is durable on return."""

    def compact(self, upto: int | None = None) -> None:
        """A log seals its segments itself."""

    def close(self) -> None:
        if self._own and self._log is not None:
            self._log.close()
