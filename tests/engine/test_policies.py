"""Every policy runs on the engine at every level that it has."""

from __future__ import annotations

from random import Random

import pytest
from tests.engine.conftest import Open
from tests.engine.workload import CASES, PATIENCE, batches, declare, expected, found, start

from headgate.model import HeadgateError
from headgate.policies.registry import policies

EVERY = sorted(f"{name}, level={level}" for name, policy in policies().items() for level in policy.levels)
NAMED = ("filter", "tumbling")


def test_one_engine_goes_through_every_policy(opened: Open) -> None:
    session = opened(policy="fcfs", workers=2)
    declare(session, ("a",))
    cases = [CASES[name] for name in NAMED]
    handles = start(session, cases)
    random = Random(5)
    rows = [one for _ in range(4) for one in batches(random, ("a",))]
    for number, name in enumerate(EVERY):
        runs = session.status().runs
        session.set_policy(name)
        for stream, batch in (rows[number % len(rows)], rows[(number + 7) % len(rows)]):
            session.append(stream, batch)
        assert session.drain(PATIENCE), name
        assert session.status().policy.startswith(name.split(",")[0])
        assert session.status().runs >= runs
    session.finish("a")
    assert session.drain(PATIENCE)
    assert session.status().runs >= len(EVERY) // 2
    for case in cases:
        assert found(handles[case.name]) == expected(session, case), case.name


def test_a_refused_change_of_policy_leaves_the_old_one(opened: Open) -> None:
    session = opened(policy="hnr")
    for wrong in ("hnr, level=moon", "hnrx"):
        with pytest.raises(HeadgateError):
            session.set_policy(wrong)
    assert session.status().policy == "hnr"
