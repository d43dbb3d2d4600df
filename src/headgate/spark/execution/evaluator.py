"""Evaluation on Spark: queries are checked, cut, and run as jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from headgate.model import Query, Stream
from headgate.spark.compile.fragments import Piece
from headgate.spark.compile.leaf_rows import Range
from headgate.spark.compile.prepared_query import Evaluation, evaluation
from headgate.spark.engine.tasks import Evaluate, Portion, Result, SparkChangedError, SparkGoneError
from headgate.spark.execution.job_runner import Runner
from headgate.spark.execution.query_run import Share
from headgate.spark.execution.response_times import arrivals_of, arrivals_of_train
from headgate.spark.execution.shared_jobs import Together
from headgate.spark.execution.unexpected_errors import told
from headgate.spark.jvm.process import Java
from headgate.spark.queries.layout import Shape, Shaper
from headgate.spark.queries.running_query import Logs, RunningQuery
from headgate.spark.sinks.followers import Followers
from headgate.spark.sinks.open_sinks import size_of
from headgate.spark.sinks.table import check_sink


class SparkEvaluator:
    """Runs portions of queries as Spark jobs; several threads may."""

    def __init__(
        self,
        spark: SparkSession,
        runner: Runner,
        logs: Logs,
        streams: Mapping[str, Stream],
        tables: Mapping[str, DataFrame],
        waiting: Path,
        aside: Path,
        followers: Followers,
        now: Callable[[], float],
    ) -> None:
        self.runner = runner
        self._logs, self._streams, self._tables = logs, streams, tables
        self._waiting, self._aside, self._followers, self._now = waiting, aside, followers, now
        self.use(spark)

    def use(self, spark: SparkSession) -> None:
        """Run on another Spark from now on: what was made ready for the former one is of no use."""
        self.spark = spark
        self._together = Together(self.runner, self._logs, self._aside, self._now)

    @property
    def java(self) -> Java:
        return self.runner.java

    def blame(self, java: Java, error: Exception) -> Exception:
        """`SparkGoneError` if the Java that something was begun with has died, whatever the error says of it."""
        found = java.blame(error)
        if isinstance(found, SparkGoneError) and java is not self.java:
            return SparkChangedError(found.message, hint=found.hint)
        return found

    def check(self, query: Query) -> tuple[Shape, Evaluation]:
        """Refuse a query that could not run; nothing has been started yet."""
        checked = evaluation(self.spark, query.plan, self._streams, self._tables)
        check_sink(self.spark, query.sink, checked.schema)
        return Shape((Piece((), checked),)), checked

    def shaper(self) -> Shaper:
        return Shaper(self.spark, self._streams, self._tables, self._waiting)

    def evaluate(self, task: Evaluate) -> list[Result]:
        """Each group in one job, where its queries are of one form."""
        java = self.java
        results = [result for group in task.groups for result in self._group(group, task.label)]
        if any(result.error for result in results) and java.dead:  # it is the reason, whatever the errors say
            raise java.gone()
        return results

    def _group(self, group: Sequence[Portion], label: str) -> Iterator[Result]:
        shares: dict[Portion, Share] = {}
        for portion in group:
            try:
                shares[portion] = self.share(portion)
            except SparkGoneError:
                raise
            except Exception as error:  # its log lacks what it was to read
                yield Result(portion, told(error, f"run {portion.name}"))
        self._together.evaluate(list(shares.values()), label)
        # Members of a group have read the same, and to look up a long train takes a while.
        arrivals = cache(lambda stream, first, last: self._logs[stream].arrivals(first, last))
        for portion, share in shares.items():
            try:
                yield self._result(portion, share, arrivals)
            except Exception as error:
                yield Result(portion, told(error, f"run {portion.name}"))

    def share(self, portion: Portion) -> Share:
        piece = cast(Piece, portion.piece)
        if piece.evaluation.catalog.spark is not self.spark:  # its frames are in a Java that has died
            raise SparkChangedError("the query was made ready for a Spark that has died")
        taken = {place: Range(*offsets) for place, offsets in portion.taken.items()}
        return Share.of(RunningQuery.of(portion.standing), piece, taken, self._logs)

    def _result(self, portion: Portion, share: Share, arrivals: Callable[..., Sequence[tuple[float, int]]]) -> Result:
        if share.error:
            return Result(portion, share.error)
        output = share.output(self._aside)
        times: Sequence[float] = ()
        if share.result.written is not None:
            times = arrivals_of_train(share.result.count, share.streams_read, arrivals)
        elif share.piece.feeds is None:
            times = arrivals_of(share.result.rows, share.streams_read, self._logs)
        return Result(
            portion,
            output=output,
            size=0 if output is None else size_of(output),
            inside=share.inside(),
            inside_rows=0 if share.handed is None else share.handed.num_rows,
            chunks=share.chunks,
            failures=share.result.failures,
            count=share.result.count,
            tuples=share.tuples,
            arrived=share.arrived,
            late=share.late,
            jobs=share.jobs,
            arrivals=times,
            seen=tuple(share.tables(self._aside)) if self._followers.has(share.name) else (),
        )
