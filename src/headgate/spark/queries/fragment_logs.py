"""The rooms in which rows wait inside queries that are in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import Stream
from headgate.spark.queries.layout import Layout, sweep, waiting_folder
from headgate.spark.sinks.base import Results
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog


class FragmentLogs:
    """The logs of waiting rows that are open, by their names; commits fill them."""

    def __init__(self, directory: DataDirectory) -> None:
        self.folder = directory.waiting
        self.open: dict[str, StreamLog] = {}

    def put(self, name: str, commit: int, rows: pa.Table) -> None:
        """Let rows of a commit wait; the second time nothing happens."""
        self.sink(name).roll_forward(commit, rows)

    def sink(self, name: str) -> FragmentLogSink:
        """What a commit's rows go to."""
        return FragmentLogSink(name, waiting_folder(self.folder, name), self.open.get(name))

    def sweep(self, queries: Mapping[str, Mapping[str, Any]]) -> None:
        """Remove what waits for queries that are no more, or are cut otherwise now."""
        sweep(self.folder, {name: told["cut"]["epoch"] for name, told in queries.items() if "cut" in told})

    def take(self, layout: Layout) -> None:
        """A query is in these pieces from now on."""
        self.open.update(layout.logs)

    def leave(self, layout: Layout) -> None:
        """Nobody waits there any more."""
        for name in layout.logs:
            self.open.pop(name, None)
        layout.discard()

    def close(self) -> None:
        for log in list(self.open.values()):
            log.close()


class FragmentLogSink:
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


def is_fragment_log(name: str) -> bool:
    """Whether a name is that of waiting rows, not of a query.

    >>> is_fragment_log("fire#12.0.1"), is_fragment_log("fire")
    (True, False)
    """
    return "#" in name


def query_of(name: str) -> str:
    """The query that a name is of, or whose rows wait under it.

    >>> query_of("fire#12.0.1"), query_of("fire")
    ('fire', 'fire')
    """
    return name.rpartition("#")[0] or name
