"""Writing commits: several share one fsync; then intermediate rows go to their fragment logs, results to followers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from headgate.spark.execution.query_run import letters_of
from headgate.spark.machine.tasks import WriteCommit, WrittenCommit
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.sinks.followers import Followers
from headgate.spark.sinks.result_files import load
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit, Output


class Committer:
    """Writes commits. Thread-safe."""

    def __init__(
        self,
        commits: CommitLog,
        fragment_logs: FragmentLogs,
        followers: Followers,
        now: Callable[[], float],
        aside: Path,
    ) -> None:
        self.commits, self._aside = commits, aside
        self._fragment_logs, self._followers, self._now = fragment_logs, followers, now

    def write(self, tasks: Sequence[WriteCommit]) -> list[WrittenCommit]:
        """Write all commits, durable on return, or none."""
        commits = [self._commit(task) for task in tasks]
        numbers = self.commits.append_all(commits)
        at = self._now()
        return [
            self._written(task, number, commit, at)
            for task, number, commit in zip(tasks, numbers, commits, strict=True)
        ]

    def _commit(self, task: WriteCommit) -> Commit:
        default_streams = {query: stream for query, stream, _ in task.failures}
        failures = [(query, failure) for query, _, failure in task.failures]
        letters = letters_of(failures, default_streams, self._now())
        outputs = {**task.outputs, **task.intermediate}
        return Commit(task.run, task.units, task.positions, outputs, task.queries, letters, task.catalog)

    def _give(self, task: WriteCommit, query: str, output: Output, number: int) -> None:
        """Give results to followers, also to those who have come since the run began, and say that they are durable."""
        if self._followers.has(query):
            for table in task.follower_tables.get(query) or _tables(output, self._aside):
                self._followers.give(query, table, number)
        if output is not None and output.rows:
            self._followers.committed(query, number)

    def _written(self, task: WriteCommit, number: int, commit: Commit, at: float) -> WrittenCommit:
        unappended, error = {}, None
        for name, output in task.intermediate.items():
            try:
                self._fragment_logs.append(name, number, output.table())
            except Exception as failed:  # they are committed, so they must be appended before the query runs again
                unappended[name], error = (number, output), failed
        for query, output in task.outputs.items():
            self._give(task, query, output, number)
        for query in task.ended_queries:
            self._followers.end(query)
        return WrittenCommit(number, at, commit.letters, unappended, error)


def _tables(output: Output | None, aside: Path) -> list[pa.Table]:
    """Results as a commit stores them. Files are in `aside` still: they are delivered after the commit."""
    if output is None or not output.rows:
        return []
    return [load(aside / name, None) for name in output.files] if output.files else [output.table()]
