"""Fragment logs: the rows that wait between two fragments of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.model import Stream
from headgate.spark.queries.layout import Layout, fragment_log_folder, sweep
from headgate.spark.sinks.base import Results
from headgate.spark.store.directory import DataDirectory
from headgate.spark.store.log.stream_log import StreamLog


class FragmentLogs:
    """The open fragment logs, by name. The intermediate rows of commits are appended to them."""

    def __init__(self, directory: DataDirectory) -> None:
        self.folder = directory.waiting
        self.open: dict[str, StreamLog] = {}

    def append(self, name: str, commit: int, rows: pa.Table) -> None:
        """Append rows of a commit; a repetition changes nothing."""
        self.sink(name).roll_forward(commit, rows)

    def sink(self, name: str) -> FragmentLogSink:
        """A sink that appends to a fragment log, for recovery too."""
        return FragmentLogSink(name, fragment_log_folder(self.folder, name), self.open.get(name))

    def sweep(self, queries: Mapping[str, Mapping[str, Any]]) -> None:
        """Delete fragment logs of removed queries and of former cuts; `queries` are the committed descriptions."""
        sweep(
            self.folder,
            {name: description["cut"]["epoch"] for name, description in queries.items() if "cut" in description},
        )

    def register(self, layout: Layout) -> None:
        """Add the logs of a layout that is used from now on."""
        self.open.update(layout.logs)

    def discard(self, layout: Layout) -> None:
        """Close and delete the logs of a layout that is no longer used."""
        for name in layout.logs:
            self.open.pop(name, None)
        layout.discard()

    def close(self) -> None:
        for log in list(self.open.values()):
            log.close()


class FragmentLogSink:
    """Appends the rows of commits to a log, with the commit's number as batch, so that a repetition adds nothing."""

    durable = True

    def __init__(self, name: str, folder: Path, log: StreamLog | None = None) -> None:
        self._name, self._folder = name, folder
        self._log, self._own = log, log is None

    def roll_forward(self, number: int, table: pa.Table) -> None:
        if self._log is None:  # during recovery no query has opened it yet
            self._log = StreamLog.open(self._folder, Stream(name=self._name), table.schema)
        self._log.append(table, 0.0, str(number))

    def roll_forward_all(self, results: Results) -> None:
        for number, table in results:
            self.roll_forward(number, table)

    def adopt(self, number: int, files: Sequence[Path]) -> None:
        self.roll_forward(number, pa.concat_tables([pq.read_table(file, partitioning=None) for file in files]))

    def sync(self) -> None:
        """Nothing to do: an append is durable on return."""

    def compact(self, upto: int | None = None) -> None:
        """Nothing to do: a log seals its segments itself."""

    def close(self) -> None:
        if self._own and self._log is not None:
            self._log.close()


def is_fragment_log(name: str) -> bool:
    """Whether a name in a commit is that of a fragment log, not of a query.

    >>> is_fragment_log("fire#12.0.1"), is_fragment_log("fire")
    (True, False)
    """
    return "#" in name


def query_of(name: str) -> str:
    """The query that a name in a commit belongs to.

    >>> query_of("fire#12.0.1"), query_of("fire")
    ('fire', 'fire')
    """
    return name.rpartition("#")[0] or name
