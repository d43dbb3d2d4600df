"""Every policy that schedules whole queries runs on the engine; the others are refused with a reason."""

from __future__ import annotations

from random import Random

import pytest
from tests.engine.conftest import Open
from tests.engine.workload import CASES, PATIENCE, batches, declare, expected, found, start

from headgate.model import HeadgateError, Level
from headgate.policies.registry import policies

WHOLE = {name for name, policy in policies().items() if Level.QUERY in policy.levels}
NAMED = ("filter", "tumbling")


def test_one_engine_goes_through_every_policy(opened: Open) -> None:
    session = opened(policy="fcfs", workers=2)
    declare(session, ("a",))
    cases = [CASES[name] for name in NAMED]
    handles = start(session, cases)
    random = Random(5)
    rows = [one for _ in range(4) for one in batches(random, ("a",))]
    for number, name in enumerate(sorted(WHOLE)):
        runs = session.status().runs
        session.set_policy(f"{name}, level=query")
        for stream, batch in (rows[number % len(rows)], rows[(number + 7) % len(rows)]):
            session.append(stream, batch)
        assert session.drain(PATIENCE), name
        assert session.status().policy.startswith(name)
        assert session.status().runs >= runs
    session.finish("a")
    assert session.drain(PATIENCE)
    assert session.status().runs >= len(WHOLE) // 2
    for case in cases:
        assert found(handles[case.name]) == expected(session, case), case.name


@pytest.mark.parametrize("policy", ["chain", "greedy", "wrr", "rr-rb", "rr", "path-capacity", "hnr, level=operator"])
def test_other_levels_are_refused(opened: Open, policy: str) -> None:
    with pytest.raises(HeadgateError, match="schedules at level") as refused:
        opened(policy=policy)
    assert "whole queries" in str(refused.value)


def test_a_refused_change_of_policy_leaves_the_old_one(opened: Open) -> None:
    session = opened(policy="hnr")
    for wrong in ("chain", "hnrx"):
        with pytest.raises(HeadgateError):
            session.set_policy(wrong)
    assert session.status().policy == "hnr"
