"""Commits: several runs that end together share one fsync, and rows that wait inside queries are put there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.spark.execution.query_run import letters_of
from headgate.spark.machine.tasks import Write, Written
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.sinks.followers import Followers
from headgate.spark.store.commits.commit_log import CommitLog
from headgate.spark.store.commits.records import Commit


class Committer:
    """Writes commits; several threads may."""

    def __init__(
        self, commits: CommitLog, fragment_logs: FragmentLogs, followers: Followers, now: Callable[[], float]
    ) -> None:
        self.commits = commits
        self._fragment_logs, self._followers, self._now = fragment_logs, followers, now

    def write(self, tasks: Sequence[Write]) -> list[Written]:
        """Make runs count: all of them, durable on return, or none."""
        made = [self._commit(task) for task in tasks]
        numbers = self.commits.append_all(made)
        at = self._now()
        return [self._written(*each, at) for each in zip(tasks, numbers, made, strict=True)]

    def _commit(self, task: Write) -> Commit:
        otherwise = {query: stream for query, stream, _ in task.failures}
        failures = [(query, failure) for query, _, failure in task.failures]
        letters = letters_of(failures, otherwise, self._now())
        outputs = {**task.outputs, **task.inside}
        return Commit(task.run, task.units, task.positions, outputs, task.queries, letters)

    def _written(self, task: Write, number: int, commit: Commit, at: float) -> Written:
        owed, error = {}, None
        for name, output in task.inside.items():
            try:
                self._fragment_logs.put(name, number, output.table())
            except Exception as failed:  # it is committed: the rows must be put there before the query goes on
                owed[name], error = (number, output), failed
        for query, tables in task.seen.items():
            for table in tables:
                self._followers.give(query, table)
        for query in task.over:
            self._followers.end(query)
        return Written(number, at, commit.letters, owed, error)
