"""Evaluation on Spark: check queries, and run portions of them as Spark jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from headgate.model import Query, Stream
from headgate.spark.compile.fragments import Fragment
from headgate.spark.compile.known_forms import KnownForms
from headgate.spark.compile.leaf_rows import Range
from headgate.spark.compile.prepared_query import PreparedQuery, prepare_query
from headgate.spark.execution.fused_jobs import FusedJobs
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.execution.query_run import QueryRun, inline_outputs
from headgate.spark.execution.response_times import arrivals_of, arrivals_of_train
from headgate.spark.execution.unexpected_errors import explain
from headgate.spark.execution.warm_up import Warmer
from headgate.spark.jvm.gone import SparkChangedError, SparkGoneError
from headgate.spark.jvm.process import Java
from headgate.spark.jvm.settings import own_session
from headgate.spark.machine.tasks import Evaluate, Portion, PortionResult, WarmUp
from headgate.spark.queries.layout import Layout, QueryCutter
from headgate.spark.queries.reading import Readings
from headgate.spark.queries.remembered_logs import remembered
from headgate.spark.queries.running_query import Logs, RunningQuery
from headgate.spark.sinks.followers import Followers
from headgate.spark.sinks.table import check_sink
from headgate.spark.store.commits.records import Output


class SparkEvaluator:
    """Runs portions of queries as Spark jobs. Thread-safe."""

    def __init__(
        self,
        spark: SparkSession,
        runner: JobRunner,
        logs: Logs,
        streams: Mapping[str, Stream],
        tables: Mapping[str, DataFrame],
        waiting: Path,
        aside: Path,
        followers: Followers,
        now: Callable[[], float],
        *,
        panes: bool = True,
    ) -> None:
        self.runner = runner
        self._logs, self._streams, self._tables = logs, streams, tables
        self._waiting, self._aside, self._followers, self._now = waiting, aside, followers, now
        self._panes = panes
        self.use(spark)

    def use(self, spark: SparkSession) -> None:
        """Use another Spark from now on; what was prepared for the former one is dropped.

        Queries run in our own session beside this one.
        """
        self._program, self.spark = spark, own_session(spark)
        self._fused_jobs = FusedJobs(self.runner, self._logs, self._aside, self._now, panes=self._panes)
        self._known_forms = KnownForms(self.spark)

    @property
    def java(self) -> Java:
        return self.runner.java

    def blame(self, java: Java, error: Exception) -> Exception:
        """`SparkGoneError` if the Java process that was used when the error occurred has died, else the error."""
        cause = java.blame(error)
        if isinstance(cause, SparkGoneError) and java is not self.java:
            return SparkChangedError(cause.message, hint=cause.hint)
        return cause

    def check(self, query: Query) -> tuple[Layout, PreparedQuery]:
        """Let Spark analyse a query, and refuse one that could not run; starts no job."""
        checked = prepare_query(self.spark, query.plan, self._streams, self._tables, known=self._known_forms)
        check_sink(self._program, query.sink, checked.schema)
        return Layout((Fragment((), checked),)), checked

    def cutter(self) -> QueryCutter:
        return QueryCutter(self.spark, self._streams, self._tables, self._waiting)

    def evaluate(self, task: Evaluate) -> list[PortionResult]:
        """Run each group as one job, if its queries have the same form."""
        java = self.java
        with self.runner.running(task.label, task.pool, task.limit):
            results = [result for group in task.groups for result in self._group(group, task.label)]
        if any(result.error for result in results) and java.dead:  # that is the cause, whatever the errors say
            raise java.gone()
        return results

    def keep_only(self, layouts: Iterable[Layout]) -> None:
        """Forget what is kept for the runs of queries with other layouts."""
        self._fused_jobs.keep_only(fragment.prepared for layout in layouts for fragment in layout.fragments)

    def warm(self, task: WarmUp) -> int:
        """Run the jobs of units on made-up rows, and drop the results; returns how many units were run."""
        groups = tuple(
            group
            for group in task.groups
            if all(cast(Layout, point.layout).fragments[0].prepared.catalog.spark is self.spark for point in group)
        )
        with self.runner.running(task.label):
            return Warmer(self.runner, self._fused_jobs, self._streams, self._now).run(replace(task, groups=groups))

    def _group(self, group: Sequence[Portion], label: str) -> Iterator[PortionResult]:
        query_runs: dict[Portion, QueryRun] = {}
        readings = Readings(remembered(self._logs))
        for portion in group:
            try:
                query_runs[portion] = self.query_run(portion, readings)
            except SparkGoneError:
                raise
            except Exception as error:  # for example, its log lacks tuples that it was to read
                yield PortionResult(portion, explain(error, f"run {portion.name}"))
        self._fused_jobs.evaluate(list(query_runs.values()), label)
        # Members of a group read the same tuples, and looking up their arrivals in a long train takes a while.
        arrivals = cache(lambda stream, first, last: self._logs[stream].arrivals(first, last))
        outputs = inline_outputs(query_runs.values())
        for portion, query_run in query_runs.items():
            try:
                yield self._result(portion, query_run, outputs.get(id(query_run)), arrivals)
            except Exception as error:
                yield PortionResult(portion, explain(error, f"run {portion.name}"))

    def query_run(self, portion: Portion, readings: Readings) -> QueryRun:
        fragment = cast(Fragment, portion.fragment)
        if fragment.prepared.catalog.spark is not self.spark:  # its frames are in a Java process that has died
            raise SparkChangedError("the query was made ready for a Spark that has died")
        taken = {place: Range(*offsets) for place, offsets in portion.offsets.items()}
        running = RunningQuery.of(portion.resume_point)
        return QueryRun.of(running, fragment, readings.of(running, fragment, taken))

    def _result(
        self,
        portion: Portion,
        query_run: QueryRun,
        output: Output | None,
        arrivals: Callable[..., Sequence[tuple[float, int]]],
    ) -> PortionResult:
        if query_run.error:
            return PortionResult(portion, query_run.error)
        output = output or query_run.written_output(self._aside)
        times: Any = ()
        own: Any = ()
        if query_run.result.written is not None:
            times = arrivals_of_train(query_run.result.count, query_run.streams_read, arrivals)
        elif query_run.fragment.feeds is None:
            times, own = arrivals_of(query_run.result.rows, query_run.streams_read, self._logs)
        return PortionResult(
            portion,
            output=output,
            size=0 if output is None else output.size,
            intermediate=query_run.intermediate_output(),
            intermediate_count=0 if query_run.intermediate is None else query_run.intermediate.num_rows,
            chunks=query_run.chunks,
            failures=query_run.result.failures,
            count=query_run.result.count,
            tuples=query_run.reading.tuples,
            arrived=query_run.reading.arrived,
            late=query_run.reading.late,
            jobs=query_run.jobs,
            jobs_share=query_run.jobs_share,
            rows_read=query_run.rows_read,
            arrivals=times,
            own_arrivals=own,
            follower_tables=tuple(query_run.tables(self._aside)) if self._followers.has(query_run.name) else (),
        )
