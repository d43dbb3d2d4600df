"""Shares of one run together in one job where their queries are of one form."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from headgate.plan.template import template
from headgate.spark.compile.executor_writes import Written
from headgate.spark.compile.fused import Fused, Member, fused
from headgate.spark.compile.prepared_query import Care, Evaluation, Result
from headgate.spark.engine.tasks import SparkGoneError
from headgate.spark.execution.job_runner import Runner
from headgate.spark.execution.query_run import Share
from headgate.spark.jvm.errors import SPARK_ERRORS, may_be_of_values, one_line
from headgate.spark.store.log.stream_log import StreamLog

KEPT = 200  # groups whose jobs are kept ready

Now = Callable[[], float]


class Together:
    """Evaluates the shares of a unit: in one job if it is a group, each by itself where that fails.

    The culprit is found by halving: a share that fails alone keeps its error, the others have their results.
    """

    def __init__(self, runner: Runner, logs: Mapping[str, StreamLog], aside: Path, now: Now) -> None:
        self._runner, self._logs, self._aside, self._now = runner, logs, aside, now
        self._groups: OrderedDict[tuple[int, ...], tuple[Fused, list[Evaluation]]] = OrderedDict()

    def evaluate(self, shares: Sequence[Share], label: str) -> None:
        """Run all; afterwards each share has its result or its error."""
        alone = [share for share in shares if self._stays_alone(share)]
        others = [share for share in shares if share not in alone]
        large = [share for share in others if share.apart]
        self._fused([share for share in others if share not in large], label)
        self._fused(large, label)
        for share in alone:
            self._single(share, label)

    def _stays_alone(self, share: Share) -> bool:
        """It is in pieces, or even the equalities of its join may fail: those are the same for a whole group."""
        return share.piece.evaluation.care is Care.JOIN_KEYS or not share.running.shape.whole

    def _done(self, share: Share, result: Result, jobs: int) -> None:
        share.done(result, self._now())
        share.jobs = jobs

    def _fused(self, shares: Sequence[Share], label: str) -> None:
        """Run shares that are all small or all large."""
        if len(shares) < 2:
            for share in shares:
                self._single(share, label)
            return
        name = f"headgate-{label}-{shares[0].name}…{shares[-1].name}"
        try:
            found, jobs = self._runner.run(name, f"run {label}: {len(shares)} queries", lambda: self._results(shares))
        except SparkGoneError:  # no query's fault: nothing is found by halving
            raise
        except Exception:
            half = len(shares) // 2
            self._fused(shares[:half], label)
            self._fused(shares[half:], label)
            return
        if found is None:
            for share in shares:
                self._single(share, label)
            return
        for share, result in zip(shares, found, strict=True):
            self._done(share, result, jobs)

    def _results(self, shares: Sequence[Share]) -> list[Result] | None:
        """What one job gives each share; None: each needs its own."""
        group, leaves = self._group(shares), [share.leaves for share in shares]
        if not any(share.piece.evaluation.careful for share in shares):
            try:
                apart = shares[0].apart
                found = group.write(leaves, self._logs, self._aside) if apart else group.run(leaves, self._logs)
            except SPARK_ERRORS as error:
                if not may_be_of_values(error):
                    raise
            else:
                return (
                    None if found is None else [_result(share, one) for share, one in zip(shares, found, strict=True)]
                )
        return None if shares[0].apart else self._careful_results(shares, group)

    def _careful_results(self, shares: Sequence[Share], group: Fused) -> list[Result]:
        """The same where an expression fails on a row; members for which one did are careful from now on."""
        told = group.run_careful([share.leaves for share in shares], self._logs)
        for share, (_, failures) in zip(shares, told, strict=True):
            if failures and not share.piece.evaluation.careful:
                share.piece.evaluation.care = Care.EXPRESSIONS
        return [Result(rows, failures) for rows, failures in told]

    def _single(self, share: Share, label: str) -> None:
        try:
            result, jobs = self._runner.run(
                f"headgate-{label}-{share.name}",
                f"run {label}: {share.name}",
                lambda: share.evaluate(self._logs, self._aside),
            )
        except SparkGoneError:
            raise
        except Exception as error:
            share.error = one_line(error)
        else:
            self._done(share, result, jobs)

    def _group(self, shares: Sequence[Share]) -> Fused:
        evaluations = [share.piece.evaluation for share in shares]
        key = tuple(map(id, evaluations))
        if key not in self._groups:
            members = [Member(found, one) for one in evaluations if (found := template(one.plan)) is not None]
            assert len(members) == len(shares), "the plan groups only queries of one form"
            made = fused(evaluations[0].catalog, members)
            self._groups[key] = made, evaluations  # kept with them, since the key is their place in memory
            if len(self._groups) > KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key][0]


def _result(share: Share, found: pa.Table | Written) -> Result:
    if isinstance(found, Written):
        return Result(share.piece.evaluation.hidden_schema.empty_table(), written=found)
    return Result(found)
