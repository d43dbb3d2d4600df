"""Checks that a policy can be copied, pickled, and written as a string that gives the same policy back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

from headgate.policies.checks.demand import demand
from headgate.policies.checks.random_run import RandomRun
from headgate.policies.contract import Policy
from headgate.policies.registry import create


def _pickled(policy: Policy) -> Policy:
    restored: Policy = pickle.loads(pickle.dumps(policy))
    return restored


_COPIERS: dict[str, Callable[[Policy], Policy]] = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": _pickled}


def survives_copying(text: str) -> None:
    """A copy, made before use or in the midst of it, decides as the policy itself would have."""
    expected = RandomRun(create(text), seed=3).step(60).step(60).drain().decisions
    for name, copied in _COPIERS.items():
        random_run = RandomRun(copied(create(text)), seed=3).step(60)
        random_run.policy = copied(random_run.policy)
        demand(random_run.step(60).drain().decisions == expected, f"{text} decides differently after {name}")


def has_a_plain_form(text: str) -> None:
    """Its string names it, in `repr` too, before and after use, and gives the same policy back."""
    policy = create(text)
    again = create(str(policy))
    same = (type(again), again.level, again.train, again.schedule, again.needs, str(again))
    demand(
        same == (type(policy), policy.level, policy.train, policy.schedule, policy.needs, str(policy)),
        f"{text} reads back from '{policy}' as another policy: '{again}'",
    )
    before = repr(policy)
    demand(str(policy) in before, f"the repr of {text} does not name it: {before}")
    RandomRun(policy).step(60)
    demand(repr(policy) == before, f"{text} has another repr after use: {policy!r}")
