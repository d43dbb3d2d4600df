"""Writing commits: several share one fsync; then intermediate rows go to their fragment logs, results to followers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.spark.execution.query_run import letters_of
from headgate.spark.machine.tasks import WriteCommit, WrittenCommit
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.sinks.followers import Followers
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit


class Committer:
    """Writes commits. Thread-safe."""

    def __init__(
        self, commits: CommitLog, fragment_logs: FragmentLogs, followers: Followers, now: Callable[[], float]
    ) -> None:
        self.commits = commits
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

    def _written(self, task: WriteCommit, number: int, commit: Commit, at: float) -> WrittenCommit:
        unappended, error = {}, None
        for name, output in task.intermediate.items():
            try:
                self._fragment_logs.append(name, number, output.table())
            except Exception as failed:  # they are committed, so they must be appended before the query runs again
                unappended[name], error = (number, output), failed
        for query, tables in task.follower_tables.items():
            for table in tables:
                self._followers.give(query, table)
        for query in task.ended_queries:
            self._followers.end(query)
        return WrittenCommit(number, at, commit.letters, unappended, error)
