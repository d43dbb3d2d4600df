"""Evaluating several query runs as one Spark job, if their queries have the same form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from headgate.model import Aggregate
from headgate.plan.fusion_template import template
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.frames import WholeQuery
from headgate.spark.compile.fused import FusedJob, Member, fuse
from headgate.spark.compile.fused.aggregates import FusedAggregates
from headgate.spark.compile.fused.tags import WORD
from headgate.spark.compile.leaf_rows import Leaves, Logs
from headgate.spark.compile.panes.functions import has_panes
from headgate.spark.compile.panes.pane_sets import PaneSets
from headgate.spark.compile.panes.paned_aggregates import PanedAggregates
from headgate.spark.compile.prepared_query import Isolation, PreparedQuery, Result
from headgate.spark.execution.job_runner import JobRunner, Ran
from headgate.spark.execution.kept_jobs import KeptJobs
from headgate.spark.execution.query_run import QueryRun
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values, one_line
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.machine.tasks import RunCancelledError
from headgate.spark.store.log.stream_log import StreamLog

KEPT = 200  # groups whose prepared jobs are cached
KEPT_PANED = 2_000  # the same for jobs that fold rows into panes, which lone queries have, too

Now = Callable[[], float]


class Rehearsal(NamedTuple):
    """A run of a query on made-up rows, whose results are dropped."""

    prepared: PreparedQuery
    leaves: Leaves
    logs: Logs
    whole: WholeQuery | None = None


class FusedJobs:
    """Evaluates the query runs of a unit: from panes, as one job if possible, otherwise one by one.

    If a fused job fails, its halves are tried, down to the query run that fails alone and gets the error; the others
    get their results.
    """

    def __init__(
        self, runner: JobRunner, logs: Mapping[str, StreamLog], aside: Path, now: Now, *, panes: bool = True
    ) -> None:
        self._runner, self._logs, self._aside, self._now = runner, logs, aside, now
        self._groups = KeptJobs[FusedJob](KEPT, now)
        self._paned = KeptJobs[PanedAggregates | None](KEPT_PANED, now)
        self._pane_sets = PaneSets(now=now) if panes else None

    def evaluate(self, query_runs: Sequence[QueryRun], label: str) -> None:
        """Evaluate all; afterwards each query run has its result or its error."""
        alone = [query_run for query_run in query_runs if self._stays_alone(query_run)]
        others = [query_run for query_run in query_runs if not self._stays_alone(query_run)]
        others = self._without_served_by_panes(others, label)
        large = [query_run for query_run in others if query_run.executors_write]
        for part in self._parts([query_run for query_run in others if not query_run.executors_write]):
            self._run_fused(part, label)
        self._run_fused(large, label)
        for query_run in alone:
            self._run_alone(query_run, label)

    def keep_only(self, alive: Iterable[PreparedQuery]) -> None:
        """Forget what is kept for other queries: they are gone, and their jobs and panes would only take memory."""
        ids = frozenset(map(id, alive))
        self._groups.keep_only(ids)
        self._paned.keep_only(ids)
        if self._pane_sets is not None:
            self._pane_sets.keep_users(ids)

    def rehearse(self, rehearsals: Sequence[Rehearsal]) -> None:
        """Run the job that `evaluate` would run for these queries, with all that it keeps for the next run.

        Fails where the rows make it fail; which queries are isolating does not change.
        """
        together = len(rehearsals) > 1 and not any(
            rehearsal.whole or rehearsal.prepared.isolating for rehearsal in rehearsals
        )
        if self._rehearsed_with_panes(rehearsals):
            return
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
                name,
                f"run {label}: {len(query_runs)} queries",
                lambda: self._results(query_runs),
                label,
                _names(query_runs),
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
                # Of a large group, halves are tried first: a job that isolates failing rows takes many times longer.
                if not may_be_of_values(error) or len(query_runs) > WORD:
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
                (query_run.name,),
            )
        except (SparkGoneError, RunCancelledError):
            raise
        except Exception as error:
            query_run.error = one_line(error)
        else:
            self._finish(query_run, result, ran)

    def _without_served_by_panes(self, query_runs: list[QueryRun], label: str) -> list[QueryRun]:
        """Evaluate what panes can serve; returns the query runs that are still to be evaluated."""
        if self._pane_sets is None:
            return query_runs
        plain = [
            query_run
            for query_run in query_runs
            if not query_run.fragment.prepared.isolating and has_panes(query_run.fragment.prepared.plan)
        ]
        try:
            paned = self._paned_group([query_run.fragment.prepared for query_run in plain])
            if paned is None:
                return query_runs
            tables, ran = self._runner.run(
                f"headgate-{label}-{plain[0].name}…panes",
                f"run {label}: {len(plain)} queries from panes",
                lambda: paned.run([query_run.leaves for query_run in plain], self._logs),
                label,
                _names(plain),
            )
        except (SparkGoneError, RunCancelledError):
            raise
        except Exception:  # for example, a log lacks tuples: running the queries without panes finds out whose it is
            return query_runs
        served = {query_run: rows for query_run, rows in zip(plain, tables, strict=True) if rows is not None}
        for query_run, rows in served.items():
            self._finish(query_run, Result(rows), ran, len(served))
        return [query_run for query_run in query_runs if query_run not in served]

    def _rehearsed_with_panes(self, rehearsals: Sequence[Rehearsal]) -> bool:
        """Whether the job of panes was run, and did for all."""
        if any(rehearsal.whole or rehearsal.prepared.isolating for rehearsal in rehearsals):
            return False
        paned = self._paned_group([rehearsal.prepared for rehearsal in rehearsals])
        if paned is None:
            return False
        tables = paned.run([rehearsal.leaves for rehearsal in rehearsals], rehearsals[0].logs)
        paned.sets.keep_only(self._logs.values())
        return all(table is not None for table in tables)

    def _paned_group(self, prepared_queries: list[PreparedQuery]) -> PanedAggregates | None:
        """The queries as aggregates over panes; None if they have none."""
        sets = self._pane_sets
        if sets is None or not prepared_queries:
            return None

        def make() -> PanedAggregates | None:
            sets.keep_only(self._logs.values())  # a stream may have been dropped meanwhile
            group = _fused_aggregates(prepared_queries)
            return None if group is None else PanedAggregates.of(group, sets)

        return self._paned.get(prepared_queries, lambda: self._runner.call(make))

    def _group(self, query_runs: Sequence[QueryRun]) -> FusedJob:
        return self._group_of([query_run.fragment.prepared for query_run in query_runs])

    def _group_of(self, prepared_queries: list[PreparedQuery]) -> FusedJob:
        def make() -> FusedJob:
            members = _members(prepared_queries)
            assert len(members) == len(prepared_queries), "the plan groups only queries of one form"
            return fuse(prepared_queries[0].catalog, members)

        return self._groups.get(prepared_queries, make)


def _names(query_runs: Iterable[QueryRun]) -> tuple[str, ...]:
    return tuple(query_run.name for query_run in query_runs)


def _members(prepared_queries: Sequence[PreparedQuery]) -> list[Member]:
    return [
        Member(query_template, prepared)
        for prepared in prepared_queries
        if (query_template := template(prepared.plan)) is not None
    ]


def _fused_aggregates(prepared_queries: Sequence[PreparedQuery]) -> FusedAggregates | None:
    """The queries as one job of aggregates, or None if one of them is of another form."""
    members = _members(prepared_queries)
    aggregates = [member for member in members if isinstance(member.template.core, Aggregate)]
    if len(aggregates) < len(prepared_queries):
        return None
    return FusedAggregates.of(prepared_queries[0].catalog, aggregates)


def _result(query_run: QueryRun, output: pa.Table | Written) -> Result:
    if isinstance(output, Written):
        return Result(query_run.fragment.prepared.hidden_schema.empty_table(), written=output)
    return Result(output)
