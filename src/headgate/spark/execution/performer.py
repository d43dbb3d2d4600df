"""Every kind of task, and how it is carried out. Nothing here changes the engine's state: the answer does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from headgate.model import HeadgateError
from headgate.plan.sharing import Place
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.execution.open_sinks import OpenSinks, sizes
from headgate.spark.execution.refragmenter import Refragmenter
from headgate.spark.execution.unexpected_errors import told
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import tasks as t
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.queries.layout import Layout
from headgate.spark.queries.retention import droppable, forget_inside
from headgate.spark.queries.running_query import RunningQuery, stream_leaves

_ON_SPARK = (t.OpenStream, t.Check, t.Prepare, t.Evaluate, t.Deliver)  # may ask something of Spark


class Performer:
    """Carries tasks out, in whatever thread."""

    def __init__(
        self,
        evaluator: SparkEvaluator,
        committer: Committer,
        sinks: OpenSinks,
        fragment_logs: FragmentLogs,
        ingest: StreamIngest,
        revive: Callable[[], Mapping[str, str]],
    ) -> None:
        self._evaluator, self._committer, self._sinks = evaluator, committer, sinks
        self._fragment_logs, self._ingest = fragment_logs, ingest
        self._recutter = Refragmenter(evaluator, committer, fragment_logs, ingest)
        self._ways: Mapping[type, Callable[[Any], Any]] = {
            t.OpenStream: lambda task: ingest.add(task.stream).end,
            t.Check: self._check,
            t.Recall: self._recall,
            t.Reach: self._reach,
            t.Prepare: self._recutter.prepare,
            t.Evaluate: evaluator.evaluate,
            t.Write: lambda task: committer.write((task,))[0],
            t.Deliver: sinks.deliver,
            t.KeepLetters: self._keep_letters,
            t.LetGo: sinks.let_go,
            t.Look: self._look,
            t.Tidy: self._tidy,
            t.Drop: self._drop,
            t.Discard: lambda task: fragment_logs.leave(cast(Layout, task.layout)),
            t.Revive: lambda task: revive(),
        }

    def perform(self, task: t.Task) -> Any:
        """Do it, here and now. What goes wrong is told in words, since nobody else may ask Java what it meant.

        If Spark has died since the task was begun, that is what went wrong.
        """
        java = self._evaluator.java
        try:
            return self._ways[type(task)](task)
        except Exception as error:
            blamed = self._evaluator.blame(java, error) if isinstance(task, _ON_SPARK) else error
            if isinstance(blamed, SparkGoneError):
                raise blamed from error
            if isinstance(error, HeadgateError | OSError):
                raise
            raise HeadgateError(told(error, type(task).__name__)) from error

    def _check(self, task: t.Check) -> t.Checked:
        layout, checked = self._evaluator.check(task.query)
        known: frozenset[Any] = frozenset()
        if task.known:
            streams = set(stream_leaves(task.query).values())
            letters = self._ingest.letters
            known = frozenset(key for stream in streams for key in letters[stream].failed(task.query.name))
        return t.Checked(layout, known, checked.schema)

    def _reach(self, task: t.Reach) -> dict[Place, int]:
        for name, number, output in task.owed:
            self._fragment_logs.put(name, number, output.table())
        return RunningQuery.of(task.resume_point).stands()

    def _recall(self, task: t.Recall) -> list[tuple[int, Any, int]]:
        commits = self._committer.commits.commits()
        return sizes(
            [(number, commit.outputs[task.query]) for number, commit in commits if task.query in commit.outputs]
        )

    def _keep_letters(self, task: t.KeepLetters) -> None:
        for number, letters in task.batch:
            self._ingest.keep_committed(number, task.stream, letters)

    def _look(self, task: t.Look) -> list[Place]:
        running = RunningQuery.of(task.resume_point)
        found: list[Place] = []
        for fragment in running.fragments:
            if fragment.held and running.can_close(fragment, task.ends, self._ingest.logs):
                found += fragment.held
        return found

    def _tidy(self, task: t.Tidy) -> dict[str, int]:
        """Merge small files and shorten the commit log; where streams may begin, for the machine to decide."""
        self._sinks.tidy(task.upto)
        self._committer.commits.compact(task.upto)
        if task.standings is None:
            return {}
        running = [RunningQuery.of(resume_point) for resume_point in task.standings]
        forget_inside(running, self._ingest.logs)
        return droppable(running, self._ingest.logs)

    def _drop(self, task: t.Drop) -> dict[str, int]:
        for stream, offset in task.before.items():
            self._ingest.logs[stream].drop_before(offset)
        return {stream: log.start for stream, log in self._ingest.logs.items()}
