"""Runs that are cancelled for something more important lose and double nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import SECONDS, eventually, ids, rows
from tests.spark.engine.workload import BASE, PATIENCE, declare, table

from headgate.core.class_guard import ClassGuard
from headgate.spark.execution.fused_jobs import FusedJobs
from headgate.spark.execution.query_run import QueryRun
from headgate.spark.machine.tasks import HIGHEST_POOL, OTHER_POOL

LONG = "SELECT id, v, aggregate(sequence(1, 30000), 0L, (sum, x) -> sum + (x * v) % 7) AS work FROM a"
SHORT = "SELECT id, w FROM b"


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of costs at first, and the test shall not wait for that."""
    monkeypatch.setattr(ClassGuard, "_gain", lambda guard, best, own, left, spent: 1.0)


@pytest.mark.parametrize("policy", ["fcfs, preempt=class", "mbd, preempt=class, slice=auto"])
def test_a_run_gives_way_and_is_done_again(opened: Open, policy: str) -> None:
    session = opened(policy=policy, workers=1)
    declare(session, ("a", "b"))
    low = session.query("long", LONG, query_class="low")
    high = session.query("short", SHORT, query_class="high")
    for first in range(0, 400, 200):
        session.append("a", rows(first, 200))
        assert eventually(lambda: any("long" in doing for doing in session.status().doing))
        session.append("b", alerts(first))
        assert eventually(lambda first=first: high.status.tuples_out >= first // 40 + 5)  # type: ignore[misc]
    assert session.drain(PATIENCE)
    assert (ids(low), ids(high)) == (list(range(400)), [*range(5), *range(200, 205)])
    status = session.status()
    assert status.cancelled_runs > 0
    assert 0 < status.cancelled_share < 1
    assert session.engine.costs().cancelled_runs == status.cancelled_runs


def alerts(first: int) -> pa.Table:
    return table("b", [(number, number, BASE + number * SECONDS) for number in range(first, first + 5)])


def test_jobs_of_the_highest_class_are_in_a_pool_of_their_own(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    pools = dict[str, set[str]]()
    evaluate = FusedJobs.evaluate

    def noting(jobs: FusedJobs, runs: Sequence[QueryRun], label: str) -> None:
        pool = session.spark.sparkContext.getLocalProperty("spark.scheduler.pool")
        for run in runs:
            pools.setdefault(run.name, set()).add(str(pool))
        evaluate(jobs, runs, label)

    session = opened(policy="express", workers=2)
    monkeypatch.setattr(FusedJobs, "evaluate", noting)
    declare(session, ("a", "b"))
    session.query("long", "SELECT id FROM a", query_class="low")
    session.query("short", SHORT, query_class="high")
    session.append("a", rows(0, 5))
    session.append("b", alerts(0))
    assert session.drain(PATIENCE)
    assert pools == {"long": {OTHER_POOL}, "short": {HIGHEST_POOL}}
    java = session.spark.sparkContext._jsc.sc().getAllPools()
    weights = {java.apply(place).name(): java.apply(place).weight() for place in range(java.size())}
    assert weights[HIGHEST_POOL] > weights[OTHER_POOL]
