"""Runs that are cancelled for something more important lose and double nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.spark.conftest import Open
from tests.spark.engine.test_steering import SECONDS, eventually, ids, rows
from tests.spark.engine.workload import BASE, PATIENCE, declare, table

from headgate.core.class_guard import ClassGuard

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
