"""Commits and sinks together: what counts, and where it goes.

A run counts from `commit` on. `forward` then brings its results to the sinks, at once or later and several commits in
one file; `checkpoint` shortens the commit log by what the sinks have for certain.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.spark.store.commit import CommitLog
from headgate.spark.store.records import Commit, Output
from headgate.spark.store.sinks import Sink

SinkOf = Callable[[str, Mapping[str, Any]], Sink]  # a query's name and what commits say of it


class Ledger:
    """The commit log of a data directory and its queries' sinks; several threads may commit."""

    def __init__(self, commits: CommitLog, aside: Path, sink_of: SinkOf) -> None:
        self.commits, self.aside, self._sink_of = commits, aside, sink_of
        self.sinks: dict[str, Sink] = {}
        self._pending: list[tuple[int, Commit]] = []
        self._committing = threading.Lock()
        self._forwarding = threading.RLock()

    @property
    def positions(self) -> dict[str, dict[str, int]]:
        """Where each query stands, by leaf."""
        with self._committing:
            return {query: dict(leaves) for query, leaves in self.commits.state.positions.items()}

    @property
    def queries(self) -> dict[str, Mapping[str, Any]]:
        """What commits say of the queries."""
        with self._committing:
            return dict(self.commits.state.queries)

    def commit(self, commit: Commit) -> int:
        """Make a run count; durable on return."""
        with self._committing:
            for query in commit.outputs:
                self.sink(query, commit.queries.get(query) or self.commits.state.queries.get(query, {}))
            number = self.commits.append(commit)
            self._pending.append((number, commit))
            return number

    def sink(self, query: str, told: Mapping[str, Any]) -> Sink:
        """A query's sink, opened when it is first asked for."""
        if query not in self.sinks:
            self.sinks[query] = self._sink_of(query, told)
        return self.sinks[query]

    def forward(self) -> None:
        """Bring all that is committed to the sinks."""
        with self._forwarding:
            with self._committing:
                pending, self._pending = self._pending, []
            try:
                self._forward(pending)
            except BaseException:  # nothing is lost: what is done already will not be done twice
                with self._committing:
                    self._pending[:0] = pending
                raise
            for _, commit in pending:
                discard(self.aside, commit)
                self.forget(commit)

    def forget(self, commit: Commit) -> None:
        """Let go of the sinks of queries that a commit has removed."""
        for query, told in commit.queries.items():
            if told is None and query in self.sinks:
                self.sinks.pop(query).close()

    def checkpoint(self) -> None:
        """Forward everything, merge small files, and forget commits that the sinks have for certain."""
        with self._forwarding:
            with self._committing:
                upto = self.commits.number
            self.forward()
            for sink in list(self.sinks.values()):
                sink.compact()
                sink.sync()
            self.commits.compact(upto)

    def _forward(self, pending: list[tuple[int, Commit]]) -> None:
        gathered: dict[str, list[tuple[int, Output]]] = {}
        for number, commit in pending:
            for query, output in commit.outputs.items():
                gathered.setdefault(query, []).append((number, output))
        for query, outputs in gathered.items():
            forward(self.sinks[query], outputs, self.aside)

    def close(self) -> None:
        """Forward what is left, then let go."""
        self.forward()
        for sink in self.sinks.values():
            sink.close()
        self.commits.close()


def discard(aside: Path, commit: Commit) -> None:
    """Remove what is left of the folders that a commit's files lay in."""
    for folder in {name.split("/")[0] for output in commit.outputs.values() for name in output.files}:
        shutil.rmtree(aside / folder, ignore_errors=True)


def forward(sink: Sink, outputs: list[tuple[int, Output]], aside: Path) -> None:
    """Bring one query's results of several commits, in rising order, to its sink."""
    inline: list[tuple[int, pa.Table]] = []
    for number, output in outputs:
        if output.files:
            sink.roll_forward_all(inline)
            inline = []
            sink.adopt(number, [aside / name for name in output.files])
        elif output.data:
            inline.append((number, output.table()))
    sink.roll_forward_all(inline)
