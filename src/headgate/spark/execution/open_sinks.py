"""Delivery: committed results go into the sinks that queries name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from headgate.spark.machine.tasks import FILES, Deliver, LetGo
from headgate.spark.queries.fragment_logs import is_fragment_log
from headgate.spark.sinks.base import Call, Sink, SinkOf, deliver
from headgate.spark.sinks.callback import CallbackSink
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.memory import MemorySink
from headgate.spark.sinks.registry import is_file, needs_function, open_sink, parse_sink
from headgate.spark.store import disk
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Output
from headgate.spark.store.directory import DataDirectory

TableCall = Callable[[str], Call | None]  # what appends to the table that a sink names, if it names one


class OpenSinks:
    """The sinks that are open. Those of files are one for each query's folder, whichever query writes there."""

    def __init__(self, directory: DataDirectory, table_call: TableCall) -> None:
        self._directory, self._table_call = directory, table_call
        self.files: dict[str, FileSink] = {}
        self._others: dict[int, Sink] = {}
        self.memory: dict[str, MemorySink] = {}  # the newest results of queries that keep them in memory

    def deliver(self, task: Deliver) -> None:
        """Bring a query's results of several commits, in rising order, to its sink; the second time does nothing."""
        deliver(self._sink(task), task.batch, self._directory.aside)
        self._discard([name for _, output in task.batch for name in output.files])

    def _discard(self, names: Sequence[str]) -> None:
        """Remove files aside that a sink has copied, and folders in which no other query has files either."""
        aside = self._directory.aside
        with suppress(OSError):  # recovery removes what is left
            for name in names:
                disk.unlink(aside / name, missing_ok=True)
            for folder in {aside / name.split("/")[0] for name in names}:
                if folder.is_dir() and not any(folder.rglob("*.parquet")):
                    disk.rmtree(folder)

    def _sink(self, task: Deliver) -> Sink:
        if is_file(task.sink):
            return self.file_sink(task.query, parse_sink(task.sink).name)
        if task.outbox not in self._others:
            sink = open_sink(task.sink, self._directory.result(task.query), task.call or self._table_call(task.sink))
            self._others[task.outbox] = sink
            if isinstance(sink, MemorySink):
                self.memory[task.query] = sink
        return self._others[task.outbox]

    def file_sink(self, query: str, kind: str) -> FileSink:
        """The files of a query."""
        found = self.files.get(query)
        if found is None or found.kind != kind:
            if found is not None:
                found.close()
            found = self.files[query] = FileSink(self._directory.result(query), kind)
        return found

    def let_go(self, task: LetGo) -> None:
        """Close a sink that gets no more."""
        other = self._others.pop(task.outbox, None)
        if other is not None:
            other.close()
        elif task.by == FILES and task.query in self.files:
            self.files[task.query].sync()  # while `tidy` knows it still: commits may forget its results from now on
            self.files.pop(task.query).close()

    def tidy(self, upto: int) -> None:
        """Merge small files of commits up to a number, and make sure that all files are on disk.

        The first failure is raised when all sinks have had their turn.
        """
        errors: list[Exception] = []
        for query, sink in list(self.files.items()):
            for step in (partial(sink.compact, upto), sink.sync):
                try:
                    step()
                except Exception as error:
                    if query in self.files and os.path.isdir(sink.folder):  # else it was removed with its files
                        errors.append(error)
        if errors:
            raise errors[0]

    def close(self) -> None:
        for sink in [*self.files.values(), *self._others.values()]:
            sink.close()


def stored_sinks(directory: DataDirectory, table_call: TableCall, fragment_log: Callable[[str], Sink]) -> SinkOf:
    """Sinks as commits name them, for recovery; what has no function goes nowhere, and can be recalled later."""

    def sink_of(query: str, told: Mapping[str, Any]) -> Sink:
        if is_fragment_log(query):
            return fragment_log(query)
        text = str(told.get("sink", "parquet"))
        call = table_call(text)
        if call is None and needs_function(text):
            text = "blackhole"
        return open_sink(text, directory.result(query), call)

    return sink_of


def uncalled(directory: DataDirectory, commits: CommitLog) -> dict[str, int]:
    """The first commit that the callback of each query may not have been given; nobody can call it until it is back."""
    calls = {
        name: CallbackSink.given(directory.result(name))
        for name, told in commits.state.queries.items()
        if parse_sink(str(told.get("sink", "parquet"))).name == "callback"
    }
    found: dict[str, int] = {}
    for number, commit in commits.commits() if calls else ():
        for name in commit.outputs:
            if number > calls.get(name, number):
                found.setdefault(name, number)
    return found


def sizes(outputs: Sequence[tuple[int, Output]]) -> list[tuple[int, Output, int]]:
    """Results with the bytes that they take in memory."""
    return [(number, output, size_of(output)) for number, output in outputs]


def size_of(output: Output) -> int:
    """Bytes of results that wait in memory; those in files take none, but are not free either."""
    return len(output.data) + 1024 * len(output.files)
