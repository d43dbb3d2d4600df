"""How each kind of task is carried out. Nothing here changes the engine's state: the machine does, on the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from headgate.model import HeadgateError
from headgate.plan.places import Place
from headgate.spark.execution.committer import Committer
from headgate.spark.execution.evaluator import SparkEvaluator
from headgate.spark.execution.memory import FreedMemory, give_back_memory
from headgate.spark.execution.open_sinks import OpenSinks, sizes
from headgate.spark.execution.refragmenter import Refragmenter
from headgate.spark.execution.unexpected_errors import explain
from headgate.spark.ingest.streams import StreamIngest
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine import tasks as t
from headgate.spark.queries.fragment_logs import FragmentLogs
from headgate.spark.queries.layout import Layout
from headgate.spark.queries.retention import drop_fragment_rows, droppable
from headgate.spark.queries.running_query import RunningQuery, stream_leaves

# Tasks that may use Spark.
_ON_SPARK = (t.OpenStream, t.CheckQuery, t.CheckQueries, t.Prepare, t.PrepareTogether, t.Evaluate, t.WarmUp, t.Deliver)


class Performer:
    """Carries out tasks. Thread-safe."""

    def __init__(
        self,
        evaluator: SparkEvaluator,
        committer: Committer,
        sinks: OpenSinks,
        fragment_logs: FragmentLogs,
        ingest: StreamIngest,
        restart_spark: Callable[[], Mapping[str, str]],
        end_source: Callable[[str], object],
    ) -> None:
        self._evaluator, self._committer, self._sinks = evaluator, committer, sinks
        self._fragment_logs, self._ingest, self._end_source = fragment_logs, ingest, end_source
        self._freed_memory = FreedMemory()
        self._refragmenter = Refragmenter(evaluator, committer, fragment_logs, ingest)
        self._handlers: Mapping[type, Callable[[Any], Any]] = {
            t.CancelRuns: lambda task: evaluator.runner.cancel(),
            t.CancelRun: lambda task: evaluator.runner.cancel_run(task.label),
            t.OpenStream: self._open_stream,
            t.RetireStream: self._retire_stream,
            t.RemoveStream: lambda task: ingest.remove_files(task.stream),
            t.CheckQuery: self._check_query,
            t.CheckQueries: self._check_queries,
            t.FindUndelivered: self._find_undelivered,
            t.FindPositions: self._find_positions,
            t.Prepare: self._refragmenter.prepare,
            t.PrepareTogether: self._refragmenter.prepare_together,
            t.Evaluate: evaluator.evaluate,
            t.WarmUp: evaluator.warm,
            t.WriteCommit: lambda task: committer.write((task,))[0],
            t.Deliver: self._deliver,
            t.StoreDeadLetters: self._store_dead_letters,
            t.CloseSink: sinks.close_sink,
            t.CheckWindows: self._check_windows,
            t.Maintain: self._maintain,
            t.DropTuples: self._drop,
            t.DiscardFragmentLogs: lambda task: fragment_logs.discard(cast(Layout, task.layout)),
            t.RestartSpark: lambda task: restart_spark(),
            t.KillSpark: lambda task: evaluator.java.kill(),
        }

    def perform(self, task: t.Task) -> Any:
        """Carry out a task in this thread. Errors of Java become text here, since later Java may not answer.

        `SparkGoneError` if Spark has died since the task began.
        """
        java = self._evaluator.java
        try:
            return self._handlers[type(task)](task)
        except Exception as error:
            blamed = self._evaluator.blame(java, error) if isinstance(task, _ON_SPARK) else error
            if isinstance(blamed, SparkGoneError):
                raise blamed from error
            if isinstance(error, HeadgateError | OSError):
                raise
            raise HeadgateError(explain(error, type(task).__name__)) from error

    def _open_stream(self, task: t.OpenStream) -> HeadgateError | None:
        if task.reached is not None:
            return self._ingest.add_known(task.stream, task.reached)
        self._ingest.add(task.stream, fresh=task.fresh)
        return None

    def _check_query(self, task: t.CheckQuery) -> t.CheckedQuery:
        layout, checked = self._evaluator.check(task.query)
        if task.is_new:
            self._sinks.check_columns(task.query.name, task.query.sink or "parquet", checked.schema)
        reported: frozenset[Any] = frozenset()
        if task.remembered:
            streams = set(stream_leaves(task.query).values())
            letters = self._ingest.letters
            reported = frozenset(key for stream in streams for key in letters[stream].failed(task.query.name))
        return t.CheckedQuery(layout, reported, checked.schema)

    def _check_queries(self, task: t.CheckQueries) -> list[t.CheckedQuery | Exception]:
        """Check each by itself, unless Spark dies: then no check is worth anything."""
        found: list[t.CheckedQuery | Exception] = []
        for check in task.checks:
            try:
                found.append(self.perform(check))
            except SparkGoneError:
                raise
            except Exception as error:
                found.append(error)
        return found

    def _find_positions(self, task: t.FindPositions) -> dict[Place, int]:
        for name, number, output in task.unappended:
            self._fragment_logs.append(name, number, output.table())
        return RunningQuery.of(task.resume_point).stream_positions()

    def _find_undelivered(self, task: t.FindUndelivered) -> list[tuple[int, Any, int]]:
        commits = self._committer.commits.commits()
        return sizes(
            [(number, commit.outputs[task.query]) for number, commit in commits if task.query in commit.outputs]
        )

    def _deliver(self, task: t.Deliver) -> None:
        self._sinks.deliver(task)
        self._freed_memory.give_back()

    def _store_dead_letters(self, task: t.StoreDeadLetters) -> None:
        for number, letters in task.batch:
            self._ingest.keep_committed(number, task.stream, letters)

    def _retire_stream(self, task: t.RetireStream) -> None:
        self._ingest.retire(task.stream)
        self._end_source(task.stream)

    def _check_windows(self, task: t.CheckWindows) -> list[Place]:
        running = RunningQuery.of(task.resume_point)
        leaves: list[Place] = []
        for fragment in running.fragments:
            if fragment.held and running.can_close(fragment, task.ends, self._ingest.logs):
                leaves += fragment.held
        return leaves

    def _maintain(self, task: t.Maintain) -> dict[str, int]:
        """Merge small files and shorten the commit log; returns where streams may start, for the machine to decide."""
        self._sinks.maintain(task.upto)
        self._committer.commits.compact(task.upto)
        self._evaluator.keep_only(cast(Layout, layout) for layout in task.layouts)
        give_back_memory()
        if task.resume_points is None:
            return {}
        running = [RunningQuery.of(resume_point) for resume_point in task.resume_points]
        drop_fragment_rows(running, self._ingest.logs)
        return droppable(running, self._ingest.logs)

    def _drop(self, task: t.DropTuples) -> dict[str, int]:
        for stream, offset in task.before.items():
            if (log := self._ingest.logs.get(stream)) is not None:  # else it was dropped meanwhile
                log.drop_before(offset)
        return {stream: log.start for stream, log in list(self._ingest.logs.items())}
