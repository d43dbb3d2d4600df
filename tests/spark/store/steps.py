"""What an engine does with one query's results, step by step, for tests that look in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.spark.sinks import files as file_sinks
from headgate.spark.sinks.base import Sink, deliver
from headgate.spark.sinks.registry import open_sink
from headgate.spark.store import atomic_files as files
from headgate.spark.store import frame_file as frames
from headgate.spark.store.commits import commit_log as commit
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output
from headgate.spark.store.directory import DataDirectory


def table(*values: int) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.int64())})


def aside(folder: Path, run: str, *tables: pa.Table) -> Output:
    """A result that executors have written, a file for each table."""
    (folder / run).mkdir()
    names = tuple(f"{run}/part-{index}.parquet" for index in range(len(tables)))
    for name, table in zip(names, tables, strict=True):
        pq.write_table(table, folder / name)
    return Output.written(folder, names)


class Steps:
    """A query `q` whose rows are 0, 1, 2, … in the order of their commits, and another that is of no interest."""

    def __init__(self, directory: DataDirectory, kind: str) -> None:
        self.directory = directory
        self.commits = CommitLog(directory.commits)
        self.commits.append(Commit(queries={"q": {"sink": kind}, "other": {"sink": "memory"}}))
        self.sink: Sink = open_sink(kind, directory.result("q"))
        self.rows = 0  # acknowledged
        self.waiting: list[tuple[int, Output]] = []

    def commit(self, *sizes: int, apart: int = 0) -> None:
        """Several runs that end together; the last one's result is in so many files aside, if any."""
        other = {"other": Output.inline(table(-1))}
        outputs = [Output.inline(self._next(size)) for size in sizes]
        if apart:
            outputs.append(aside(self.directory.aside, f"run-{self.rows}", *(self._next(2) for _ in range(apart))))
        numbers = self.commits.append_all([Commit(outputs={"q": output, **other}) for output in outputs])
        self.waiting += zip(numbers, outputs, strict=True)
        self.rows = self._made

    _made = 0

    def _next(self, size: int) -> pa.Table:
        self._made += size
        return table(*range(self._made - size, self._made))

    def deliver(self) -> None:
        deliver(self.sink, self.waiting, self.directory.aside)
        self.waiting = []

    def merge(self) -> None:
        self.sink.compact(self._settled())

    def shorten(self) -> None:
        self.sink.sync()
        self.commits.compact(self._settled())

    def _settled(self) -> int:
        return self.waiting[0][0] - 1 if self.waiting else self.commits.number


class Died(BaseException):
    """The end of a process, as far as what is on disk is concerned."""


@contextmanager
def watched(look: Callable[[str], object]) -> Iterator[None]:
    """Look whenever the store passes one of its kill points."""

    def at(point: str, *, first: Callable[[], object] | None = None) -> None:
        look(point)

    with ExitStack() as stack:
        for module in (commit, files, file_sinks, frames):
            stack.enter_context(patch.object(module, "at", at))
        yield


def plainly(folder: Path, kind: str) -> list[int]:
    """What somebody sees who lists the files and knows nothing of Headgate."""
    function = "read_parquet" if kind == "parquet" else "read_json"
    try:
        rows = duckdb.execute(f"SELECT x FROM {function}('{folder}/*.{kind}')").fetchall()
    except duckdb.IOException:  # no file matches
        return []
    return sorted(x for (x,) in rows)
