"""Several query runs as one job: each gets its result or its error, and a failing one is found by halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import ArithmeticException

from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.prepared_query import Isolation, Result
from headgate.spark.execution.fused_jobs import FusedJobs
from headgate.spark.execution.job_runner import Ran
from headgate.spark.execution.kept_jobs import KeptJobs
from headgate.spark.jvm.gone import SparkGoneError


@dataclass(eq=False)
class Run:
    """As much of a query run as fused jobs need; `evaluate` runs it alone."""

    name: str
    fails: Exception | None = None
    whole: bool = True
    isolation: Isolation = Isolation.NONE
    executors_write: bool = False
    error: str = ""
    jobs: int = 0
    result: Result | None = None

    def __post_init__(self) -> None:
        schema = pa.schema([("name", pa.string())])
        self.leaves = self.name
        self.running = SimpleNamespace(layout=SimpleNamespace(whole=self.whole))
        self.fragment = SimpleNamespace(
            prepared=SimpleNamespace(
                isolation=self.isolation, isolating=self.isolation is not Isolation.NONE, hidden_schema=schema
            )
        )

    def evaluate(self, logs: object, aside: object) -> Result:
        if self.fails is not None:
            raise self.fails
        return Result(rows(self.name))

    def done(self, result: Result, now: float) -> None:
        self.result = result


@dataclass
class Runner:
    """Runs jobs here, and remembers them."""

    jobs: list[str] = field(default_factory=list)

    def run(
        self, group: str, description: str, evaluate: Callable[[], Any], label: str = "", queries: Sequence[str] = ()
    ) -> tuple[Any, Ran]:
        self.jobs.append(description.split(": ")[1])
        return evaluate(), Ran(1, 0)


@dataclass
class Group:
    """A job for several queries, which fails if one of them would."""

    members: Sequence[Run]
    alone: bool = False  # each needs its own job

    def run(self, leaves: Sequence[str], logs: object) -> list[pa.Table] | None:
        for member in self.members:
            if member.fails is not None:
                raise member.fails
        return None if self.alone else [rows(name) for name in leaves]

    def write(self, leaves: Sequence[str], logs: object, aside: object) -> list[Written] | None:
        return [Written((f"{name}.parquet",), 1) for name in leaves]

    def run_isolating(self, leaves: Sequence[str], logs: object) -> list[tuple[pa.Table, tuple[str, ...]]]:
        return [(rows(m.name), (f"failure of {m.name}",) if m.fails is not None else ()) for m in self.members]


class Jobs(FusedJobs):
    """Fused jobs of stand-ins."""

    def __init__(self, *, alone: bool = False) -> None:
        self.runner = Runner()
        super().__init__(self.runner, {}, Path(), lambda: 0.0, panes=False)  # type: ignore[arg-type]
        self._alone = alone

    def _group(self, query_runs: Sequence[Any]) -> Any:
        return Group(query_runs, self._alone)


def rows(name: str) -> pa.Table:
    return pa.table({"name": [name]})


def evaluated(runs: Sequence[Run], *, alone: bool = False) -> list[str]:
    """Evaluate runs; the jobs that it took."""
    jobs = Jobs(alone=alone)
    jobs.evaluate(runs, "1")  # type: ignore[arg-type]
    return jobs.runner.jobs


def names(run: Run) -> list[str]:
    assert run.result is not None
    column: list[str] = run.result.rows["name"].to_pylist()
    return column


@given(fails=st.lists(st.booleans(), min_size=1, max_size=32))
def test_halving_finds_exactly_the_query_runs_that_fail(fails: list[bool]) -> None:
    runs = [Run(f"q{number}", ValueError(f"bad {number}") if bad else None) for number, bad in enumerate(fails)]
    jobs = evaluated(runs)
    for run, bad in zip(runs, fails, strict=True):
        assert run.error == (str(run.fails) if bad else "")
        assert (run.result is None) == bad
        assert bad or names(run) == [run.name]
    assert len(jobs) <= 1 + 2 * sum(fails) * ceil(log2(len(fails)) if len(fails) > 1 else 0)


def test_query_runs_of_one_form_are_one_job_and_count_it_each() -> None:
    runs = [Run("p"), Run("q"), Run("r")]
    assert evaluated(runs) == ["3 queries"]
    assert [(names(run), run.jobs) for run in runs] == [(["p"], 1), (["q"], 1), (["r"], 1)]


def test_a_dead_spark_is_no_query_s_fault() -> None:
    runs = [Run("p"), Run("q", SparkGoneError("gone")), Run("r")]
    jobs = Jobs()
    with pytest.raises(SparkGoneError):
        jobs.evaluate(runs, "1")  # type: ignore[arg-type]
    assert jobs.runner.jobs == ["3 queries"]
    assert [(run.result, run.error) for run in runs] == [(None, "")] * 3


@pytest.mark.parametrize("changed", [{"whole": False}, {"isolation": Isolation.JOIN_KEYS}])
def test_fragmented_queries_and_those_with_failing_join_keys_stay_alone(changed: dict[str, Any]) -> None:
    runs = [Run("p"), Run("alone", **changed), Run("q")]
    assert evaluated(runs) == ["2 queries", "alone"]
    assert all(names(run) == [run.name] for run in runs)


def test_a_group_that_cannot_share_a_job_runs_one_by_one() -> None:
    runs = [Run("p"), Run("q")]
    assert evaluated(runs, alone=True) == ["2 queries", "p", "q"]
    assert all(names(run) == [run.name] for run in runs)


def test_results_that_executors_write_are_a_job_of_their_own() -> None:
    runs = [Run("p"), Run("long", executors_write=True), Run("q"), Run("longer", executors_write=True)]
    assert evaluated(runs) == ["2 queries", "2 queries"]
    assert [run.result.written.files for run in runs if run.result and run.result.written] == [
        ("long.parquet",),
        ("longer.parquet",),
    ]
    assert [names(run) for run in runs if not run.executors_write] == [["p"], ["q"]]


def test_an_expression_that_fails_on_a_value_is_isolated_within_the_shared_job() -> None:
    runs = [Run("p"), Run("q", ArithmeticException("[DIVIDE_BY_ZERO] division by zero", "DIVIDE_BY_ZERO", {}))]
    assert evaluated(runs) == ["2 queries"]
    failures: list[tuple[Any, ...]] = [run.result.failures for run in runs if run.result is not None]
    assert failures == [(), ("failure of q",)]
    assert [run.fragment.prepared.isolation for run in runs] == [Isolation.NONE, Isolation.EXPRESSIONS]


def test_of_a_large_group_only_the_part_that_fails_is_isolated() -> None:
    runs = [Run(f"q{number}") for number in range(200)]
    runs[70].fails = ArithmeticException("[DIVIDE_BY_ZERO] division by zero", "DIVIDE_BY_ZERO", {})
    assert evaluated(runs) == [f"{count} queries" for count in (200, 100, 50, 50, 100)]
    assert all(names(run) == [run.name] for run in runs)
    assert [run.name for run in runs if run.fragment.prepared.isolation is Isolation.EXPRESSIONS] == ["q70"]


def test_jobs_of_queries_that_are_gone_are_forgotten() -> None:
    kept: KeptJobs[str] = KeptJobs(most=10, now=lambda: 0.0)
    stays, gone = object(), object()
    for members in ([stays], [gone], [stays, gone]):
        kept.get(members, lambda: "a job")
    kept.keep_only({id(stays)})
    assert len(kept) == 1
    assert kept.get([stays], lambda: "another") == "a job"
