"""Every policy, at its usual level or at all that it has, over every kind of query: results are those of the batch."""

from __future__ import annotations

from random import Random

import pytest
from tests.conftest import ALL
from tests.spark.compile.test_oracle import drawn_rows
from tests.spark.conftest import Open
from tests.spark.engine.workload import (
    CASES,
    PATIENCE,
    STREAMS,
    Taken,
    declare,
    expected,
    results_of,
    small_logs,
    start,
    table,
)
from tests.spark.execution.test_oracle import KINDS

from headgate.model import HeadgateError, Level
from headgate.policies.registry import create, policies

__all__ = ["small_logs"]
LEVELS = None if ALL else 1  # of each policy: all of them only in `make long`, as each takes some seconds
EVERY = [
    *(f"{name}, level={level}" for name, policy in policies().items() for level in policy.levels[:LEVELS]),
    "adaptive, candidates=[hr, chain, segment, path-capacity]",
    "segment, train=2",
    "bsd, level=operator, clusters=3, batch=cluster, train=2",
    "bsd, level=path, clusters=3, batch=cluster, train=2",
]
LIKE_OTHERS = {"expressions", "except of sliding windows", "aggregate over a union", "join of aggregates"}
FEW = {"split", "sliding", "except", "three streams"}  # plain rows, windows, a difference, pairs; together all streams
CHOSEN = KINDS - LIKE_OTHERS if ALL else FEW
ORDER = [Level.QUERY, Level.PATH, Level.SEGMENT, Level.OPERATOR]  # whole queries, then fragmented ones


@pytest.mark.usefixtures("small_logs")
def test_one_engine_goes_through_every_policy(opened: Open) -> None:
    """Several kinds of queries at once; logs are dropped all the time, so that tuples a policy forgets are missing."""
    session = opened(policy="fcfs", workers=2)
    declare(session)
    handles = start(session, [CASES[name] for name in sorted(CHOSEN)])
    random, taken = Random(5), Taken()
    turns = sorted(EVERY, key=lambda name: (ORDER.index(create(name).level), name))
    for number, name in enumerate(turns):
        session.set_policy(name)
        assert session.status().policy.startswith(name.split(",")[0])
        for stream in random.sample(sorted(STREAMS), 1):
            rows = drawn_rows(random, stream)[:4]
            taken.append(session, stream, table(stream, [(*row[:-1], row[-1] + number * 2_000_000) for row in rows]))
        assert session.drain(PATIENCE), name
        assert [line.error for line in session.status().queries if line.error] == [], name
    for stream in STREAMS:
        session.finish(stream)
    assert session.drain(PATIENCE)
    assert all(log.start for log in session.engine.logs.values())
    for name, handle in handles.items():
        assert results_of(handle) == expected(session, CASES[name], taken), name


def test_a_refused_change_of_policy_leaves_the_old_one(opened: Open) -> None:
    session = opened(policy="hnr")
    for wrong in ("hnr, level=moon", "hnrx"):
        with pytest.raises(HeadgateError):
            session.set_policy(wrong)
    assert session.status().policy == "hnr"
