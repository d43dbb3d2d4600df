"""Evaluating several query runs as one Spark job, if their queries have the same form."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from headgate.plan.fusion_template import template
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.fused import FusedJob, Member, fuse
from headgate.spark.compile.fused.tags import WORD
from headgate.spark.compile.leaf_rows import Leaves, Logs
from headgate.spark.compile.prepared_query import Isolation, PreparedQuery, Result
from headgate.spark.execution.job_runner import JobRunner, Ran
from headgate.spark.execution.query_run import QueryRun
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values, one_line
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.tasks import RunCancelledError
from headgate.spark.store.log.stream_log import StreamLog

KEPT = 200  # groups whose prepared jobs are cached

Now = Callable[[], float]


class Rehearsal(NamedTuple):
    """A run of a query on made-up rows, whose results are dropped."""

    prepared: PreparedQuery
    leaves: Leaves
    logs: Logs
    whole: WholeQuery | None = None


class FusedJobs:
    """Evaluates the query runs of a unit: as one job if possible, otherwise one by one.

    If a fused job fails, its halves are tried, down to the query run that fails alone and gets the error; the others
    get their results.
    """

    def __init__(self, runner: JobRunner, logs: Mapping[str, StreamLog], aside: Path, now: Now) -> None:
        self._runner, self._logs, self._aside, self._now = runner, logs, aside, now
        self._groups: OrderedDict[tuple[int, ...], tuple[FusedJob, list[PreparedQuery]]] = OrderedDict()

    def evaluate(self, query_runs: Sequence[QueryRun], label: str) -> None:
        """Evaluate all; afterwards each query run has its result or its error."""
        alone = [query_run for query_run in query_runs if self._stays_alone(query_run)]
        others = [query_run for query_run in query_runs if not self._stays_alone(query_run)]
        large = [query_run for query_run in others if query_run.executors_write]
        for part in self._parts([query_run for query_run in others if not query_run.executors_write]):
            self._run_fused(part, label)
        self._run_fused(large, label)
        for query_run in alone:
            self._run_alone(query_run, label)

    def rehearse(self, rehearsals: Sequence[Rehearsal]) -> None:
        """Run the job that `evaluate` would run for these queries, with all that it keeps for the next run.

        Fails where the rows make it fail; which queries are isolating does not change.
        """
        together = len(rehearsals) > 1 and not any(
            rehearsal.whole or rehearsal.prepared.isolating for rehearsal in rehearsals
        )
        if together:
            group = self._group_of([rehearsal.prepared for rehearsal in rehearsals])
            if group.run([rehearsal.leaves for rehearsal in rehearsals], rehearsals[0].logs) is not None:
                return
        for prepared, leaves, logs, whole in rehearsals:
            prepared.run_once(leaves, logs, whole)

    def _stays_alone(self, query_run: QueryRun) -> bool:
        """True if the query is fragmented, or needs row-level error isolation for join keys, which a group shares."""
        return query_run.fragment.prepared.isolation is Isolation.JOIN_KEYS or not query_run.running.layout.whole

    def _parts(self, query_runs: Sequence[QueryRun]) -> Sequence[Sequence[QueryRun]]:
        """A group that is too large to isolate failing rows in one job: the queries that need that are apart."""
        isolating = [query_run for query_run in query_runs if query_run.fragment.prepared.isolating]
        if len(query_runs) <= WORD or not isolating:
            return [query_runs]
        return [[run for run in query_runs if not run.fragment.prepared.isolating], isolating]

    def _finish(self, query_run: QueryRun, result: Result, ran: Ran, members: int = 1) -> None:
        query_run.done(result, self._now())
        query_run.jobs = ran.jobs
        query_run.jobs_share = ran.jobs / members
        query_run.rows_read = ran.rows / members

    def _run_fused(self, query_runs: Sequence[QueryRun], label: str) -> None:
        """Evaluate query runs as one job; either all of them or none are written by executors."""
        if len(query_runs) < 2:
            for query_run in query_runs:
                self._run_alone(query_run, label)
            return
        name = f"headgate-{label}-{query_runs[0].name}…{query_runs[-1].name}"
        try:
            results, ran = self._runner.run(
                name, f"run {label}: {len(query_runs)} queries", lambda: self._results(query_runs), label
            )
        except (SparkGoneError, RunCancelledError):  # no query is to blame
            raise
        except Exception:
            half = len(query_runs) // 2
            self._run_fused(query_runs[:half], label)
            self._run_fused(query_runs[half:], label)
            return
        if results is None:
            for query_run in query_runs:
                self._run_alone(query_run, label)
            return
        for query_run, result in zip(query_runs, results, strict=True):
            self._finish(query_run, result, ran, len(query_runs))

    def _results(self, query_runs: Sequence[QueryRun]) -> list[Result] | None:
        """The results of one job for all query runs; None if each needs its own job."""
        group, leaves = self._group(query_runs), [query_run.leaves for query_run in query_runs]
        if not any(query_run.fragment.prepared.isolating for query_run in query_runs):
            try:
                if query_runs[0].executors_write:
                    outputs = group.write(leaves, self._logs, self._aside)
                else:
                    outputs = group.run(leaves, self._logs)
            except SPARK_ERRORS as error:
                if not may_be_of_values(error):
                    raise
            else:
                if outputs is None:
                    return None
                return [_result(query_run, output) for query_run, output in zip(query_runs, outputs, strict=True)]
        return None if query_runs[0].executors_write else self._isolated_results(query_runs, group)

    def _isolated_results(self, query_runs: Sequence[QueryRun], group: FusedJob) -> list[Result]:
        """The same with row-level error isolation; query runs with failures use it from now on."""
        outcomes = group.run_isolating([query_run.leaves for query_run in query_runs], self._logs)
        for query_run, (_, failures) in zip(query_runs, outcomes, strict=True):
            if failures and not query_run.fragment.prepared.isolating:
                query_run.fragment.prepared.isolation = Isolation.EXPRESSIONS
        return [Result(rows, failures) for rows, failures in outcomes]

    def _run_alone(self, query_run: QueryRun, label: str) -> None:
        try:
            result, ran = self._runner.run(
                f"headgate-{label}-{query_run.name}",
                f"run {label}: {query_run.name}",
                lambda: query_run.evaluate(self._logs, self._aside),
                label,
            )
        except (SparkGoneError, RunCancelledError):
            raise
        except Exception as error:
            query_run.error = one_line(error)
        else:
            self._finish(query_run, result, ran)

    def _group(self, query_runs: Sequence[QueryRun]) -> FusedJob:
        return self._group_of([query_run.fragment.prepared for query_run in query_runs])

    def _group_of(self, prepared_queries: list[PreparedQuery]) -> FusedJob:
        key = tuple(map(id, prepared_queries))
        if key not in self._groups:
            members = [
                Member(query_template, prepared)
                for prepared in prepared_queries
                if (query_template := template(prepared.plan)) is not None
            ]
            assert len(members) == len(prepared_queries), "the plan groups only queries of one form"
            group = fuse(prepared_queries[0].catalog, members)
            self._groups[key] = group, prepared_queries  # keeps them alive, since the key has their addresses
            if len(self._groups) > KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key][0]


def _result(query_run: QueryRun, output: pa.Table | Written) -> Result:
    if isinstance(output, Written):
        return Result(query_run.fragment.prepared.hidden_schema.empty_table(), written=output)
    return Result(output)
