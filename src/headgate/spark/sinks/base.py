"""What every sink implements, how committed results are delivered to it, and the base of sinks without files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.spark.store.commits.records import Output

Call = Callable[[pa.Table], object]  # a function that takes results
Results = Sequence[tuple[int, pa.Table]]  # (commit number, rows), rising


class Sink(Protocol):
    """What takes a query's committed results.

    A commit may be delivered again after a crash or an error. A durable sink then takes what it does not have yet.
    """

    durable: bool  # whether commits are delivered again after a crash

    def roll_forward(self, number: int, table: pa.Table) -> None:
        """Take the results of one commit."""

    def roll_forward_all(self, results: Results) -> None:
        """Take the results of several commits, in rising order."""

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        """Take Parquet files with the results of one commit, which executors have written."""

    def sync(self) -> None:
        """Force all results to disk: the commit log may forget them afterwards."""

    def compact(self, upto: int | None = None) -> None:
        """Merge small files with the results of commits up to a number."""

    def close(self) -> None:
        """Release what the sink holds; it gets no more results."""


SinkOf = Callable[[str, Mapping[str, Any]], Sink]  # opens a query's sink by its name and its entry in the commit log


def deliver(sink: Sink, outputs: Sequence[tuple[int, Output]], aside: Path) -> None:
    """Bring one query's results of several commits, in rising order, to its sink.

    Small results are inside the commit's record, large ones are files in the folder `aside` that the record names.
    """
    inline: list[tuple[int, pa.Table]] = []
    for number, output in outputs:
        if output.files:
            sink.roll_forward_all(inline)
            inline = []
            sink.adopt(number, [aside / name for name in output.files])
        elif output.is_inline:
            inline.append((number, output.table()))
    sink.roll_forward_all(inline)


class FunctionSink:
    """Base of sinks that pass results to a function.

    Best effort as it is, since what a crash interrupts is lost; `CallbackSink` keeps progress on disk: at least once.
    """

    durable = False

    def __init__(self, call: Call) -> None:
        self._call = call

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if table.num_rows:
            self._call(table)

    def roll_forward_all(self, results: Results) -> None:
        for number, table in results:
            self.roll_forward(number, table)

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        self.roll_forward(number, pa.concat_tables([pq.read_table(file, partitioning=None) for file in files]))

    def sync(self) -> None:
        """Nothing is on disk."""

    def compact(self, upto: int | None = None) -> None:
        """Nothing is on disk."""

    def close(self) -> None:
        """Nothing is open."""


def ignore(table: pa.Table) -> None:
    """Do nothing with results."""
