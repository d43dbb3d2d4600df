"""Shares of one run together in one job where their queries are of one form."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from headgate.plan.template import template
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.fused import FusedJob, Member, fuse
from headgate.spark.compile.prepared_query import Isolation, PreparedQuery, Result
from headgate.spark.execution.job_runner import JobRunner
from headgate.spark.execution.query_run import QueryRun
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values, one_line
from headgate.spark.jvm.gone import SparkGoneError
from headgate.spark.store.log.stream_log import StreamLog

KEPT = 200  # groups whose jobs are kept ready

Now = Callable[[], float]


class SharedJobs:
    """Evaluates the shares of a unit: in one job if it is a group, each by itself where that fails.

    The culprit is found by halving: a share that fails alone keeps its error, the others have their results.
    """

    def __init__(self, runner: JobRunner, logs: Mapping[str, StreamLog], aside: Path, now: Now) -> None:
        self._runner, self._logs, self._aside, self._now = runner, logs, aside, now
        self._groups: OrderedDict[tuple[int, ...], tuple[FusedJob, list[PreparedQuery]]] = OrderedDict()

    def evaluate(self, query_runs: Sequence[QueryRun], label: str) -> None:
        """Run all; afterwards each share has its result or its error."""
        alone = [query_run for query_run in query_runs if self._stays_alone(query_run)]
        others = [query_run for query_run in query_runs if query_run not in alone]
        large = [query_run for query_run in others if query_run.apart]
        self._fused([query_run for query_run in others if query_run not in large], label)
        self._fused(large, label)
        for query_run in alone:
            self._single(query_run, label)

    def _stays_alone(self, query_run: QueryRun) -> bool:
        """It is in pieces, or even the equalities of its join may fail: those are the same for a whole group."""
        return query_run.fragment.prepared.isolation is Isolation.JOIN_KEYS or not query_run.running.layout.whole

    def _done(self, query_run: QueryRun, result: Result, jobs: int) -> None:
        query_run.done(result, self._now())
        query_run.jobs = jobs

    def _fused(self, query_runs: Sequence[QueryRun], label: str) -> None:
        """Run shares that are all small or all large."""
        if len(query_runs) < 2:
            for query_run in query_runs:
                self._single(query_run, label)
            return
        name = f"headgate-{label}-{query_runs[0].name}…{query_runs[-1].name}"
        try:
            found, jobs = self._runner.run(
                name, f"run {label}: {len(query_runs)} queries", lambda: self._results(query_runs)
            )
        except SparkGoneError:  # no query's fault: nothing is found by halving
            raise
        except Exception:
            half = len(query_runs) // 2
            self._fused(query_runs[:half], label)
            self._fused(query_runs[half:], label)
            return
        if found is None:
            for query_run in query_runs:
                self._single(query_run, label)
            return
        for query_run, result in zip(query_runs, found, strict=True):
            self._done(query_run, result, jobs)

    def _results(self, query_runs: Sequence[QueryRun]) -> list[Result] | None:
        """What one job gives each share; None: each needs its own."""
        group, leaves = self._group(query_runs), [query_run.leaves for query_run in query_runs]
        if not any(query_run.fragment.prepared.isolating for query_run in query_runs):
            try:
                apart = query_runs[0].apart
                found = group.write(leaves, self._logs, self._aside) if apart else group.run(leaves, self._logs)
            except SPARK_ERRORS as error:
                if not may_be_of_values(error):
                    raise
            else:
                return (
                    None
                    if found is None
                    else [_result(query_run, one) for query_run, one in zip(query_runs, found, strict=True)]
                )
        return None if query_runs[0].apart else self._careful_results(query_runs, group)

    def _careful_results(self, query_runs: Sequence[QueryRun], group: FusedJob) -> list[Result]:
        """The same where an expression fails on a row; members for which one did are careful from now on."""
        told = group.run_isolating([query_run.leaves for query_run in query_runs], self._logs)
        for query_run, (_, failures) in zip(query_runs, told, strict=True):
            if failures and not query_run.fragment.prepared.isolating:
                query_run.fragment.prepared.isolation = Isolation.EXPRESSIONS
        return [Result(rows, failures) for rows, failures in told]

    def _single(self, query_run: QueryRun, label: str) -> None:
        try:
            result, jobs = self._runner.run(
                f"headgate-{label}-{query_run.name}",
                f"run {label}: {query_run.name}",
                lambda: query_run.evaluate(self._logs, self._aside),
            )
        except SparkGoneError:
            raise
        except Exception as error:
            query_run.error = one_line(error)
        else:
            self._done(query_run, result, jobs)

    def _group(self, query_runs: Sequence[QueryRun]) -> FusedJob:
        prepared_queries = [query_run.fragment.prepared for query_run in query_runs]
        key = tuple(map(id, prepared_queries))
        if key not in self._groups:
            members = [Member(found, one) for one in prepared_queries if (found := template(one.plan)) is not None]
            assert len(members) == len(query_runs), "the plan groups only queries of one form"
            made = fuse(prepared_queries[0].catalog, members)
            self._groups[key] = made, prepared_queries  # kept with them, since the key is their place in memory
            if len(self._groups) > KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key][0]


def _result(query_run: QueryRun, found: pa.Table | Written) -> Result:
    if isinstance(found, Written):
        return Result(query_run.fragment.prepared.hidden_schema.empty_table(), written=found)
    return Result(found)
