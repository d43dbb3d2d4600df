"""The open sinks: deliver committed results to them, keep their files in order, and close them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa

from headgate.spark.machine.tasks import FILES, CloseSink, Deliver
from headgate.spark.queries.fragment_logs import is_fragment_log
from headgate.spark.sinks.base import Call, Sink, SinkOf, deliver
from headgate.spark.sinks.callback import CallbackSink
from headgate.spark.sinks.files import FileSink
from headgate.spark.sinks.memory import MemorySink
from headgate.spark.sinks.registry import is_file, needs_function, open_sink, parse_sink
from headgate.spark.sinks.result_files import check_columns
from headgate.spark.store import disk
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Output
from headgate.spark.store.directory import DataDirectory

TableCall = Callable[[str], Call | None]  # the function that appends to the table of a sink, if it has one


class OpenSinks:
    """The open sinks. There is one file sink per result folder, shared by all queries that had its name."""

    def __init__(self, directory: DataDirectory, table_call: TableCall) -> None:
        self._directory, self._table_call = directory, table_call
        self.files: dict[str, FileSink] = {}
        self._others: dict[int, Sink] = {}
        self.memory: dict[str, MemorySink] = {}  # of queries that keep their newest results in memory

    def deliver(self, task: Deliver) -> None:
        """Deliver a query's results of several commits, in ascending order; a repetition changes nothing."""
        try:
            deliver(self._sink(task), task.batch, self._directory.aside)
        except Exception:
            sink = self.files.get(task.query) if is_file(task.sink) else None
            if sink is not None and not os.path.isdir(sink.folder):  # somebody removed it: make it anew the next time
                del self.files[task.query]
                sink.close()
            raise
        self._discard([name for _, output in task.batch for name in output.files])

    def _discard(self, names: Sequence[str]) -> None:
        """Delete staged files that a sink has copied, and their folders once no query has files in them."""
        aside = self._directory.aside
        with suppress(OSError):  # recovery deletes what is left
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
        """The file sink of a query, opened if needed."""
        sink = self.files.get(query)
        if sink is None or sink.kind != kind:
            if sink is not None:
                sink.close()
            sink = self.files[query] = FileSink(self._directory.result(query), kind)
        return sink

    def check_columns(self, query: str, sink: str, columns: pa.Schema) -> None:
        """Refuse a new query whose results would be among those of a former one with other columns."""
        if is_file(sink):
            check_columns(self._directory.result(query), query, columns)

    def close_sink(self, task: CloseSink) -> None:
        """Close a sink that gets no more results."""
        other = self._others.pop(task.outbox, None)
        if other is not None:
            other.close()
        elif task.lane_name == FILES and task.query in self.files:
            self.files[task.query].sync()  # before `maintain` misses it: then the commit log may drop its results
            self.files.pop(task.query).close()

    def maintain(self, upto: int) -> None:
        """Merge small files of commits up to a number, and sync all files to disk.

        The first failure is raised once all sinks have been tried.
        """
        errors: list[Exception] = []
        for query, sink in list(self.files.items()):
            for step in (partial(sink.compact, upto), sink.sync):
                try:
                    step()
                except Exception as error:
                    removed = query not in self.files or not os.path.isdir(sink.folder)
                    if not removed:  # meanwhile, with its files
                        errors.append(error)
        if errors:
            raise errors[0]

    def close(self) -> None:
        for sink in [*self.files.values(), *self._others.values()]:
            sink.close()


def stored_sinks(directory: DataDirectory, table_call: TableCall, fragment_log: Callable[[str], Sink]) -> SinkOf:
    """Opens sinks for recovery as commits describe them; a callback sink, whose function is missing, takes nothing."""

    def sink_of(query: str, description: Mapping[str, Any]) -> Sink:
        if is_fragment_log(query):
            return fragment_log(query)
        text = str(description.get("sink", "parquet"))
        call = table_call(text)
        if call is None and needs_function(text):
            text = "blackhole"
        return open_sink(text, directory.result(query), call)

    return sink_of


def first_undelivered(directory: DataDirectory, commits: CommitLog) -> dict[str, int]:
    """By query with a callback sink: the first commit whose results its callback may not have received."""
    last_given = {
        name: CallbackSink.given(directory.result(name))
        for name, description in commits.state.queries.items()
        if parse_sink(str(description.get("sink", "parquet"))).name == "callback"
    }
    first: dict[str, int] = {}
    for number, commit in commits.commits() if last_given else ():
        for name in commit.outputs:
            if number > last_given.get(name, number):
                first.setdefault(name, number)
    return first


def sizes(outputs: Sequence[tuple[int, Output]]) -> list[tuple[int, Output, int]]:
    """Results, each with its size in memory."""
    return [(number, output, output.size) for number, output in outputs]
